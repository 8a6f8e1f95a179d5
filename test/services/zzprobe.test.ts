import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as fc from "fast-check"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import { decorated, layer, nextTurn } from "../support/hostPool.ts"
const policies = [SizePolicy.exact, SizePolicy.sizeClasses(1, { borrow: 1 }), SizePolicy.table([32, 64, 128], { borrow: 1 }), SizePolicy.table([128])]
it("everybody is served in the end", () =>
  fc.assert(fc.asyncProperty(
    fc.array(fc.record({ size: fc.integer({ min: 1, max: 100 }), turns: fc.nat(4), after: fc.nat(6), end: fc.nat(30), usage: fc.boolean(), place: fc.nat(3), scoped: fc.boolean() }), { maxLength: 40 }),
    fc.record({ capacity: fc.constantFrom(100, 128, 150, 100000), max: fc.constantFrom(100, 128, 140, 300, Infinity), late: fc.boolean(), slow: fc.nat(2), policy: fc.nat(3), overtakes: fc.constantFrom(0, 1, 16), hold: fc.constantFrom(Infinity, 0, 60), stop: fc.boolean(), clear: fc.boolean(), cache: fc.nat(5) }),
    (jobs, o) => {
      const slow = decorated((a) => ({ ...a,
        allocate: (b, x) => Effect.uninterruptible(Effect.andThen(Effect.replicateEffect(nextTurn, o.slow), a.allocate(b, x))),
        reclaim: Effect.andThen(Effect.replicateEffect(nextTurn, o.slow), a.reclaim) }))
      return Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        const b1 = yield* pool.budget(120)
        const b2 = yield* b1.budget(100)
        const places = [pool, pool, b1, b2]
        if (o.stop) yield* pool.stopHolding
        const fibers = yield* Effect.forEach(jobs, (j) => Effect.forkChild(Effect.gen(function*() {
          for (let i = 0; i < j.after; i++) yield* nextTurn
          const body = Effect.replicateEffect(nextTurn, j.turns)
          const opts = { onExhausted: "wait", usage: j.usage ? BufferUsage.storage : undefined } as const
          const p = places[j.place]!
          if (j.scoped) yield* Effect.scoped(Effect.andThen(p.allocate(j.size, opts), body))
          else yield* p.use(j.size, () => body, opts)
        })))
        for (const [i, j] of jobs.entries()) if (j.end < 6) yield* Effect.forkChild(Effect.andThen(Effect.replicateEffect(nextTurn, j.end), Fiber.interrupt(fibers[i]!)))
        let turns = 0
        while (fibers.some((f) => f.pollUnsafe() === undefined)) {
          yield* nextTurn
          if (turns++ > 20000) { const s = yield* pool.stats; assert.fail("hang " + JSON.stringify(s)) }
        }
        for (const f of fibers) {
          const e = f.pollUnsafe()!
          if (Exit.isFailure(e) && !Cause.hasInterruptsOnly(e.cause)) assert.fail(String(Cause.squash(e.cause)))
        }
        for (let i = 0; i < 50; i++) yield* nextTurn
        for (const p of places) {
          const s = yield* p.stats
          assert.deepStrictEqual([s.activeBlocks, s.reservedBytes, s.waiters], [0, 0, 0])
        }
      }).pipe(Effect.provide(layer({ host: { capacityBytes: o.capacity, lateFree: o.late }, allocator: slow, pool: { maxBytes: o.max, sizePolicy: policies[o.policy], maxOvertakes: o.overtakes, maxHeldBytes: o.hold, clear: o.clear ? "acquire" : "never" } })), Effect.runPromise)
    }), { numRuns: Number(process.env.RUNS ?? 300) }), 600000)
