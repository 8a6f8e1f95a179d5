/**
 * What a pool is worth on a device, and how fast the device moves bytes, in a second or two.
 *
 * @internal
 */
import { Allocator, BufferPool, CommandQueue, DeviceContext } from "effect-gpu-pool"
import { layerOf } from "effect-gpu-pool/Devices"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { ListedDevice } from "effect-gpu-pool/ListedDevice"
import * as TransferSpeed from "effect-gpu-pool/TransferSpeed"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Turns from "./Turns.ts"

/** Memory from the pool against memory from the driver: each call allocates and releases. */
export interface Allocation {
  /** Bytes of each allocation. */
  readonly bytes: number
  /** Whether each call also fills the memory, and waits until the device has done it. */
  readonly filled: boolean
  /** Nanoseconds of a call. */
  readonly pooled: number
  readonly unpooled: number
  /** How many times as long a call takes without the pool. */
  readonly ratio: number
}

export interface Transfer {
  readonly direction: TransferSpeed.Direction
  /** Bytes of each transfer. */
  readonly bytes: number
  readonly bytesPerSecond: number
}

export interface DeviceFigures {
  readonly allocations: ReadonlyArray<Allocation>
  readonly transfers: ReadonlyArray<Transfer>
}

const MiB = 2 ** 20

type Services = Allocator.Allocator | BufferPool.BufferPool | CommandQueue.CommandQueue

const allocation = (bytes: number): Effect.Effect<Allocation, GpuError, Services> =>
  Effect.gen(function*() {
    const allocator = yield* Allocator.Allocator
    const pooled = BufferPool.use(bytes, () => Effect.void)
    const unpooled = Effect.uninterruptible(Effect.flatMap(allocator.allocate(bytes), allocator.freeUnsafe))
    const { one, other, ratio } = yield* Turns.compare<GpuError, Services>(pooled, unpooled, CommandQueue.finish)
    return { bytes, filled: false, pooled: one, unpooled: other, ratio }
  })

const zero = Uint8Array.of(0)

const filledAllocation = (bytes: number): Effect.Effect<Allocation, GpuError, Services> =>
  Effect.gen(function*() {
    const allocator = yield* Allocator.Allocator
    const pooled = BufferPool.use(bytes, (x) => Effect.andThen(CommandQueue.fill(x, zero), CommandQueue.finish))
    const unpooled = Effect.acquireUseRelease(
      allocator.allocate(bytes),
      (x) => Effect.andThen(CommandQueue.fill(x, zero), CommandQueue.finish),
      allocator.freeUnsafe
    )
    const { one, other, ratio } = yield* Turns.compare(pooled, unpooled, Effect.void)
    return { bytes, filled: true, pooled: one, unpooled: other, ratio }
  })

const directions: ReadonlyArray<TransferSpeed.Direction> = ["hostToDevice", "deviceToHost", "deviceToDevice"]

const measured: Effect.Effect<DeviceFigures, GpuError, Services | DeviceContext.DeviceContext> = Effect.gen(
  function*() {
    const { limits } = yield* DeviceContext.info
    const [small, large] = [Math.min(MiB, limits.maxBufferSize), Math.min(16 * MiB, limits.maxBufferSize)]
    const allocations = [yield* allocation(small), yield* filledAllocation(large)]
    const transfers = yield* Effect.forEach(directions, (direction) => TransferSpeed.measure(direction, large))
    return {
      allocations,
      transfers: transfers.map(({ bytes, bytesPerSecond, direction }) => ({ direction, bytes, bytesPerSecond }))
    }
  }
)

/** Opens the device, measures it and closes it. Fails with the device's errors. */
export const figuresOf = (device: ListedDevice): Effect.Effect<DeviceFigures, GpuError> =>
  Effect.provide(
    measured,
    Layer.merge(BufferPool.layer({ label: "bench" }), Allocator.layerDeferred).pipe(
      Layer.provideMerge(Layer.unwrap(layerOf(device, {})))
    )
  )
