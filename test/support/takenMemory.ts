/**
 * A program for a process of its own: transfers a mapped WebGPU array away, ends the mapping in one of several ways,
 * and uses the taken array. It prints "survived", unless the driver has freed that memory and the process crashes.
 */
import { BufferPool, BufferUsage, CommandQueue, DeviceContext, Lease, Mapping, StagingPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import assert from "node:assert"
import { create } from "webgpu"

const [scenario = "", flag] = process.argv.slice(2)
const flags = flag === undefined || flag === "" ? [] : [flag]

/** Large enough for the driver to give it back to the system. */
const bytes = 2 ** 20

const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

const take = ({ buffer }: ArrayBufferView): Uint8Array => new Uint8Array(transfer.call(buffer))

const collect = Effect.promise(async () => {
  for (let turn = 0; turn < 4; turn++) {
    globalThis.gc?.()
    await new Promise((resume) => setTimeout(resume, 1))
  }
})

/** Lets the driver give freed memory back, and other owners take it. */
const churn = Effect.gen(function*() {
  yield* BufferPool.freeHeld
  yield* Effect.scoped(Effect.forEach([1, 2, 3, 4], (value) =>
    Effect.gen(function*() {
      const next = yield* BufferPool.allocate(bytes, { usage: BufferUsage.upload })
      yield* Effect.scoped(Effect.map(Mapping.map(next, Uint8Array), ({ data }) => data.fill(value)))
    })))
  yield* BufferPool.freeHeld
  yield* CommandQueue.finish
  yield* collect
})

/** Checks that the taken array has what its program stores, and nothing else. */
const useUp = (taken: Uint8Array, value: number): void => {
  taken.fill(value)
  assert(taken.length === bytes && taken.every((each) => each === value))
}

const mapped = Effect.flatMap(
  BufferPool.allocate(bytes, { usage: BufferUsage.upload }),
  (lease) => Effect.map(Mapping.map(lease, Uint8Array), (mapping) => ({ lease, mapping }))
)

type Services = WebGpu.Services | BufferPool.BufferPool | StagingPool.StagingPool | Scope.Scope

const says = (message: string, end: Effect.Effect<unknown, { readonly message: string }, Services>) =>
  Effect.map(Effect.flip(end), (error) => assert(error.message.includes(message), error.message))

const isLost = Effect.map(
  Effect.flip(CommandQueue.finish),
  (error) => assert.strictEqual(error.reason._tag, "DeviceLost")
)

const transferred = "was transferred to another ArrayBuffer"

/** Each takes memory in some way. The memory is used after each step, and after the layer has closed. */
const scenarios: Readonly<Record<string, Effect.Effect<Uint8Array, unknown, Services>>> = {
  unmapped: Effect.gen(function*() {
    const { lease, mapping } = yield* mapped
    const taken = take(mapping.data)
    yield* says(transferred, Mapping.unmap(mapping))
    yield* Lease.release(lease)
    return taken
  }),
  released: Effect.gen(function*() {
    const { lease, mapping } = yield* mapped
    const taken = take(mapping.data)
    yield* Lease.release(lease)
    assert.strictEqual((yield* BufferPool.stats).releaseFailures, 1)
    return taken
  }),
  viewed: Effect.gen(function*() {
    const x = yield* BufferPool.allocate(bytes)
    let taken: Uint8Array | undefined
    yield* says(transferred, CommandQueue.readView(x, Uint8Array, (view) => Effect.sync(() => taken = take(view))))
    return taken!
  }),
  interrupted: Effect.gen(function*() {
    const x = yield* BufferPool.allocate(bytes)
    const took = yield* Deferred.make<Uint8Array>()
    const reader = yield* Effect.forkChild(
      CommandQueue.readView(x, Uint8Array, (view) => Effect.andThen(Deferred.succeed(took, take(view)), Effect.never))
    )
    const taken = yield* Deferred.await(took)
    yield* Fiber.interrupt(reader)
    return taken
  }),
  "pool closed": Effect.gen(function*() {
    const scope = yield* Scope.make()
    const staging = yield* Layer.buildWithScope(Layer.fresh(StagingPool.layer()), scope)
    const x = yield* BufferPool.allocate(bytes)
    let taken: Uint8Array | undefined
    const view = CommandQueue.readView(x, Uint8Array, (view) => {
      taken = take(view)
      return Effect.andThen(Scope.close(scope, Exit.void), collect)
    })
    yield* says(transferred, Effect.provide(view, staging))
    return taken!
  }),
  "device destroyed": Effect.gen(function*() {
    const { mapping } = yield* mapped
    const other = yield* mapped
    const taken = take(mapping.data)
    const { device } = yield* WebGpu.WebGpu
    device.destroy()
    yield* isLost
    useUp(other.mapping.data, 100)
    yield* Mapping.unmap(other.mapping)
    assert.strictEqual(other.mapping.data.length, 0)
    return taken
  }),
  "device destroyed later": Effect.gen(function*() {
    const { mapping } = yield* mapped
    const taken = take(mapping.data)
    yield* says(transferred, Mapping.unmap(mapping))
    const { device } = yield* WebGpu.WebGpu
    device.destroy()
    yield* isLost
    return taken
  })
}

/** On a device of the library's own, or on one that other code still uses. */
const gpu = create([...flags])
const shared = process.argv[4] === "shared"
  ? await gpu.requestAdapter().then((adapter) => adapter!.requestDevice())
  : undefined

const layer = Layer.mergeAll(BufferPool.layer(), StagingPool.layer()).pipe(
  Layer.provideMerge(shared === undefined ? WebGpu.layerFrom(gpu) : WebGpu.layerFromDevice(shared)),
  Layer.provideMerge(Logger.layer([]))
)

const closing = Scope.makeUnsafe()
const context = await Effect.runPromise(Layer.buildWithScope(layer, closing))
const run = <A, E>(effect: Effect.Effect<A, E, Services>) =>
  Effect.runPromise(Effect.scoped(Effect.provide(effect, context)))

const taken = await run(Effect.gen(function*() {
  const taken = yield* scenarios[scenario]!
  useUp(taken, 101)
  return taken
}))
useUp(taken, 102)
const { driverObjects, status } = Context.get(context, DeviceContext.DeviceContext)
if (status.error === undefined) await run(churn)
useUp(taken, 103)
await Effect.runPromise(Scope.close(closing, Exit.void))
await Effect.runPromise(collect)
useUp(taken, 104)
assert.strictEqual(driverObjects.live, 0, JSON.stringify(driverObjects.liveByKind))
assert(driverObjects.taken > 0)
shared?.queue.submit([])
await shared?.queue.onSubmittedWorkDone()
await Effect.runPromise(collect)
useUp(taken, 105)
process.stdout.write("survived\n")
