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
import { decorated, logsTo, open } from "../support/hostPool.ts"
import { commands as pressing, drain, endedWell, type Pressed } from "../support/pressureCommands.ts"
import { type Place, restLawsHold, staysWithinLimit } from "../support/pressureLaws.ts"
import { commands, type WaitingReal } from "../support/waitingCommands.ts"
import { WaitingModel } from "../support/waitingModel.ts"

// In a simple setting everything can be predicted.

interface Settings {
  readonly maxBytes: number
  readonly maxHeldBytes: number | undefined
  readonly maxOvertakes: number
  /** Limits of budgets, each within the one before it. */
  readonly budgets: ReadonlyArray<number>
  readonly idle: { readonly steps: number; readonly stepMillis: number; readonly keepBytes: number } | undefined
}

const settings: fc.Arbitrary<Settings> = fc.record({
  maxBytes: fc.constantFrom(60, 100, 120),
  maxHeldBytes: fc.constantFrom(undefined, undefined, 0, 20, 50),
  maxOvertakes: fc.constantFrom(0, 1, 2, 16),
  budgets: fc.constantFrom([], [80], [60, 60], [80, 60, 60]),
  idle: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    { steps: 1, stepMillis: 1000, keepBytes: 0 },
    { steps: 4, stepMillis: 500, keepBytes: 0 },
    { steps: 3, stepMillis: 700, keepBytes: 30 }
  )
})

const setup = Effect.fnUntraced(function*({ budgets, idle, maxBytes, maxHeldBytes, maxOvertakes }: Settings) {
  const model = new WaitingModel({
    maxBytes: BigInt(maxBytes),
    maxHeldBytes: maxHeldBytes === undefined ? undefined : BigInt(maxHeldBytes),
    maxOvertakes,
    idle: idle && { steps: BigInt(idle.steps), stepMillis: idle.stepMillis, keepBytes: BigInt(idle.keepBytes) }
  })
  model.openScope()
  model.openScope()
  const opened = yield* open({
    pool: {
      maxBytes,
      maxHeldBytes,
      maxOvertakes,
      idleTimeToLive: idle && idle.steps * idle.stepMillis,
      idleSteps: idle?.steps,
      idleKeepBytes: idle?.keepBytes
    }
  })
  const places = [opened.pool]
  for (const limit of budgets) {
    model.openBudget(BigInt(limit), model.places.at(-1)!)
    places.push(yield* places.at(-1)!.budget(limit))
  }
  const context = yield* Effect.context<never>()
  const real: WaitingReal = {
    ...opened,
    run: (command) => Effect.runPromiseWith(context)(command),
    places,
    scopes: model.scopes.map(() => Scope.makeUnsafe()),
    requests: [],
    handlers: []
  }
  return { model, real }
})

/** However a run ended: those who wait are told that the pool is closed, and nothing is left of anybody. */
const close = Effect.fnUntraced(function*({ places, requests, scopes, ...real }: WaitingReal) {
  yield* real.closePool
  for (const { finished } of requests) yield* Deferred.succeed(finished, undefined)
  for (const { fiber } of requests) yield* Fiber.await(fiber)
  for (const scope of scopes) yield* Scope.close(scope, Exit.void)
  for (const place of places) {
    const { activeBytes, activeBlocks, managedBytes, reservedBytes, waiters } = yield* place.stats
    deepStrictEqual([activeBlocks, activeBytes, managedBytes, reservedBytes, waiters], [0, 0, 0, 0, 0])
  }
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

it("agrees with a naive model in what becomes of every request, and when", () =>
  fc.assert(
    fc.asyncProperty(settings, fc.commands(commands, { maxCommands: 80, size: "max" }), (given, run) =>
      Effect.gen(function*() {
        const { model, real } = yield* setup(given)
        yield* Effect.promise(() =>
          fc.asyncModelRun(() => ({ model, real }), run)
        )
        yield* close(real)
      }).pipe(Effect.provide([TestClock.layer(), logsTo([])]), Effect.runPromise)),
    { numRuns: 300 }
  ))

// In all others laws hold.

const policies = [
  SizePolicy.defaultPolicy,
  SizePolicy.leadingBits(1),
  SizePolicy.table([64, 128, 256]),
  SizePolicy.table([16, 80, 160, 280], { borrow: 1 })
]

interface PressureSettings {
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

const pressure: fc.Arbitrary<PressureSettings> = fc.record({
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

const underPressure = Effect.fnUntraced(function*(given: PressureSettings) {
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
      onExhausted: "wait"
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
const release = Effect.fnUntraced(function*(real: Pressed) {
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
    fc.asyncProperty(pressure, fc.commands(pressing, { maxCommands: 60, size: "max" }), (given, run) =>
      Effect.gen(function*() {
        const real = yield* underPressure(given)
        yield* Effect.promise(() =>
          fc.asyncModelRun(() => ({ model: {}, real }), run)
        )
        if (given.drained) yield* drain(real)
        yield* release(real)
      }).pipe(Effect.provide([TestClock.layer(), logsTo([])]), Effect.runPromise)),
    { numRuns: 300 }
  ))
