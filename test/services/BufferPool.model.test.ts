import { it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import { logsTo, open } from "../support/hostPool.ts"
import { commands, type Real } from "../support/poolCommands.ts"
import { type ModelPolicy, ModelScope, PoolModel } from "../support/poolModel.ts"

// Policies, each beside its meaning in plain arithmetic.

const log2 = (n: bigint): bigint => BigInt(n.toString(2).length - 1)

const leadingBits = (bits: bigint) => (request: bigint): bigint =>
  log2(request) <= bits ? request : request | ((1n << (log2(request) - bits)) - 1n)

const tableSizes = [8, 48, 64, 112, 256, 320, 512, 768, 1536]

const policies: ReadonlyArray<readonly [SizePolicy.SizePolicy, ModelPolicy]> = [
  [SizePolicy.exact, { blockSize: (request) => request, borrowHalves: 0n }],
  [SizePolicy.leadingBits(2), { blockSize: leadingBits(2n), borrowHalves: 0n }],
  [
    SizePolicy.sizeClasses(1, { borrow: 1 }),
    { blockSize: (request) => request <= 1n ? 1n : leadingBits(1n)(request - 1n) + 1n, borrowHalves: 2n }
  ],
  [
    SizePolicy.table(tableSizes, { borrow: 0.5 }),
    {
      blockSize: (request) => tableSizes.map(BigInt).find((size) => size >= request) ?? request,
      borrowHalves: 1n
    }
  ]
]

interface Settings {
  readonly policy: number
  readonly granularity: number
  readonly maxBytes: number | undefined
  readonly capacityBytes: number
  readonly lateFree: boolean
  readonly clear: "never" | "acquire"
}

const settings: fc.Arbitrary<Settings> = fc.record({
  policy: fc.nat(policies.length - 1),
  granularity: fc.constantFrom(1, 4),
  maxBytes: fc.constantFrom(undefined, 1500, 3000),
  capacityBytes: fc.constantFrom(1600, 3200, 1_000_000),
  lateFree: fc.boolean(),
  clear: fc.constantFrom("never", "acquire")
})

const maxBufferSize = 3200

const setup = (given: Settings) => {
  const [policy, modelPolicy] = policies[given.policy]!
  const model = new PoolModel({
    policy: modelPolicy,
    granularity: BigInt(given.granularity),
    maxBufferSize: BigInt(maxBufferSize),
    maxBytes: given.maxBytes === undefined ? undefined : BigInt(given.maxBytes),
    capacityBytes: BigInt(given.capacityBytes),
    lateFree: given.lateFree
  })
  model.scopes.push(new ModelScope(), new ModelScope())
  const { capacityBytes, clear, granularity, lateFree, maxBytes } = given
  const opened = open({
    host: { capacityBytes, granularity, lateFree, maxBufferSize },
    pool: { sizePolicy: policy, clear, maxBytes }
  })
  return Effect.zipWith(opened, Effect.context<never>(), (pool, context): { model: PoolModel; real: Real } => ({
    model,
    real: {
      ...pool,
      run: (command) => Effect.runPromiseWith(context)(Effect.provide(command, pool.context)),
      usedBytes: Effect.provide(Host.usedBytes, pool.context),
      scopes: model.scopes.map(() => Scope.makeUnsafe()),
      leases: [],
      pending: []
    }
  }))
}

/** However a run ended, everything can be closed, and then nothing is left at the driver. */
const close = Effect.fnUntraced(function*({ pending, scopes, ...real }: Real) {
  yield* Fiber.interruptAll(pending.map(({ fiber }) => fiber))
  yield* real.closePool
  for (const scope of scopes) yield* Scope.close(scope, Exit.void)
  const { activeBytes, managedBlocks, reservedBytes } = yield* real.pool.stats
  deepStrictEqual([managedBlocks, activeBytes, reservedBytes], [0, 0, 0])
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

it("agrees with a naive model in every counter, after every command", () =>
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
  ), 60_000)
