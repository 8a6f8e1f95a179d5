/**
 * Fibers that wait for memory. Each owner of a lease checks that no other owner wrote to it.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { runsCommands } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** The words that only this owner writes. */
const wordsOf = (owner: number, bytes: number) =>
  Uint32Array.from({ length: bytes / 4 }, (_, at) => owner * 65_536 + at)

/** Fills a lease with its owner's words. */
export const writeOwn = (lease: PooledBuffer, owner: number) => CommandQueue.write(lease, wordsOf(owner, lease.size))

/** Checks that the lease has its owner's words. A device that runs no commands only gets the read. */
export const expectOwn = Effect.fnUntraced(function*(what: string, lease: PooledBuffer, owner: number) {
  const found = yield* CommandQueue.read(lease, Uint32Array)
  if (yield* runsCommands) Expect.numbers(what, found, wordsOf(owner, lease.size))
})

/** Writes, lets other fibers run, and checks its words. */
export const ownWork = Effect.fnUntraced(function*(lease: PooledBuffer, owner: number) {
  yield* writeOwn(lease, owner)
  yield* Effect.yieldNow
  yield* expectOwn(`the data of owner ${owner}`, lease, owner)
})

/** Forks a fiber, and returns when it waits. */
export const fork = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.forkChild(effect, { startImmediately: true })

/** More turns than a fiber needs until it is in the wait queue. */
const turns = 1000

const untilStats = <R>(
  what: string,
  expected: number,
  count: (stats: PoolStats) => number,
  stats: Effect.Effect<PoolStats, never, R>
) =>
  Effect.gen(function*() {
    let found = count(yield* stats)
    for (let turn = 0; turn < turns && found !== expected; turn++) {
      yield* Effect.yieldNow
      yield* CommandQueue.finish
      found = count(yield* stats)
    }
    Expect.equal(what, found, expected)
  })

/**
 * Lets other fibers run until this many requests are in the wait queue. Before that a request may wait for the device.
 */
export const untilWaiting = (
  waiters: number,
  stats: Effect.Effect<PoolStats, never, BufferPool.BufferPool> = BufferPool.stats
) => untilStats("waiting requests", waiters, (found) => found.waiters, stats)

/**
 * Lets other fibers run until no call of the allocator is under way. A call continues after its request was
 * interrupted.
 */
export const untilAnswered = <R>(stats: Effect.Effect<PoolStats, never, R>) =>
  untilStats("bytes that are asked for", 0, ({ pendingBytes }) => pendingBytes, stats)
