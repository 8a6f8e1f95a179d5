/** One life of a device: pools of every kind under one limit, which are recorded, and how it ends. */
import { PoolEvents, Recording } from "@effect-gpu-pool/observability"
import { Context, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import {
  BufferPool,
  type CommandQueue,
  DeviceContext,
  DeviceMemory,
  type GpuError,
  SizePolicy,
  StagingPool
} from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { ImagePool } from "effect-gpu-pool/images"
import * as Random from "../Random.ts"
import type { SoakDevice } from "../soak/Devices.ts"
import { Watch } from "../soak/Watch.ts"

/** What every fiber has. */
export type Services =
  | Device.Services
  | BufferPool.BufferPool
  | ImagePool.ImagePool
  | StagingPool.StagingPool
  | DeviceMemory.DeviceMemory

/** The shared limit of all pools: room for a few of the largest requests of many fibers. */
export const limitBytes = 256 * 1024

/** How long the load of a life lasts, in milliseconds, where nothing ends it before. */
const loadMillis = 1000

/** How a life may end: when all jobs have ended, or while they run. */
const endings = ["quietly", "quietly", "pools", "device", "loss"] as const
type Ending = (typeof endings)[number]

/** Errors that an ending may cause. */
const causes: Readonly<Record<Ending, ReadonlyArray<GpuError.GpuError["reason"]["_tag"]>>> = {
  quietly: [],
  pools: ["Released"],
  device: ["Released", "DeviceLost"],
  loss: ["Released", "DeviceLost"]
}

/** A fiber that has not ended within this time hangs. */
const waitPolicy = "30 seconds"

/** The most recorded events of one life: more would take long to replay. */
const mostEvents = 300_000

const pools = (
  next: () => number
): Layer.Layer<Exclude<Services, Device.Services>, GpuError.GpuError, Device.Services> => {
  const own = () => ({
    onExhausted: "wait" as const,
    clear: next() < 0.2 ? "acquire" as const : "never" as const,
    maxBytes: next() < 0.3 ? limitBytes / 2 : undefined
  })
  const policy = () => Random.pick(next, [SizePolicy.defaultPolicy, SizePolicy.exact, SizePolicy.leadingBits(4)])
  return Layer.mergeAll(
    BufferPool.layerShared({ ...own(), sizePolicy: policy() }),
    ImagePool.layerShared(own()),
    StagingPool.layerShared({ ...own(), sizePolicy: policy() })
  ).pipe(Layer.provideMerge(DeviceMemory.layer({
    maxBytes: limitBytes,
    maxHeldBytes: Random.pick(next, [undefined, limitBytes / 2]),
    idleTimeToLive: Random.pick(next, [undefined, "50 millis"]),
    maxBypasses: Random.pick(next, [0, 1, 16]),
    deadlockTimeout: Random.pick(next, ["5 millis", "20 millis"])
  })))
}

const isIdle = ({ activeBlocks, pendingBytes, reservedBytes, waiters }: PoolFigures): boolean =>
  activeBlocks + pendingBytes + reservedBytes + waiters === 0

type PoolFigures = Effect.Success<typeof DeviceMemory.stats>

/** How often to look whether driver calls of interrupted requests have ended. */
const looks = 200

/** Checks that no memory is in use when all fibers and their driver calls have ended. */
const expectIdle = Effect.fnUntraced(function*(watch: Watch, memory: DeviceMemory.DeviceMemory["Service"]) {
  for (let left = looks; left > 0; left--) {
    const stats = yield* memory.stats
    if (isIdle(stats)) return
    if (left === 1) watch.problem(`in use after a life: ${JSON.stringify(stats)}`)
    yield* Effect.sleep(5)
  }
})

export interface Load {
  readonly watch: Watch
  readonly next: () => number
  readonly isOver: () => boolean
}

export interface Life {
  /** Goes on until it is over. */
  readonly load: (load: Load) => Effect.Effect<void, never, Services>
  readonly seed: number
  readonly device: SoakDevice
}

/** One life; its recording is what the pools did. */
export const live = Effect.fnUntraced(function*({ device, load, seed }: Life) {
  const next = Random.make(seed)
  // The first numbers of consecutive seeds are alike.
  for (let skipped = 0; skipped < 10; skipped++) next()
  const ending = Random.pick(next, endings)
  const watch = new Watch(causes[ending])
  watch.count(`ends: ${ending}`)
  const scopes = { recorder: yield* Scope.make(), device: yield* Scope.make(), pools: yield* Scope.make() }
  const recorder = yield* Layer.buildWithScope(
    Layer.fresh(Recording.layer({ capacity: mostEvents }).pipe(Layer.provideMerge(PoolEvents.layer))),
    scopes.recorder
  )
  const opened = yield* Layer.buildWithScope(Layer.fresh(device.layer), scopes.device)
  const shared = yield* Effect.provideContext(
    Layer.buildWithScope(Layer.fresh(pools(next)), scopes.pools),
    Context.merge(opened, recorder)
  )
  const services = Context.merge(opened, shared)
  const memory = Context.get(services, DeviceMemory.DeviceMemory)
  const { driverObjects } = Context.get(services, DeviceContext.DeviceContext)

  const until = performance.now() + loadMillis
  let hasEnded = false
  const isOver = (): boolean => hasEnded || performance.now() >= until
  const loaded = yield* Effect.forkDetach(Effect.provideContext(load({ watch, next, isOver }), services))
  const closePools = Scope.close(scopes.pools, Exit.void)
  const closeDevice = Scope.close(scopes.device, Exit.void)
  if (ending !== "quietly") {
    yield* Effect.sleep(Random.integer(next, 1, loadMillis))
    if (ending === "pools") yield* closePools
    if (ending === "device") yield* closeDevice
    if (ending === "loss") device.lose()
    // Fibers that did not notice the ending continue for a while.
    yield* Effect.sleep(10)
    hasEnded = true
  }
  const ended = yield* Effect.timeoutOption(Fiber.await(loaded), waitPolicy)
  if (Option.isNone(ended)) {
    const [stats, holders] = yield* Effect.all([memory.stats, memory.holders(5)])
    watch.problem(`seed ${seed}: fibers hang, ends: ${ending}: ${JSON.stringify({ ...stats, holders })}`)
    yield* Fiber.interrupt(loaded)
  } else if (Exit.isFailure(ended.value)) watch.problem(`seed ${seed}: ${String(ended.value.cause)}`)
  yield* expectIdle(watch, memory)
  const { peakManagedBytes } = yield* memory.stats
  if (peakManagedBytes > limitBytes) watch.problem(`seed ${seed}: ${peakManagedBytes} bytes under ${limitBytes}`)
  yield* closePools
  const recording = yield* Effect.provideContext(Recording.snapshot, recorder)
  yield* closeDevice
  if (driverObjects.live !== 0) {
    watch.problem(`seed ${seed}: left of a device that ended ${ending}: ${JSON.stringify(driverObjects.liveByKind)}`)
  }
  yield* Scope.close(scopes.recorder, Exit.void)
  return { recording, watch }
})

/** For the signatures of actions. */
export type Action<A = void> = Effect.Effect<A, GpuError.GpuError, Services | CommandQueue.CommandQueue>
