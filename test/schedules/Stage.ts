/**
 * The environment of a scene: a host device with a pool, which an intruder can close, lose and change at any step, and
 * the checks at the end.
 */
import * as PoolEvents from "@effect-gpu-pool/observability/PoolEvents"
import * as Recording from "@effect-gpu-pool/observability/Recording"
import { Schedules } from "effect-schedules"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Expect from "../../packages/testing/src/Expect.ts"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import type { MemoryControls } from "../../src/services/pool/Pool.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { Ledger } from "../support/ledger.ts"

export type Services = BufferPool.BufferPool | Host.Services

/** A program whose checks hold whatever another fiber does at the same time. */
export interface Scene {
  readonly name: string
  readonly host?: Host.HostOptions | undefined
  /** The policy is `SizePolicy.exact` unless named. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
  /** With it, pools of buffers, images and staging memory share one memory with this limit, and all requests wait. */
  readonly sharedBytes?: number | undefined
  /** May fail with an error of the library only if an intruder can cause it; its own checks throw. */
  readonly run: (stage: Stage) => Effect.Effect<unknown, GpuError, Services | Scope.Scope>
  /**
   * Whether the pool's events are recorded; then the ledger computed from them must agree with the pool's counters at
   * the end.
   */
  readonly isRecorded?: boolean | undefined
  /** Errors with which the scene may end even without an intruder. */
  readonly mayFail?: ReadonlyArray<Reason["_tag"]> | undefined
  /** Names of intruders that are left out, because the scene would wait for them, or they for the scene. */
  readonly without?: ReadonlyArray<string> | undefined
}

export interface Stage {
  readonly faults: Host.Faults
  readonly pool: BufferPool.BufferPool["Service"]
  /** The pool's memory, which other pools may share. */
  readonly memory: MemoryControls
  /** The pool of images on that memory. */
  readonly images: ImagePool.Pool | undefined
  /** The pool of staging memory on it, which reads take from too. */
  readonly staging: Context.Context<StagingPool.StagingPool> | undefined
  /** Closes only the pool of images. */
  readonly closeImages: Effect.Effect<void>
  readonly closePool: Effect.Effect<void>
  /** Closes only the device, as if pool and device were separate layers. */
  readonly closeDevice: Effect.Effect<void>
  /** Leases that intruders may end or move. */
  readonly shared: Set<PooledBuffer>
  readonly share: (lease: PooledBuffer) => Effect.Effect<PooledBuffer>
}

interface OpenedDevice {
  readonly stage: Stage
  readonly context: Context.Context<Services>
  readonly driverObjects: DriverObjects
  readonly usedBytes: Effect.Effect<number>
  readonly recorder: Recording.Recorder["Service"] | undefined
}

const waiting = { onExhausted: "wait" } as const

/** Opens the pool, and the other pools on its memory. */
const openPools = Effect.fnUntraced(function*(
  { pool: options, sharedBytes }: Scene,
  host: Context.Context<Host.Services>,
  scopes: { readonly pool: Scope.Closeable; readonly images: Scope.Closeable }
): Effect.fn.Return<Pick<Stage, "pool" | "memory" | "images" | "staging">, GpuError> {
  const build = <A>(layer: Layer.Layer<A, GpuError, Host.Services>, scope: Scope.Scope) =>
    Effect.provideContext(Layer.buildWithScope(Layer.fresh(layer), scope), host)
  const sizePolicy = SizePolicy.exact
  if (sharedBytes === undefined) {
    const built = yield* build(BufferPool.layer({ sizePolicy, ...options }), scopes.pool)
    const pool = Context.get(built, BufferPool.BufferPool)
    return { pool, memory: pool, images: undefined, staging: undefined }
  }
  const built = yield* build(
    BufferPool.layerShared({ sizePolicy, ...waiting }).pipe(
      Layer.provideMerge(DeviceMemory.layer({ maxBytes: sharedBytes }))
    ),
    scopes.pool
  )
  const memory = Context.pick(DeviceMemory.DeviceMemory)(built)
  const images = yield* build(
    Layer.provide(ImagePool.layerShared(waiting), Layer.succeedContext(memory)),
    scopes.images
  )
  return {
    pool: Context.get(built, BufferPool.BufferPool),
    memory: Context.get(memory, DeviceMemory.DeviceMemory),
    images: Context.get(images, ImagePool.ImagePool),
    staging: yield* build(
      Layer.provide(StagingPool.layerShared({ sizePolicy, ...waiting }), Layer.succeedContext(memory)),
      scopes.pool
    )
  }
})

