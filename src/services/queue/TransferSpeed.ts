/**
 * How long transfers take on the open device: measured, since no driver reports it.
 *
 * @see pyopencl.characterize.performance
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../domain/arguments/Format.ts"
import * as Delay from "../../domain/device/Delay.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as BufferPool from "../buffers/BufferPool.ts"
import type { PooledBuffer } from "../buffers/PooledBuffer.ts"
import { validated } from "../calls/Validated.ts"
import { CommandQueue } from "./CommandQueue.ts"

/**
 * From where to where.
 *
 * @category models
 * @since 0.1.0
 */
export type Direction = "hostToDevice" | "deviceToHost" | "deviceToDevice"

/**
 * What one transfer takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransferSpeed {
  readonly direction: Direction
  /** Bytes of one transfer. */
  readonly bytes: number
  /** Transfers that were measured. */
  readonly runs: number
  /** One transfer until the device has done it: record, submit, wait. */
  readonly time: Duration.Duration
  readonly bytesPerSecond: number
}

/**
 * How long to measure.
 *
 * @category models
 * @since 0.1.0
 */
export interface MeasureOptions {
  /** At least so long, 100 milliseconds without it; rounds get twice as long until one takes this. */
  readonly atLeast?: Duration.Input | undefined
  /** Transfers of one round at most, 65,536 without it. */
  readonly maxRuns?: number | undefined
}

const warmUps = 3

const isCount = (count: number): boolean => Number.isSafeInteger(count) && count > 0

/** One transfer until the device has done it; `other` is the target within the device. */
const transferOf = (
  queue: CommandQueue["Service"],
  direction: Direction,
  one: PooledBuffer,
  other: PooledBuffer
): Effect.Effect<unknown, GpuError> => {
  switch (direction) {
    case "hostToDevice":
      return Effect.andThen(queue.write(one, new Uint8Array(one.size)), queue.finish)
    case "deviceToHost":
      return queue.read(one, Uint8Array)
    case "deviceToDevice":
      return Effect.andThen(queue.copy(one, other), queue.finish)
  }
}

/**
 * Measures transfers of `bytes` bytes (or `"1 MiB"`), with two leases of the program's pool: first some transfers that
 * are not counted, then rounds of more and more until one takes long enough. Fails with InvalidRequest for less than
 * one byte, and as leases and transfers do.
 *
 * **Example** (What a read of a mebibyte takes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TransferSpeed } from "effect-gpu-pool/devices"
 *
 * const time = Effect.map(TransferSpeed.measure("deviceToHost", "1 MiB"), ({ time }) => time)
 * ```
 *
 * @see pyopencl.characterize.performance.transfer_bandwidth
 * @category measuring
 * @since 0.1.0
 */
export const measure = (
  direction: Direction,
  amount: MemoryLimit.ByteAmount,
  options?: MeasureOptions
): Effect.Effect<TransferSpeed, GpuError, BufferPool.BufferPool | CommandQueue> =>
  Effect.scoped(Effect.gen(function*() {
    const queue = yield* CommandQueue
    const { bytes, least, maxRuns } = yield* validated("TransferSpeed.measure", (operation) => {
      const { atLeast = "100 millis", maxRuns = 65_536 } = options ?? {}
      const bytes = valid(MemoryLimit.resolve(operation, "the amount", { bytes: amount }, queue.info)) ?? 0
      const least = Delay.parse(atLeast)
      return least === undefined || !isCount(bytes) || !isCount(maxRuns)
        ? invalidRequest(
          operation,
          `${formatted(bytes)} bytes in at most ${formatted(maxRuns)} runs, for ${
            formatted(atLeast)
          } at least, are nothing to measure`,
          "Pass positive integers and a duration."
        )
        : Effect.succeed({ bytes, least, maxRuns })
    })
    const [one, other] = yield* Effect.replicateEffect(BufferPool.allocate(bytes, { label: "transfer speed" }), 2)
    yield* queue.fill(one!, Uint8Array.of(0))
    const transfer = transferOf(queue, direction, one!, other!)
    yield* Effect.replicateEffect(transfer, warmUps, { discard: true })
    for (let runs = 1;; runs = Math.min(2 * runs, maxRuns)) {
      const from = yield* Clock.currentTimeNanos
      yield* Effect.replicateEffect(transfer, runs, { discard: true })
      const nanos = (yield* Clock.currentTimeNanos) - from
      if (Number(nanos) >= Duration.toMillis(least) * 1e6 || runs === maxRuns) {
        return speed(direction, bytes, runs, nanos)
      }
    }
  }))

const speed = (direction: Direction, bytes: number, runs: number, nanos: bigint): TransferSpeed => ({
  direction,
  bytes,
  runs,
  time: Duration.nanos(nanos / BigInt(runs)),
  bytesPerSecond: bytes * runs / (Number(nanos) / 1e9)
})

/**
 * The least time that a transfer takes: one of 4 bytes, the smallest that every backend supports.
 *
 * **Example** (Whether it pays to read more at once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TransferSpeed } from "effect-gpu-pool/devices"
 *
 * const overhead = Effect.map(TransferSpeed.latency("deviceToHost"), ({ time }) => time)
 * ```
 *
 * @see pyopencl.characterize.performance.transfer_latency
 * @category measuring
 * @since 0.1.0
 */
export const latency = (direction: Direction, options?: MeasureOptions) => measure(direction, 4, options)
