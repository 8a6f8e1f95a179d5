/**
 * Image pools on the host backend, whose parts a test can close, watch and make fail one by one.
 */
import { strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"
import { Host } from "../../src/host.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type { DeviceImage } from "../../src/services/device/DeviceImage.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import { nextTurn } from "./hostPool.ts"
import { withDrivers } from "./withDrivers.ts"

export interface OpenOptions {
  readonly host?: Host.HostOptions | undefined
  readonly pool?: ImagePool.ImagePoolOptions | undefined
  /** The driver answers on a later turn of the event loop. */
  readonly slow?: boolean | undefined
}

/** The pool and the services under it. */
export type Services = Host.Services | ImagePool.ImagePool

/** A pool and its device, which the test closes separately. */
export interface OpenPool {
  readonly pool: ImagePool.Pool
  readonly faults: Host.Faults
  readonly driverObjects: DriverObjects
  readonly context: Context.Context<Services>
  /** The pool's calls of the driver since the last look, as "create 64", "destroy 64", "reclaim". */
  readonly events: () => ReadonlyArray<string>
  /** Images that were created and not destroyed. */
  readonly live: ReadonlySet<DeviceImage>
  readonly closePool: Effect.Effect<void>
  readonly closeHost: Effect.Effect<void>
}

/** An image of so many bytes: one row of them. */
export const row = (bytes: number): ImageShape.ImageShape => ImageShape.image1d(bytes)

export const r8 = ImageFormat.make("r", "uint8")

const bytesOf = ({ format, shape }: DeviceImage): number => ImageFormat.imageBytes(format, shape)

export const open = Effect.fnUntraced(function*(options: OpenOptions = {}): Effect.fn.Return<OpenPool, GpuError> {
  const hostScope = Scope.makeUnsafe()
  const poolScope = Scope.makeUnsafe()
  const host = yield* Layer.buildWithScope(Layer.fresh(Host.layer(options.host)), hostScope)
  const events: Array<string> = []
  const live = new Set<DeviceImage>()
  const services = withDrivers(host, {
    images: (images) => ({
      create: (operation, description) =>
        Effect.gen(function*() {
          events.push(`create ${ImageFormat.imageBytes(description.format, description.shape)}`)
          if (options.slow === true) yield* nextTurn
          const image = yield* images.create(operation, description)
          live.add(image)
          return image
        }),
      destroyUnsafe: (image) => {
        events.push(`destroy ${bytesOf(image)}`)
        live.delete(image)
        return images.destroyUnsafe(image)
      }
    }),
    queue: ({ reclaim }) => ({
      reclaim: Effect.suspend(() => {
        events.push("reclaim")
        return reclaim
      })
    })
  })
  const pool = yield* Effect.provide(Scope.provide(ImagePool.make(options.pool), poolScope), services)
  return {
    pool,
    faults: Context.get(host, Host.Host).faults,
    driverObjects: Context.get(host, DeviceContext).driverObjects,
    context: Context.add(host, ImagePool.ImagePool, pool),
    events: () => events.splice(0),
    live,
    closePool: Scope.close(poolScope, Exit.void),
    closeHost: Scope.close(hostScope, Exit.void)
  }
})

/** Runs a test on a pool of its own, and checks that nothing is left when pool and device are closed. */
export const onPool = <A, E>(
  options: OpenOptions,
  test: (open: OpenPool) => Effect.Effect<A, E, Services | Scope.Scope>
): Effect.Effect<void, E | GpuError> =>
  Effect.gen(function*() {
    const opened = yield* open(options)
    yield* Effect.scoped(test(opened)).pipe(Effect.provide(opened.context))
    yield* opened.closePool
    isConsistent(yield* opened.pool.stats, opened)
    strictEqual(opened.live.size, 0)
    yield* opened.closeHost
    strictEqual(opened.driverObjects.live, 0)
  })

/** Allocates leases of these sizes together and releases them, so that the pool holds their blocks. */
export const hold = ({ pool }: OpenPool, sizes: ReadonlyArray<number>): Effect.Effect<void, GpuError> =>
  Effect.scoped(Effect.forEach(sizes, (size) => pool.allocate(row(size), r8), { discard: true }))

/** Checks the rules that the counters keep at all times. */
export const isConsistent = (stats: PoolStats, { driverObjects, live }: OpenPool): void => {
  strictEqual(stats.managedBlocks, stats.heldBlocks + stats.activeBlocks)
  strictEqual(stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
  strictEqual(stats.managedBytes, stats.heldBytes + stats.activeBytes)
  strictEqual(stats.managedBlocks, live.size)
  strictEqual(stats.managedBytes, [...live].reduce((sum, image) => sum + bytesOf(image), 0))
  strictEqual(stats.pendingBytes, 0)
  strictEqual(driverObjects.liveByKind["image"] ?? 0, live.size)
}
