import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as TransferSpeed from "../../src/services/queue/TransferSpeed.ts"

const host = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))

/** A clock on which each copy, read or write of the queue takes a millisecond. */
const timed = Effect.fnUntraced(function*(
  measure: Effect.Effect<TransferSpeed.TransferSpeed, unknown, BufferPool.BufferPool | CommandQueue.CommandQueue>
) {
  let transfers = 0
  const count = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.andThen(Effect.sync(() => transfers++), effect)
  const queue = yield* CommandQueue.CommandQueue
  const counting = CommandQueue.CommandQueue.of({
    ...queue,
    write: (...args) => count(queue.write(...args)),
    read: (...args) => count(queue.read(...args)),
    copy: (...args) => count(queue.copy(...args))
  })
  const clock = yield* Clock.Clock
  const found = yield* measure.pipe(
    Effect.provideService(CommandQueue.CommandQueue, counting),
    Effect.provideService(Clock.Clock, {
      ...clock,
      currentTimeNanosUnsafe: () => BigInt(transfers) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(transfers) * 1_000_000n)
    })
  )
  return { found, transfers, stats: yield* BufferPool.stats }
})

describe("transfers", () => {
  it.effect.each(["hostToDevice", "deviceToHost", "deviceToDevice"] as const)(
    "%s are measured",
    (direction) =>
      Effect.gen(function*() {
        const { found, stats, transfers } = yield* timed(
          TransferSpeed.measure(direction, "4 KiB", { atLeast: "10 millis" })
        )
        deepStrictEqual([found.direction, found.bytes], [direction, 4096])
        // Three to warm up, then rounds of 1, 2, 4, 8 and 16.
        strictEqual(transfers, 3 + 31)
        strictEqual(found.runs, 16)
        strictEqual(Duration.toMillis(found.time), 1)
        strictEqual(found.bytesPerSecond, 4096 * 1000)
        strictEqual(stats.activeBlocks, 0)
      }).pipe(Effect.provide(host))
  )

  it.effect("end after so many runs on a clock that stands still", () =>
    Effect.gen(function*() {
      const { runs } = yield* TransferSpeed.latency("deviceToHost", { maxRuns: 8 })
      strictEqual(runs, 8)
    }).pipe(Effect.provide(host)))

  it.effect.each(
    [
      [0, {}],
      [1.5, {}],
      [4, { maxRuns: 0 }],
      [4, { atLeast: NaN }],
      [4, { atLeast: -1 }]
    ] as const
  )("of %d bytes with %o are none", ([bytes, options]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(TransferSpeed.measure("hostToDevice", bytes, options))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
    }).pipe(Effect.provide(host)))

  it.effect.each(["hostToDevice", "deviceToHost", "deviceToDevice"] as const)(
    "%s end with the device that is lost, and their leases with them",
    (direction) =>
      Effect.gen(function*() {
        const { faults } = yield* Host.Host
        faults.loseAt(40, "pulled out")
        const error = yield* Effect.flip(TransferSpeed.measure(direction, 64, { maxRuns: 1024 }))
        assert.strictEqual(error.reason._tag, "DeviceLost")
        strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      }).pipe(Effect.provide(host))
  )
})
