import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { counted, type CountingScheduler } from "../support/CountingScheduler.ts"
import { decorated, logsTo, open } from "../support/hostPool.ts"
import { commands, drain, endedWell, type Pressed } from "../support/pressureCommands.ts"
import { type Place, restLawsHold, staysWithinLimit } from "../support/pressureLaws.ts"

const policies = [
  SizePolicy.defaultPolicy,
  SizePolicy.leadingBits(1),
  SizePolicy.table([64, 128, 256]),
  SizePolicy.table([16, 80, 160, 280], { borrow: 1 })
]

interface Settings {
  readonly capacityBytes: number
  readonly granularity: number
  readonly lateFree: boolean
  readonly policy: number
  readonly maxBytes: number
  readonly maxHeldBytes: number | undefined
  readonly maxOvertakes: number
  readonly clear: "never" | "acquire"
  readonly idle: boolean
  readonly budgets: ReadonlyArray<number>
  /** Whether all who wait are to be served in the end, or to be told that the pool is closed. */
  readonly drained: boolean
}

const settings: fc.Arbitrary<Settings> = fc.record({
  capacityBytes: fc.constantFrom(320, 500, 1_000_000),
  granularity: fc.constantFrom(1, 4),
  lateFree: fc.boolean(),
  policy: fc.nat(policies.length - 1),
  maxBytes: fc.constantFrom(300, 400, 600, Infinity),
  maxHeldBytes: fc.constantFrom(undefined, undefined, 0, 150),
  maxOvertakes: fc.constantFrom(0, 1, 16),
  clear: fc.constantFrom("never", "never", "acquire"),
  idle: fc.boolean(),
  budgets: fc.constantFrom([], [300], [400, 200], [400, 300, 250]),
  drained: fc.boolean()
})

const underPressure = Effect.fnUntraced(function*(given: Settings, scheduler: CountingScheduler) {
  const places: Array<Place> = []
  const opened = yield* open({
    host: { capacityBytes: given.capacityBytes, granularity: given.granularity, lateFree: given.lateFree },
    pool: {
      sizePolicy: policies[given.policy],
      maxBytes: given.maxBytes,
      maxHeldBytes: given.maxHeldBytes,
      maxOvertakes: given.maxOvertakes,
      clear: given.clear,
      idleTimeToLive: given.idle ? "2 seconds" : undefined,
      onExhausted: "wait",
      // The model of standstills is another one.
      suspectAfter: Infinity
    },
    // Also in the midst of a step: whenever the driver is asked.
    allocator: decorated((allocator) => ({
      ...allocator,
      allocate: (bytes, options) =>
        Effect.suspend(() => {
          for (const place of places) staysWithinLimit(place)
          return allocator.allocate(bytes, options)
        })
    }))
  })
  places.push({ pool: opened.pool, parent: undefined, used: 0n })
  for (const limit of given.budgets) {
    const parent = places.at(-1)!
    places.push({ pool: yield* parent.pool.budget(limit), parent, used: 0n })
  }
  const context = yield* Effect.context<never>()
  const real: Pressed = {
    ...opened,
    scheduler,
    handlersAtWork: 0,
    run: (command) => Effect.runPromiseWith(context)(command),
    history: { closed: false, lost: false, driverErrors: false, dyingHandlers: false },
    places,
    clients: [],
    scopes: [Scope.makeUnsafe(), Scope.makeUnsafe(), Scope.makeUnsafe()],
    requests: [],
    handlers: [],
    background: []
  }
  return real
})

/** Nobody hangs, nobody ends without a typed error, and no driver object is left. */
const close = Effect.fnUntraced(function*(real: Pressed) {
  real.history.closed = true
  yield* real.closePool
  yield* restLawsHold(real)
  // A handler at work is the program's own, and no waiter.
  yield* TestClock.adjust("1 second")
  for (const { finished } of real.requests) yield* Deferred.succeed(finished, undefined)
  for (const request of real.requests) {
    yield* Fiber.await(request.fiber)
    endedWell(request, real.history)
  }
  for (const fiber of real.background) yield* Fiber.join(fiber)
  for (const scope of real.scopes) yield* Scope.close(scope, Exit.void)
  for (const { pool } of real.places) {
    const { activeBytes, activeBlocks, managedBytes, reservedBytes, waiters } = yield* pool.stats
    deepStrictEqual([activeBlocks, activeBytes, managedBytes, reservedBytes, waiters], [0, 0, 0, 0, 0])
  }
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

it("stays within its limits, and forgets nobody, whatever comes between", () =>
  fc.assert(
    fc.asyncProperty(settings, fc.commands(commands, { maxCommands: 60, size: "max" }), (given, run) =>
      counted((scheduler) =>
        Effect.gen(function*() {
          const real = yield* underPressure(given, scheduler)
          yield* Effect.promise(() =>
            fc.asyncModelRun(() => ({ model: {}, real }), run)
          )
          if (given.drained) yield* drain(real)
          yield* close(real)
        })
      ).pipe(Effect.provide([TestClock.layer(), logsTo([])]), Effect.runPromise)),
    { numRuns: 300 }
  ))
