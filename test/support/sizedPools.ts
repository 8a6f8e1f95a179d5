/**
 * A common interface for pools of buffers, images and staging memory, whose leases have a size in bytes. One set of
 * laws runs on all of them, each on a memory of its own or several on one.
 */
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import type * as MemoryLimit from "../../src/domain/pool/MemoryLimit.ts"
import type { ExhaustedOptions, PoolLimit, SharedPoolOptions } from "../../src/domain/pool/PoolOptions.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import type * as PooledImage from "../../src/services/images/PooledImage.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import type { Need } from "../../src/services/pool/Handlers.ts"
import type { MemoryControls, PoolControls } from "../../src/services/pool/Pool.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { nextTurn } from "./hostPool.ts"
import { withDrivers } from "./withDrivers.ts"

export type Kind = "buffers" | "images" | "staging"

export const kinds: ReadonlyArray<Kind> = ["buffers", "images", "staging"]

/** The kinds with a model. Staging memory uses the blocks of buffers. */
export const modelled: ReadonlyArray<Kind> = ["buffers", "images"]

export type SizedLease = PooledBuffer.PooledBuffer | PooledImage.PooledImage

export interface SizedOptions extends ExhaustedOptions {
  readonly label?: string | undefined
  /** Leases of another usage, which share no blocks with the usual ones. */
  readonly isOther?: boolean | undefined
}