const open = Effect.fnUntraced(function*(scene: Scene): Effect.fn.Return<OpenedDevice, GpuError> {
  const hostScope = Scope.makeUnsafe()
  const scopes = { pool: Scope.makeUnsafe(), images: Scope.makeUnsafe() }
  const host = yield* Layer.buildWithScope(Layer.fresh(Host.layer(scene.host)), hostScope)
  // A pool publishes to the subscribers in the context in which it is built.
  const recording = Recording.layer({ capacity: 1000 }).pipe(Layer.provideMerge(PoolEvents.layer))
  const listening = scene.isRecorded === true
    ? yield* Layer.buildWithScope(Layer.fresh(recording), Scope.makeUnsafe())
    : undefined
  const around = listening === undefined ? host : Context.merge(host, listening)
  const pools = yield* openPools(scene, around, scopes)
  const { faults, usedBytes } = Context.get(host, Host.Host)
  const shared = new Set<PooledBuffer>()
  const closeImages = Scope.close(scopes.images, Exit.void)
  const stage: Stage = {
    ...pools,
    faults,
    closeImages,
    closePool: Effect.andThen(closeImages, Scope.close(scopes.pool, Exit.void)),
    closeDevice: Scope.close(hostScope, Exit.void),
    shared,
    share: (lease) => Effect.as(Effect.sync(() => shared.add(lease)), lease)
  }
  return {
    stage,
    context: Context.add(host, BufferPool.BufferPool, pools.pool),
    driverObjects: Context.get(host, DeviceContext).driverObjects,
    usedBytes,
    recorder: listening === undefined ? undefined : Context.get(listening, Recording.Recorder)
  }
})

/** Checks the ledger of events of an idle pool. */
const expectLedger = (recording: Recording.Recording, stats: PoolStats): void => {
  const ledger = new Ledger()
  for (const event of Recording.events(recording)) ledger.add(event)
  ledger.expect(stats)
  const { asking, reserving, waiting } = ledger
  Expect.same("requests that have not ended", [asking.size, waiting.size, reserving.size], [0, 0, 0])
}

/** Checks an idle pool. */
const settled = ({ recorder, stage }: OpenedDevice) =>
  // A driver call continues after its request was interrupted.
  Effect.map(Effect.andThen(Schedules.quiet, stage.memory.stats), (stats) => {
    const { activeBlocks, activeBytes, pendingBytes, reservedBytes, waiters } = stats
    Expect.same("what is in use when all have ended", {
      activeBlocks,
      activeBytes,
      pendingBytes,
      reservedBytes,
      waiters
    }, {
      activeBlocks: 0,
      activeBytes: 0,
      pendingBytes: 0,
      reservedBytes: 0,
      waiters: 0
    })
    if (recorder !== undefined) expectLedger(recorder.takeUnsafe("asked"), stats)
    Expect.equal("managed blocks", stats.managedBlocks, stats.heldBlocks)
    Expect.equal("blocks of the driver", stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
  })

/** Runs the scene on a stage of its own; `play` adds the intruder. */
export const onStage = (
  scene: Scene,
  play: (stage: Stage, program: Effect.Effect<unknown, GpuError, Services>) => Effect.Effect<void, never, Services>
): Effect.Effect<void, GpuError> =>
  Effect.gen(function*() {
    const opened = yield* open(scene)
    const { context, driverObjects, stage, usedBytes } = opened
    yield* Effect.provideContext(play(stage, Effect.scoped(Effect.suspend(() => scene.run(stage)))), context)
    yield* settled(opened)
    yield* stage.closePool
    yield* settled(opened)
    Expect.equal("blocks of a closed pool", (yield* stage.memory.stats).managedBlocks, 0)
    yield* stage.closeDevice
    Expect.equal(`driver objects, ${JSON.stringify(driverObjects.liveByKind)}`, driverObjects.live, 0)
    if (scene.host?.lateFree !== true) Expect.equal("bytes of a closed device", yield* usedBytes, 0)
  })
