/**
 * Opening and closing devices: a closed device leaves nothing, and a late call fails with a typed error. Each of these
 * tests opens its own devices.
 *
 * @internal
 */
import { BufferPool, CommandQueue, DeviceContext, Lease, Mapping, MemoryObjects, SubRegion } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { isGpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import type { ConformanceTest, Device } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { YieldAt } from "../pool/Interruption.ts"

type Services = Device | BufferPool.BufferPool

/** An open device with a pool, and the scope that closes both. */
interface OpenedDevice {
  readonly context: Context.Context<Services>
  readonly device: DeviceContext.DeviceContext["Service"]
  readonly queue: CommandQueue.CommandQueue["Service"]
  readonly pool: BufferPool.BufferPool["Service"]
  readonly close: Effect.Effect<void>
}

const open = <E>(layer: Layer.Layer<Device, E>): Effect.Effect<OpenedDevice, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Layer.buildWithScope(
      Layer.fresh(Layer.provideMerge(BufferPool.layer(), Layer.fresh(layer))),
      scope
    )
    return {
      context,
      device: Context.get(context, DeviceContext.DeviceContext),
      queue: Context.get(context, CommandQueue.CommandQueue),
      pool: Context.get(context, BufferPool.BufferPool),
      close: Scope.close(scope, Exit.void)
    }
  })

const test = (
  name: string,
  body: () => Effect.gen.Return<void, unknown, Scope.Scope>
): ConformanceTest => ({
  group: "opening and closing",
  name,
  counting: true,
  heavy: false,
  run: Effect.scoped(Effect.gen(body))
})

const expectClosed = (what: string, { device }: OpenedDevice): void =>
  Expect.same(`driver objects of ${what}`, device.driverObjects.liveByKind, {})

/** Does every kind of work once. */
const work: Effect.Effect<void, unknown, Services> = Effect.scoped(Effect.gen(function*() {
  const x = yield* BufferPool.allocate(256)
  const y = yield* BufferPool.allocate(256)
  yield* CommandQueue.write(x, new Uint8Array(256))
  yield* CommandQueue.fill(y, 7)
  yield* CommandQueue.copy(x, y)
  yield* CommandQueue.dispatch(Kernels.iota, { y, start: 2 }, 64)
  yield* Effect.result(CommandQueue.dispatch(Kernels.broken, { y }, 1))
  yield* CommandQueue.read(y, Uint32Array)
}))

/** Operations that first check something and then act on it. */
const closedMeanwhile: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  "a compilation": KernelCache.use((cache) => cache.get(Kernels.constant(79))),
  "a buffer made of data": Effect.scoped(MemoryObjects.fromHost(new Uint8Array(64))),
  "a buffer without a pool": DeviceContext.DeviceContext.use((device) => device.createBuffer(64, 12)),
  "an image": Effect.scoped(Effect.flatMap(
    Images.make(ImageShape.image2d(2, 2), ImageFormat.rgba8),
    (image) => Images.fill(image, [0, 0, 0, 1])
  )),
  "a mapping": Effect.scoped(Effect.flatMap(BufferPool.allocate(64), (lease) => Mapping.map(lease, Uint32Array))),
  "a region and a read": Effect.scoped(Effect.gen(function*() {
    const region = yield* SubRegion.make(yield* BufferPool.allocate(64), { offset: 0, size: 16 })
    yield* CommandQueue.write(region, new Uint8Array(16))
    return yield* CommandQueue.read(region, Uint8Array)
  }))
}

/** More turns of the event loop than any call on a closed device needs to end. */
const turns = 1000

/** Closes the device when the effect yields before that step. The result says whether it reached the step. */
const closesAt = (
  layer: Layer.Layer<Device, unknown>,
  name: string,
  effect: Effect.Effect<unknown, unknown, Services>,
  step: number
) =>
  Effect.gen(function*() {
    const what = `${name}, closed at step ${step}`
    const opened = yield* open(layer)
    const scheduler = new YieldAt(step)
    const fiber = yield* effect.pipe(
      Effect.provide(opened.context),
      Effect.provideService(Scheduler.Scheduler, scheduler),
      Effect.forkChild({ startImmediately: true })
    )
    yield* opened.close
    for (let turn = 0; turn < turns && fiber.pollUnsafe() === undefined; turn++) yield* Effect.yieldNow
    const exit = fiber.pollUnsafe()
    if (exit === undefined) Expect.fail(`${what}: it never ends`)
    else if (Exit.isFailure(exit)) Expect.isTrue(`${what}: ${Cause.pretty(exit.cause)}`, isGpuError(failureOf(exit)))
    expectClosed(what, opened)
    return scheduler.reached
  })

/** More steps than any of these operations takes until it first waits. */
const steps = 60

const failureOf = (exit: Exit.Failure<unknown, unknown>): unknown => {
  const [reason] = exit.cause.reasons
  return reason?._tag === "Fail" ? reason.error : reason
}

