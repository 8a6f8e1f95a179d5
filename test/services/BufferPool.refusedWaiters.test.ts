import { it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import { hasStats, layer } from "../support/hostPool.ts"

const options = {
  host: { capacityBytes: 100, latency: "1 second" },
  pool: { maxBytes: 130, onExhausted: "wait", sizePolicy: SizePolicy.table([40, 75, 85]) }
} as const

/** Beside what is leased the limit has room for one of them at a time, and the driver for neither, nor less of it. */
it.effect("two requests that the driver refuses do not wake each other again and again", () =>
  Effect.gen(function*() {
    const { faults } = yield* Host.Host
    const leased = yield* Effect.forkChild(BufferPool.allocate(40))
    yield* TestClock.adjust("1 second")
    const one = yield* Effect.forkChild(BufferPool.allocate(70))
    const other = yield* Effect.forkChild(BufferPool.allocate(80))
    yield* TestClock.adjust("1 minute")
    yield* hasStats({ waiters: 2, reservedBytes: 0 })
    const asked = faults.allocations
    yield* TestClock.adjust("1 minute")
    strictEqual(faults.allocations, asked)

    yield* PooledBuffer.release(yield* Fiber.join(leased))
    yield* TestClock.adjust("1 minute")
    yield* PooledBuffer.release(yield* Effect.raceFirst(Fiber.join(one), Fiber.join(other)))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.joinAll([one, other])
    yield* hasStats({ waiters: 0, activeBlocks: 1, reservedBytes: 0 })
  }).pipe(Effect.scoped, Effect.provide(layer(options))))
