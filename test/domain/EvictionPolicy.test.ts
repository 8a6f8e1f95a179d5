import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as EvictionPolicy from "../../src/domain/pool/EvictionPolicy.ts"
import { type PoolBlock, PoolCore } from "../../src/domain/pool/PoolCore.ts"
import { runs } from "../support/explore.ts"
import { stepsTaken } from "../support/stepsTaken.ts"

const policies = [
  EvictionPolicy.byNeed,
  EvictionPolicy.largestFirst,
  EvictionPolicy.oldestFirst,
  EvictionPolicy.leastRecentlyUsed
]

type Core = PoolCore<string, string>

const make = (core: Core, size: number, value = `${size}`, family = "f"): PoolBlock<string, string> => {
  assert.isTrue(core.addPending(size))
  return core.addActive(family, size, value, size)
}

const hold = (core: Core, sizes: ReadonlyArray<number>): void => {
  for (const block of sizes.map((size, index) => make(core, size, `${size}.${index}`))) core.release(block)
}

const use = (core: Core, size: number): void => {
  core.release(core.acquire("f", size, size, size)!)
}

/** The names of the blocks in the order of eviction, while `missing` bytes are missing. */
const going = (core: Core, missing: number | undefined): ReadonlyArray<string> =>
  Array.from({ length: core.heldBlocks }, () => {
    const block = core.evictNext(missing)!
    core.freed(block)
    return block.value
  })

/**
 * The evicted blocks after a fixed history: two blocks of 10 bytes are active, and larger ones were released in
 * between.
 */
const goes = (eviction: EvictionPolicy.EvictionPolicy | undefined, missing: number | undefined) => {
  const core: Core = new PoolCore({ eviction })
  hold(core, [10, 10, 40, 20, 20])
  use(core, 10)
  use(core, 20)
  return going(core, missing)
}

describe("EvictionPolicy", () => {
  it("each names itself and its orders", () => {
    assert.deepStrictEqual(
      policies.map(({ name, whenKnown, whenUnknown }) => [name, whenKnown, whenUnknown]),
      ["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"].map((name) => [name, name, name])
    )
  })

  it("byNeed, the default: the smallest that covers what is missing, else the largest", () => {
    for (const policy of [undefined, EvictionPolicy.byNeed]) {
      assert.deepStrictEqual(goes(policy, 15), ["20.4", "20.3", "40.2", "10.1", "10.0"])
      assert.deepStrictEqual(goes(policy, undefined), ["40.2", "20.4", "20.3", "10.1", "10.0"])
    }
  })

  it("largestFirst: the largest, whatever is missing", () => {
    for (const missing of [15, undefined]) {
      assert.deepStrictEqual(goes(EvictionPolicy.largestFirst, missing), ["40.2", "20.4", "20.3", "10.1", "10.0"])
    }
  })

  it("oldestFirst: the one released the longest ago, in bins that are in use as well", () => {
    for (const missing of [15, undefined]) {
      assert.deepStrictEqual(goes(EvictionPolicy.oldestFirst, missing), ["10.0", "40.2", "20.3", "10.1", "20.4"])
    }
  })

  it("leastRecentlyUsed: all of the bin that was used the longest ago, then of the next", () => {
    for (const missing of [15, undefined]) {
      assert.deepStrictEqual(goes(EvictionPolicy.leastRecentlyUsed, missing), ["40.2", "10.1", "10.0", "20.4", "20.3"])
    }
  })

  it("leastRecentlyUsed: to hand a block out is a use of its bin, and to evict one is none", () => {
    const core: Core = new PoolCore({ eviction: EvictionPolicy.leastRecentlyUsed })
    hold(core, [10, 10, 20, 20, 30])
    // The lease is still live, and its bin still has a held block.
    assert.strictEqual(core.acquire("f", 10, 10, 10)?.value, "10.1")
    assert.deepStrictEqual(going(core, undefined), ["20.3", "20.2", "30.4", "10.0"])
  })

  it("leastRecentlyUsed: bins of one size and several families each have their own use", () => {
    const core: Core = new PoolCore({ eviction: EvictionPolicy.leastRecentlyUsed })
    const blocks = ["f", "g"].map((family) => make(core, 10, family, family))
    for (const block of blocks) core.release(block)
    use(core, 10)
    assert.deepStrictEqual(going(core, 5), ["g", "f"])
  })

  it("one of one's own has an order for what is known and another for what is not", () => {
    const own = { name: "own", whenKnown: "byNeed", whenUnknown: "oldestFirst" } as const
    assert.deepStrictEqual(goes(own, 15), goes(EvictionPolicy.byNeed, 15))
    assert.deepStrictEqual(goes(own, undefined), goes(EvictionPolicy.oldestFirst, undefined))
    const other = { name: "other", whenKnown: "leastRecentlyUsed", whenUnknown: "largestFirst" } as const
    assert.deepStrictEqual(goes(other, 15), goes(EvictionPolicy.leastRecentlyUsed, 15))
    assert.deepStrictEqual(goes(other, undefined), goes(EvictionPolicy.largestFirst, undefined))
  })

  it("is read once, when the pool is made", () => {
    const own = { ...EvictionPolicy.largestFirst }
    const core: Core = new PoolCore({ eviction: own })
    own.whenUnknown = "oldestFirst"
    hold(core, [10, 20])
    assert.deepStrictEqual(going(core, undefined), ["20.1", "10.0"])
  })

  it("leaves to maxHeldBytes the longest held, and starts its count from the smallest one", () => {
    for (const eviction of policies) {
      const core: Core = new PoolCore({ eviction, maxHeldBytes: 60 })
      hold(core, [10, 40, 20])
      assert.strictEqual(core.evictOldest()?.value, "10.0")
    }
    const late: Core = new PoolCore({ eviction: EvictionPolicy.largestFirst })
    hold(late, [20, 10, 40])
    late.setMaxHeldBytes(60)
    assert.strictEqual(late.evictOldest()?.value, "10.1")
  })
})

const anySizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 })

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, n) => total + n, 0)

/** The fewest sizes that cover the missing bytes. */
const fewest = (sizes: ReadonlyArray<number>, missing: number): number => {
  const largest = [...sizes].sort((a, b) => b - a)
  return sizes.findIndex((_, index) => sum(largest.slice(0, index + 1)) >= missing) + 1
}

const trimmed = (eviction: EvictionPolicy.EvictionPolicy, sizes: ReadonlyArray<number>, missing: number) => {
  const core: Core = new PoolCore({ eviction })
  hold(core, sizes)
  const gone: Array<number> = []
  for (const block of core.trim(core.managedBytes - missing)) {
    gone.push(block.capacity)
    core.freed(block)
  }
  return { core, gone }
}

describe("making room", () => {
  it("takes what is missing and less than one block more, under every policy", () => {
    fc.assert(fc.property(fc.constantFrom(...policies), anySizes, fc.nat(600), (policy, sizes, missing) => {
      const { core, gone } = trimmed(policy, sizes, missing)
      assert.isTrue(sum(gone) >= missing || core.heldBlocks === 0, "too little")
      assert.isTrue(gone.length === 0 || sum(gone.slice(0, -1)) < missing, "too much")
    }))
  })

  it("takes the fewest blocks that do, by need", () => {
    fc.assert(fc.property(anySizes, fc.nat(600), (sizes, missing) => {
      fc.pre(missing > 0 && missing <= sum(sizes))
      const { gone } = trimmed(EvictionPolicy.byNeed, sizes, missing)
      assert.strictEqual(gone.length, fewest(sizes, missing))
    }))
  })
})

/** The steps that it takes to evict the first hundred of `held` blocks of different sizes, half of which are active. */
const stepsOf = (eviction: EvictionPolicy.EvictionPolicy, held: number, missing: number | undefined): number => {
  const core: Core = new PoolCore({ eviction })
  const size = (n: number) => 1 + (n * 7919) % held
  for (let n = 0; n < held; n++) {
    core.addPending(size(n))
    core.addHeld(n % 3 === 0 ? "f" : "g", size(n), "")
  }
  for (let n = 0; n < held; n += 2) {
    const block = core.acquire(n % 3 === 0 ? "f" : "g", size(n), 1, size(n))!
    // Some bins are left empty but marked: a search that finds one unmarks it.
    if (n % 4 === 0) core.release(block)
  }
  return stepsTaken("src/domain/", () => {
    for (let n = 0; n < 100; n++) core.freed(core.evictNext(missing)!)
  })
}

describe("an eviction", () => {
  it.each(policies)("takes as many steps however many blocks are held: $name", (policy) => {
    for (const missing of [undefined, 1, 2 ** 40]) {
      const few = stepsOf(policy, 1000, missing)
      const many = stepsOf(policy, runs(100_000, 20_000), missing)
      assert.isAbove(few, 100)
      assert.isBelow(many, 2 * few)
    }
  })
})
