/**
 * Fibers that wait for memory, and what each owner of a lease does to notice another one's work on it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { PoolStats } from "../../domain/pool/PoolStats.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../services/buffers/PooledBuffer.ts"
import * as CommandQueue from "../../services/queue/CommandQueue.ts"
import { runsCommands } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** Words that only this owner writes. */
const wordsOf = (owner: number, bytes: number) =>
  Uint32Array.from({ length: bytes / 4 }, (_, at) => owner * 65_536 + at)

/** Fills a lease with its owner's words. */
export const writeOwn = (lease: PooledBuffer, owner: number) => CommandQueue.write(lease, wordsOf(owner, lease.size))

/** The owner's words are there; a device that runs no commands is only asked for them. */
export const expectOwn = Effect.fnUntraced(function*(what: string, lease: PooledBuffer, owner: number) {
  const found = yield* CommandQueue.read(lease, Uint32Array)
  if (yield* runsCommands) Expect.numbers(what, found, wordsOf(owner, lease.size))
})

/** Writes, lets others run, and finds what it wrote. */
export const ownWork = Effect.fnUntraced(function*(lease: PooledBuffer, owner: number) {
  yield* writeOwn(lease, owner)
  yield* Effect.yieldNow
  yield* expectOwn(`the data of owner ${owner}`, lease, owner)
})

/** Forks a fiber that goes on until it waits. */
export const fork = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.forkChild(effect, { startImmediately: true })

/** More turns than a fiber needs to come as far as a waiting line. */
const turns = 1000

/** Lets others run until so many requests wait. Before a request waits it may wait for the device, which takes its time. */
export const untilWaiting = Effect.fnUntraced(function*(
  waiters: number,
  stats: Effect.Effect<PoolStats, never, BufferPool.BufferPool> = BufferPool.stats
) {
  let found = (yield* stats).waiters
  for (let turn = 0; turn < turns && found !== waiters; turn++) {
    yield* Effect.yieldNow
    yield* CommandQueue.finish
    found = (yield* stats).waiters
  }
  Expect.equal("waiting requests", found, waiters)
})
