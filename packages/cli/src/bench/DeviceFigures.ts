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
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** What one call takes, in nanoseconds, and how many times as long the second way takes as the first. */
export interface Compared {
  readonly one: number
  readonly other: number
  /** The median of the ratios of single rounds. */
  readonly ratio: number
}

/** Turns are long enough for the clock, short beside the busy phases of a machine, and an even number, so that each way is first in half of them. */
const turnNanos = 4e6
const rounds = 40
const mostCalls = 100_000

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = Array.from(values).sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Nanoseconds per call, `wait` included, because recorded commands must be done. */
const timed = <E, R>(call: Effect.Effect<unknown, E, R>, wait: Effect.Effect<unknown, E, R>, calls: number) =>
  Effect.gen(function*() {
    const from = yield* Clock.currentTimeNanos
    yield* Effect.replicateEffect(call, calls, { discard: true })
    yield* wait
    return Number((yield* Clock.currentTimeNanos) - from) / calls
  })

/** How many calls make a turn, found by doubling turns, which also warm everything up. */
const callsFor = <E, R>(call: Effect.Effect<unknown, E, R>, wait: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    for (let calls = 1;; calls *= 2) {
      const nanos = yield* timed(call, wait, calls)
      if (calls >= mostCalls || nanos * calls >= turnNanos) return calls
    }
  })

/**
 * Measures two ways to do one thing turn by turn, so that a busy phase of the machine affects both. The way that is first in one round
 * is second in the next, since a turn may leave work to the one after it.
 */
export const compare = <E, R>(
  one: Effect.Effect<unknown, E, R>,
  other: Effect.Effect<unknown, E, R>,
  wait: Effect.Effect<unknown, E, R>
): Effect.Effect<Compared, E, R> =>
  Effect.gen(function*() {
    const [callsOfOne, callsOfOther] = [yield* callsFor(one, wait), yield* callsFor(other, wait)]
    const turnOfOne = timed(one, wait, callsOfOne)
    const turnOfOther = timed(other, wait, callsOfOther)
    const inOrder = Effect.all({ one: turnOfOne, other: turnOfOther })
    const reversed = Effect.all({ other: turnOfOther, one: turnOfOne })
    const measured = yield* Effect.forEach(
      Array.from({ length: rounds }, (_, round) => round),
      (round) => round % 2 === 0 ? inOrder : reversed
    )
    return {
      one: median(measured.map(({ one }) => one)),
      other: median(measured.map(({ other }) => other)),
      ratio: median(measured.map(({ one, other }) => other / one))
    }
  })

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
    const { one, other, ratio } = yield* compare<GpuError, Services>(pooled, unpooled, CommandQueue.finish)
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
    const { one, other, ratio } = yield* compare(pooled, unpooled, Effect.void)
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