/** Every call on a closed device fails with a typed error. */
const expectLate = Effect.fnUntraced(function*(context: Context.Context<Services>, lease: PooledBuffer) {
  const late = <A, E>(effect: Effect.Effect<A, E, Services | Scope.Scope>) =>
    Effect.scoped(Effect.provide(effect, context))
  yield* Expect.failsWith("a late allocate", late(BufferPool.allocate(64)), "Released")
  yield* Expect.failsWith("a late finish", late(CommandQueue.finish), "DeviceLost")
  yield* Expect.failsWith("a late flush", late(CommandQueue.flush), "DeviceLost")
  yield* Expect.failsWith("a late fill", late(CommandQueue.fill(lease, 0)), "DeviceLost")
  yield* Expect.failsWith("a late read", late(CommandQueue.read(lease, Uint8Array)), "DeviceLost")
  const dispatch = CommandQueue.dispatch(Kernels.constant(77), { y: lease }, 1)
  yield* Expect.failsWith("a late dispatch", late(dispatch), "DeviceLost")
  const compile = KernelCache.use((cache) => cache.get(Kernels.constant(78)))
  yield* Expect.failsWith("a late compilation", late(compile), "DeviceLost")
  const create = DeviceContext.DeviceContext.use((device) => device.createBuffer(64, 12))
  yield* Expect.failsWith("a late device buffer", late(create), "DeviceLost")
  yield* late(BufferPool.stats)
})

/** The tests that open devices with `layer`, the layer under test. */
export const tests = <E>(layer: Layer.Layer<Device, E>): ReadonlyArray<ConformanceTest> => [
  test("a closed device leaves no driver object", function*() {
    const opened = yield* open(layer)
    yield* opened.close
    expectClosed("a device that did nothing", opened)
    const again = yield* open(layer)
    Expect.isTrue("each opening is a new device", again.device.info !== opened.device.info)
    yield* Effect.provide(work, again.context)
    yield* again.close
    expectClosed("the next device", again)
  }),
  test("a device that worked leaves no driver object", function*() {
    const opened = yield* open(layer)
    yield* Effect.provide(work, opened.context)
    yield* opened.close
    expectClosed("a device that worked", opened)
  }),
  /** The device closes while leases are active, commands are recorded and a fiber waits. The close ends all of them. */
  test("a device may close while leases are active and work is under way", function*() {
    const opened = yield* open(layer)
    const { context, pool, queue } = opened
    const leases = yield* Scope.make()
    const x = yield* Scope.provide(pool.allocate(256), leases)
    const y = yield* Scope.provide(pool.allocate(1 << 20), leases)
    yield* queue.fill(x, 1)
    yield* queue.fill(y, 2)
    yield* queue.dispatch(Kernels.busy, { y }, 1 << 12)
    const waits = yield* Effect.forEach(
      [queue.read(y, Uint32Array), queue.finish, queue.read(x, Uint32Array)],
      (wait) => Effect.forkChild(wait, { startImmediately: true })
    )
    yield* queue.copy(y, x, { size: 128 })
    yield* opened.close
    expectClosed("a device that was closed in the middle", opened)
    for (const fiber of waits) {
      const exit = yield* Fiber.await(fiber)
      if (Exit.isFailure(exit)) Expect.reasonOf("a wait at the close", failureOf(exit), "DeviceLost")
    }
    Expect.isTrue("leases end with their pool", !Lease.isLive(x))
    yield* Scope.close(leases, Exit.void)
    yield* expectLate(context, x)
  }),
  test("a device may close at every step of an operation", function*() {
    for (const [name, effect] of Object.entries(closedMeanwhile)) {
      // Where an operation waits for the driver after its first steps, the device closes during that wait.
      for (let step = 0; step < steps && (yield* Effect.scoped(closesAt(layer, name, effect, step))); step++);
    }
  }),
  test("a fiber that waits for a device's loss resumes at its close", function*() {
    const opened = yield* open(layer)
    const lost = yield* Effect.forkChild(Effect.provide(DeviceContext.lost, opened.context), { startImmediately: true })
    yield* opened.close
    Expect.reasonOf("the device's end", yield* Fiber.join(lost), "DeviceLost")
  }),
  test("two openings are two devices", function*() {
    const one = yield* open(layer)
    const two = yield* open(layer)
    const lease = yield* one.pool.allocate(64, { label: "of one" })
    const own = yield* two.pool.allocate(64)
    const { message } = yield* Effect.flip(two.queue.write(lease, new Uint8Array(64)))
    Expect.isTrue(`the error says how to share one device: ${message}`, message.includes("a layer was built twice"))
    yield* Expect.failsWith("a write on the other device", two.queue.write(lease, new Uint8Array(64)), "ForeignDevice")
    yield* Expect.failsWith("a copy to the other device", two.queue.copy(lease, own), "ForeignDevice")
    yield* Expect.failsWith("a copy from the other device", two.queue.copy(own, lease), "ForeignDevice")
    const dispatch = two.queue.dispatch(Kernels.iota, { y: lease, start: 0 }, 1)
    yield* Expect.failsWith("a dispatch on the other device", dispatch, "ForeignDevice")
    const raw = yield* one.device.createBuffer(64, 12)
    yield* Expect.failsWith("a destroy by the other device", two.device.destroyBufferUnsafe(raw), "ForeignDevice")
    yield* one.device.destroyBufferUnsafe(raw)
    yield* one.close
    yield* Effect.provide(work, two.context)
    yield* two.close
    expectClosed("the first device", one)
    expectClosed("the second device", two)
  }),
  /** The pool's layer closes first, while the device stays open. */
  test("a device outlives its pools", function*() {
    const opened = yield* open(layer)
    const before = opened.device.driverObjects.live
    for (let round = 0; round < 3; round++) {
      const pool = BufferPool.layer({ clear: "acquire" })
      yield* work.pipe(Effect.provide(Layer.fresh(pool)), Effect.provide(opened.context))
    }
    yield* KernelCache.use((cache) => cache.clear).pipe(Effect.provide(opened.context))
    const { buffer = 0 } = opened.device.driverObjects.liveByKind
    Expect.isTrue(`${buffer} buffers are left, ${before} objects were there`, buffer <= before)
    yield* opened.close
    expectClosed("a device that had several pools", opened)
  })
]
