import { describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as EvictionPolicy from "../../src/domain/pool/EvictionPolicy.ts"
import { idleDecay, PoolCore, type PoolCoreOptions } from "../../src/domain/pool/PoolCore.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { runs } from "../support/explore.ts"
import { anyCommand, anyHeldCommand, type Real } from "../support/poolCoreCommands.ts"
import { Model } from "../support/poolCoreModel.ts"

const anyPolicy = fc.constantFrom(
  SizePolicy.exact,
  SizePolicy.leadingBits(2),
  SizePolicy.defaultPolicy,
  SizePolicy.sizeClasses(0, { borrow: 3 }),
  SizePolicy.table([16, 33, 64, 1024, 4096], { borrow: 0.5 })
)

const anyIdle = fc.record({ steps: fc.integer({ min: 1, max: 5 }), keepBytes: fc.constantFrom(0, 50, 5000) }).map(
  idleDecay
)

const anyOrder: fc.Arbitrary<EvictionPolicy.EvictionOrder> = fc.constantFrom(
  "byNeed",
  "largestFirst",
  "oldestFirst",
  "leastRecentlyUsed"
)

const anyEviction = fc.oneof(
  fc.constantFrom(
    undefined,
    EvictionPolicy.byNeed,
    EvictionPolicy.largestFirst,
    EvictionPolicy.oldestFirst,
    EvictionPolicy.leastRecentlyUsed
  ),
  fc.record({ name: fc.constant("own"), whenKnown: anyOrder, whenUnknown: anyOrder })
)

const anew = { mostLeasedBytes: 0, missedBytes: 0 }

const anyOptions: fc.Arbitrary<PoolCoreOptions> = fc.record({
  maxBytes: fc.constantFrom(undefined, 5000),
  maxHeldBytes: fc.constantFrom(undefined, Infinity, 0, 150, 3000),
  recency: fc.constantFrom(undefined, false, true),
  idle: fc.option(anyIdle, { nil: undefined }),
  eviction: anyEviction,
  outgrown: fc.constantFrom(undefined, anew, { mostLeasedBytes: 100, missedBytes: 50 })
})

/** Of sizes up to 40, most of which come again. */
const anyOutgrown: fc.Arbitrary<PoolCoreOptions> = fc.record({
  maxBytes: fc.constantFrom(undefined, 2000),
  eviction: anyEviction,
  outgrown: fc.constant(anew)
})

const anyAgeing: fc.Arbitrary<PoolCoreOptions> = fc.record({
  maxHeldBytes: fc.constantFrom(undefined, undefined, 400),
  idle: fc.record({ steps: fc.integer({ min: 1, max: 5 }), keepBytes: fc.constantFrom(0, 0, 50, 200) }).map(idleDecay),
  eviction: anyEviction
})

const anyByAge: fc.Arbitrary<PoolCoreOptions> = fc.record({
  maxHeldBytes: fc.constantFrom(undefined, undefined, 400),
  eviction: anyEviction
})

/** A core and its model, made with the same options, agree whatever is done to both. */
const agreement = (
  policies: fc.Arbitrary<SizePolicy.SizePolicy>,
  options: fc.Arbitrary<PoolCoreOptions>,
  commands: Array<fc.Arbitrary<fc.Command<Model, Real>>>
) =>
  fc.property(policies, options, fc.commands(commands, { size: "+1", maxCommands: 120 }), (policy, options, steps) => {
    fc.modelRun(() => ({
      model: new Model(options),
      real: { core: new PoolCore<number, string>(options), policy, active: new Map(), pending: [], nextId: 0, total: 0 }
    }), steps)
  })

describe("PoolCore", () => {
  it("does what the reference model does, counter by counter and block by block", () => {
    fc.assert(agreement(anyPolicy, anyOptions, anyCommand), { numRuns: runs(1000) })
  })

  it("does so where blocks come, go and grow old", () => {
    fc.assert(agreement(fc.constant(SizePolicy.table([8, 16, 40])), anyAgeing, anyHeldCommand), { numRuns: runs(250) })
  })

  it("does so where the program outgrows its blocks", () => {
    const policies = fc.constantFrom(SizePolicy.exact, SizePolicy.sizeClasses(1, { borrow: 1 }))
    fc.assert(agreement(policies, anyOutgrown, anyHeldCommand), { numRuns: runs(500) })
  })

  it("does so where blocks come, go and are evicted in every order", () => {
    fc.assert(agreement(fc.constant(SizePolicy.table([8, 16, 40])), anyByAge, anyHeldCommand), { numRuns: runs(500) })
  })
})
