import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { EvictionOrder } from "../../src/domain/pool/EvictionPolicy.ts"
import { counted, type CountingScheduler } from "../support/CountingScheduler.ts"
import { runs } from "../support/explore.ts"
import { logsTo } from "../support/hostPool.ts"
import { type Kind, modelled, open } from "../support/sizedPools.ts"
import { commands, type WaitingReal } from "../support/waitingCommands.ts"
import { WaitingModel } from "../support/waitingModel.ts"

interface Settings {
  readonly maxBytes: number
  readonly maxHeldBytes: number | undefined
  readonly maxBypasses: number
  readonly eviction: EvictionOrder
  /** Limits of budgets, each within the one before it. */
  readonly budgets: ReadonlyArray<number>
  readonly idle: { readonly steps: number; readonly stepMillis: number; readonly keepBytes: number } | undefined
}

const common = {
  maxBytes: fc.constantFrom(60, 100, 120),
  maxHeldBytes: fc.constantFrom(undefined, undefined, 0, 20, 50),
  maxBypasses: fc.constantFrom(0, 1, 2, 16),
  eviction: fc.constantFrom<Array<EvictionOrder>>("byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed")
}

const idle = fc.constantFrom(
  { steps: 1, stepMillis: 100_000, keepBytes: 0 },
  { steps: 4, stepMillis: 50_000, keepBytes: 0 },
  { steps: 3, stepMillis: 70_000, keepBytes: 30 }
)

/** It is not specified whether a budget's block is released before or after a tick in the same turn. */
const settings: fc.Arbitrary<Settings> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      ...common,
      budgets: fc.constantFrom([], [80], [60, 60], [80, 60, 60]),
      idle: fc.constant(undefined)
    })
  },
  { weight: 1, arbitrary: fc.record({ ...common, budgets: fc.constant([]), idle }) }
)

const setup = Effect.fnUntraced(function*(
  kind: Kind,
  { budgets, eviction, idle, maxBytes, maxHeldBytes, maxBypasses }: Settings,
  scheduler: CountingScheduler
) {
  const model = new WaitingModel({
    maxBytes: BigInt(maxBytes),
    maxHeldBytes: maxHeldBytes === undefined ? undefined : BigInt(maxHeldBytes),
    maxBypasses,
    eviction,
    idle: idle && { steps: BigInt(idle.steps), stepMillis: idle.stepMillis, keepBytes: BigInt(idle.keepBytes) }
  })
  model.openScope()
  model.openScope()
  const opened = yield* open(kind, {
    pool: {
      maxBytes,
      // Deadlocks have a model of their own.
      deadlockTimeout: Infinity,
      maxHeldBytes,
      maxBypasses,
      eviction: { name: eviction, whenKnown: eviction, whenUnknown: "byNeed" },
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
    kind,
    scheduler,
    run: (command) => Effect.runPromiseWith(context)(command),
    places,
    scopes: model.scopes.map(() => Scope.makeUnsafe()),
    requests: [],
    handlers: []
  }
  return { model, real }
})

/** Closes the pool, however the run ended: waiting requests fail with Released, and nothing is left. */
const close = Effect.fnUntraced(function*({ places, requests, scopes, ...real }: WaitingReal) {
  yield* real.closePool
  for (const { finished } of requests) yield* Deferred.succeed(finished, undefined)
  for (const { fiber } of requests) yield* Fiber.await(fiber)
  for (const scope of scopes) yield* Scope.close(scope, Exit.void)
  for (const place of places) {
    const { activeBytes, activeBlocks, managedBytes, pendingBytes, waiters } = yield* place.stats
    deepStrictEqual([activeBlocks, activeBytes, managedBytes, pendingBytes, waiters], [0, 0, 0, 0, 0])
  }
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

it.each(modelled)(
  "a pool of %s agrees with a naive model in what becomes of every request, and when",
  (kind) =>
    fc.assert(
      fc.asyncProperty(settings, fc.commands(commands, { maxCommands: 80, size: "max" }), (given, run) =>
        counted((scheduler) =>
          Effect.gen(function*() {
            const { model, real } = yield* setup(kind, given, scheduler)
            yield* Effect.promise(() =>
              fc.asyncModelRun(() => ({ model, real }), run)
            )
            yield* close(real)
          })
        ).pipe(Effect.provide([TestClock.layer(), logsTo([])]), Effect.runPromise)),
      { numRuns: runs(200) }
    )
)