/** A pool of any kind. */
export interface SizedPool extends PoolControls<SizedPool> {
  readonly allocate: (bytes: number, options?: SizedOptions) => Effect.Effect<SizedLease, GpuError, Scope.Scope>
  readonly use: <A, E, R>(
    bytes: number,
    f: (lease: SizedLease) => Effect.Effect<A, E, R>,
    options?: SizedOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** All or none; images, whose pool has no such request, one after the other. */
  readonly allocateAll: (
    sizes: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<SizedLease>, GpuError, Scope.Scope>
}

/** A pool in the context of a test's program. */
export class Sized extends Context.Service<Sized, SizedPool>()("effect-gpu-pool/test/Sized") {}

export const allocate = (bytes: number, options?: SizedOptions) => Sized.use((pool) => pool.allocate(bytes, options))

export const use = <A, E, R>(
  bytes: number,
  f: (lease: SizedLease) => Effect.Effect<A, E, R>,
  options?: SizedOptions
): Effect.Effect<A, E | GpuError, R | Sized> => Sized.use((pool) => pool.use(bytes, f, options))

export const withBudget =
  (limit: number) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R | Sized> =>
    Sized.use((pool) => Effect.flatMap(pool.budget(limit), (budget) => Effect.provideService(effect, Sized, budget)))

export const onOutOfMemory = (handler: (need: Need) => Effect.Effect<boolean, GpuError>) =>
  Sized.use((pool) => pool.onOutOfMemory(handler))

export const stats = Sized.use((pool) => pool.stats)

export const freeHeld = Sized.use((pool) => pool.freeHeld)

export const stopHolding = Sized.use((pool) => pool.stopHolding)

export const resumeHolding = Sized.use((pool) => pool.resumeHolding)

export const trimTo = (bytes: MemoryLimit.ByteAmount) => Sized.use((pool) => pool.trimTo(bytes))

export const setLimit = (limit: PoolLimit) => Sized.use((pool) => pool.setLimit(limit))

/** Allocates leases of these sizes together and releases them, so that the pool holds their blocks. */
export const hold = (sizes: ReadonlyArray<number>): Effect.Effect<void, GpuError, Sized> =>
  Effect.scoped(Effect.forEach(sizes, (size) => allocate(size), { discard: true }))

/** Checks the counters that are named. */
export const hasStats = (expected: Partial<PoolStats>): Effect.Effect<void, never, Sized> =>
  Effect.map(stats, (stats) => deepStrictEqual({ ...stats, ...expected }, stats))

const bufferOptions = ({ isOther, ...options }: SizedOptions) =>
  isOther === true ? { ...options, usage: BufferUsage.storage | BufferUsage.copyDst } : options

const sizedBuffers = (pool: BufferPool.Pool): SizedPool => ({
  ...pool,
  reserve: (bytes, f, options) => pool.reserve(bytes, (reserved) => f(sizedBuffers(reserved)), options),
  budget: (limit, options) => Effect.map(pool.budget(limit, options), sizedBuffers),
  allocate: (bytes, options = {}) => pool.allocate(bytes, bufferOptions(options)),
  use: (bytes, f, options = {}) => pool.use(bytes, f, bufferOptions(options))
})

const stagingOptions = ({ isOther, ...options }: SizedOptions) => ({
  ...options,
  direction: isOther === true ? "upload" as const : "download" as const
})

/** Leases arrays of bytes. An array to upload is mapped before the program gets it. */
const sizedStaging = (pool: StagingPool.Pool): SizedPool => ({
  ...pool,
  reserve: (bytes, f, options) => pool.reserve(bytes, (reserved) => f(sizedStaging(reserved)), options),
  budget: (limit, options) => Effect.map(pool.budget(limit, options), sizedStaging),
  allocate: (bytes, options = {}) =>
    Effect.map(pool.allocate(bytes, Uint8Array, stagingOptions(options)), ({ lease }) => lease),
  use: (bytes, f, options = {}) => pool.use(bytes, Uint8Array, ({ lease }) => f(lease), stagingOptions(options)),
  allocateAll: (sizes) =>
    Effect.forEach(
      sizes,
      (bytes) => Effect.map(pool.allocate(bytes, Uint8Array, { direction: "download" }), ({ lease }) => lease)
    )
})

/** An image of so many bytes: one row of them, or some where there are too many for one. */
const row = (bytes: number): ImageShape.ImageShape =>
  bytes > 4096 ? ImageShape.image2d(4096, bytes / 4096) : ImageShape.image1d(bytes)

const r8 = ImageFormat.make("r", "uint8")

const imageOptions = ({ isOther, ...options }: SizedOptions) =>
  isOther === true ? { ...options, usage: ImageUsage.sampled | ImageUsage.copyDst } : options

const sizedImages = (pool: ImagePool.Pool): SizedPool => ({
  ...pool,
  reserve: (bytes, f, options) => pool.reserve(bytes, (reserved) => f(sizedImages(reserved)), options),
  budget: (limit, options) => Effect.map(pool.budget(limit, options), sizedImages),
  allocate: (bytes, options = {}) => pool.allocate(row(bytes), r8, imageOptions(options)),
  use: (bytes, f, options = {}) => pool.use(row(bytes), r8, f, imageOptions(options)),
  allocateAll: (sizes) => Effect.forEach(sizes, (bytes) => pool.allocate(row(bytes), r8))
})

export type HostServices = Host.Services

/** What a test does at each driver call of a pool. */
export interface Watch {
  /** Called around an allocation of so many bytes by the driver. */
  readonly creating?: (<A>(bytes: number, create: Effect.Effect<A, GpuError>) => Effect.Effect<A, GpuError>) | undefined
  /** Called when a block of so many bytes is freed. */
  readonly destroying?: ((bytes: number) => void) | undefined
  readonly reclaiming?: ((reclaim: Effect.Effect<void, GpuError>) => Effect.Effect<void, GpuError>) | undefined
}

/** Answers in a later turn of the event loop, as an asynchronous driver does. */
export const slow: Watch = {
  creating: (_, create) => Effect.uninterruptible(Effect.andThen(nextTurn, create))
}

const watched = (
  host: Context.Context<HostServices>,
  { creating = (_, create) => create, destroying, reclaiming = (reclaim) => reclaim }: Watch
): Context.Context<HostServices> => {
  const device = Context.get(host, DeviceContext)
  const drivers = withDrivers(host, {
    images: (images) => ({
      create: (operation, image) =>
        creating(ImageFormat.imageBytes(image.format, image.shape), images.create(operation, image)),
      destroyUnsafe: (image) => {
        destroying?.(ImageFormat.imageBytes(image.format, image.shape))
        return images.destroyUnsafe(image)
      }
    }),
    queue: ({ reclaim }) => ({
      reclaim: Effect.suspend(() => reclaiming(reclaim))
    })
  })
  return Context.add(drivers, DeviceContext, {
    ...device,
    createBuffer: (bytes, ...more) => creating(bytes, device.createBuffer(bytes, ...more)),
    destroyBufferUnsafe: (buffer) => {
      destroying?.(buffer.size)
      return device.destroyBufferUnsafe(buffer)
    }
  })
}

interface HostOptions {
  readonly host?: Host.HostOptions | undefined
  readonly watch?: Watch | undefined
}

export interface OpenOptions extends HostOptions {
  /** For buffers the policy is `SizePolicy.exact` unless named; images have none. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
}

interface OpenHost {
  readonly faults: Host.Faults
  readonly driverObjects: DriverObjects
  /** Bytes that count against the device's capacity. */
  readonly usedBytes: () => number
  readonly closeHost: Effect.Effect<void>
}

/** A pool and its device, which the test closes separately. */
export interface OpenPool extends OpenHost {
  readonly pool: SizedPool
  readonly context: Context.Context<HostServices | Sized>
  readonly closePool: Effect.Effect<void>
}

const openHost = Effect.fnUntraced(function*({ host, watch = {} }: HostOptions) {
  const scope = Scope.makeUnsafe()
  const opened = yield* Layer.buildWithScope(Layer.fresh(Host.layer(host)), scope)
  const { faults, usedBytes } = Context.get(opened, Host.Host)
  const parts: OpenHost = {
    faults,
    driverObjects: Context.get(opened, DeviceContext).driverObjects,
    usedBytes: () => Effect.runSync(usedBytes),
    closeHost: Scope.close(scope, Exit.void)
  }
  return { services: watched(opened, watch), parts }
})

const exact = { sizePolicy: SizePolicy.exact }

/** A pool that has its memory for itself. */
export const open = Effect.fnUntraced(function*(
  kind: Kind,
  { pool: options = {}, ...host }: OpenOptions = {}
): Effect.fn.Return<OpenPool, GpuError> {
  const { parts, services } = yield* openHost(host)
  const scope = Scope.makeUnsafe()
  const { sizePolicy: _, ...rest } = options
  const opening = Effect.gen(function*() {
    if (kind === "images") return sizedImages(yield* ImagePool.make(rest))
    return kind === "buffers"
      ? sizedBuffers(yield* BufferPool.make({ ...exact, ...options }))
      : sizedStaging(yield* StagingPool.make({ ...exact, ...options }))
  })
  const pool = yield* opening.pipe(
    Effect.provide(Allocator.layerImmediate),
    Scope.provide(scope),
    Effect.provide(services)
  )
  const context = Context.add(services, Sized, pool)
  return { ...parts, pool, context, closePool: Scope.close(scope, Exit.void) }
})

/** The same for a test, closed with its scope. */
export const layer = (kind: Kind, options?: OpenOptions): Layer.Layer<HostServices | Sized, GpuError> =>
  Layer.effectContext(
    Effect.map(
      Effect.acquireRelease(open(kind, options), ({ closeHost, closePool }) => Effect.andThen(closePool, closeHost)),
      ({ context }) => context
    )
  )

/** Runs a test on a pool whose driver calls are recorded; reading the log empties it. */
export const withEvents = <A, E>(
  kind: Kind,
  options: OpenOptions,
  test: (events: () => ReadonlyArray<string>) => Effect.Effect<A, E, HostServices | Sized | Scope.Scope>
) => {
  const events: Array<string> = []
  const watch: Watch = {
    creating: (bytes, create) =>
      Effect.suspend(() => {
        events.push(`allocate ${bytes}`)
        return create
      }),
    destroying: (bytes) => events.push(`free ${bytes}`),
    reclaiming: (reclaim) => {
      events.push("reclaim")
      return reclaim
    }
  }
  return Effect.scoped(test(() => events.splice(0))).pipe(Effect.provide(layer(kind, { ...options, watch })))
}

export interface SharedOptions extends HostOptions {
  readonly memory?: DeviceMemory.MemoryOptions | undefined
  readonly pools: ReadonlyArray<SharedPool>
}

export interface SharedPool extends SharedPoolOptions {
  readonly kind: Kind
  readonly sizePolicy?: SizePolicy.SizePolicy | undefined
}

/** One of several pools on a memory. */
export interface OpenShared {
  readonly kind: Kind
  readonly pool: SizedPool
  readonly close: Effect.Effect<void>
}

/** Several pools and their memory, which the test closes separately. */
export interface OpenMemory extends OpenHost {
  readonly memory: MemoryControls
  readonly pools: ReadonlyArray<OpenShared>
  /** Opens one more. */
  readonly openPool: (options: SharedPool) => Effect.Effect<OpenShared, GpuError>
  readonly services: Context.Context<HostServices | DeviceMemory.DeviceMemory>
  readonly closeMemory: Effect.Effect<void>
}

export const openMemory = Effect.fnUntraced(function*(
  { memory: options, pools: wanted, ...host }: SharedOptions
): Effect.fn.Return<OpenMemory, GpuError> {
  const { parts, services: given } = yield* openHost(host)
  const memoryScope = Scope.makeUnsafe()
  const services = yield* Layer.buildWithScope(
    Layer.fresh(DeviceMemory.layer(options)).pipe(Layer.provideMerge(Layer.succeedContext(given))),
    memoryScope
  )
  const openPool = Effect.fnUntraced(function*(
    { kind, sizePolicy = SizePolicy.exact, ...more }: SharedPool
  ): Effect.fn.Return<OpenShared, GpuError> {
    const scope = Scope.makeUnsafe()
    const buildOf = <I, S>(
      service: Context.Key<I, S>,
      layer: Layer.Layer<I, GpuError, HostServices | DeviceMemory.DeviceMemory>
    ) =>
      Effect.map(
        Effect.provide(Layer.buildWithScope(Layer.fresh(layer), scope), services),
        (built) => Context.get(built, service)
      )
    const made = {
      buffers: () =>
        Effect.map(buildOf(BufferPool.BufferPool, BufferPool.layerShared({ sizePolicy, ...more })), sizedBuffers),
      images: () => Effect.map(buildOf(ImagePool.ImagePool, ImagePool.layerShared(more)), sizedImages),
      staging: () =>
        Effect.map(buildOf(StagingPool.StagingPool, StagingPool.layerShared({ sizePolicy, ...more })), sizedStaging)
    }
    const pool = yield* made[kind]()
    return { kind, pool, close: Scope.close(scope, Exit.void) }
  })
  return {
    ...parts,
    memory: Context.get(services, DeviceMemory.DeviceMemory),
    pools: yield* Effect.forEach(wanted, openPool),
    openPool,
    services,
    closeMemory: Scope.close(memoryScope, Exit.void)
  }
})
