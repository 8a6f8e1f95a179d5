import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ArenaCore, type ArenaCoreOptions } from "../../src/domain/pool/arena/ArenaCore.ts"
import { ArenaWorld, type Memory, type Way } from "../support/arenaModel.ts"
import { runs } from "../support/explore.ts"

const unit = 16

const coreOf = (options: Partial<ArenaCoreOptions<Memory, string>> = {}): ArenaCore<Memory, string> =>
  new ArenaCore({ unit, part: ({ slab }, begin, bytes) => ({ slab, begin, bytes }), ...options })

type Step = (world: ArenaWorld) => void

const pick = (world: ArenaWorld, at: number): number => at % world.leases.length

const anyFamily = fc.constantFrom("storage", "uniform")

const anyRequest = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 600 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 1, arbitrary: fc.integer({ min: 600, max: 6000 }) }
)

const anyWay = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Way>("shared") },
  { weight: 1, arbitrary: fc.constantFrom<Way>("alone", "tight") }
)

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.tuple(anyFamily, anyRequest, anyWay).map(([family, request, way]): Step => (world) =>
      world.lease(family, request, way)
    )
  },
  {
    weight: 10,
    arbitrary: fc.nat().map((at): Step => (world) => {
      if (world.leases.length > 0) world.end(pick(world, at), false)
    })
  },
  {
    weight: 1,
    arbitrary: fc.nat().map((at): Step => (world) => {
      if (world.leases.length > 0) world.end(pick(world, at), true)
    })
  },
  {
    weight: 1,
    arbitrary: fc.nat(20_000).map((to): Step => (world) => {
      for (const block of world.core.trim(to)) world.freed(block)
      if (world.core.evictableBytes > 0) assert.isAtMost(world.core.managedBytes, to)
    })
  },
  {
    weight: 1,
    arbitrary: fc.option(fc.nat(3000), { nil: undefined }).map((missing): Step => (world) => {
      const { evictableBytes } = world.core
      const block = world.core.evictNext(missing)
      assert.strictEqual(block === undefined, evictableBytes === 0)
      if (block !== undefined) world.freed(block)
    })
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(3000, 20_000, Infinity).map((limit): Step => (world) => world.core.setMaxBytes(limit))
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map((holds): Step => ({ core }) => holds ? core.resumeHolding() : core.stopHolding())
  },
  {
    weight: 1,
    arbitrary: anyFamily.map((family): Step => (world) => {
      for (const block of world.core.evictFamilies((one) => one === family)) world.freed(block)
    })
  }
)

const anyOptions = fc.record({
  slabBytes: fc.constantFrom(undefined, 256, 1024),
  growth: fc.constantFrom(0, 0.1),
  maxBytes: fc.constantFrom(undefined, 8192),
  maxHeldBytes: fc.constantFrom(undefined, 0, 2000),
  outgrown: fc.constantFrom(undefined, { mostLeasedBytes: 0, missedBytes: 0 })
})

const slab = (core: ArenaCore<Memory, string>, bytes: number, request: number) => {
  assert.isTrue(core.addPending(bytes))
  return core.addActive("storage", bytes, { slab: core.driverAllocations, begin: 0, bytes }, request)
}

describe("ArenaCore", () => {
  it("leases no byte twice, loses none, and merges what is free, whatever is done to it", () => {
    const property = fc.property(anyOptions, fc.array(anyStep, { size: "+2", maxLength: 200 }), (options, steps) => {
      const world = new ArenaWorld(coreOf(options), unit)
      for (const step of steps) {
        step(world)
        world.check()
      }
      while (world.leases.length > 0) world.end(0, false)
      for (const block of world.core.evictAll()) world.freed(block)
      world.check()
      assert.strictEqual(world.core.managedBytes, 0)
    })
    fc.assert(property, { numRuns: runs(2000) })
  })

  it("finds a chunk that fits behind many of its class that do not, where the limit has no room for another slab", () => {
    const core = coreOf({ maxBytes: 2 ** 20, slabBytes: 2 ** 20 })
    // Chunks of 64 and 65 units are one class. The one of 65 comes into the index first, and is looked at last.
    const sizes = [65, ...Array.from({ length: 20 }, () => 64)]
    const first = slab(core, 2 ** 20, 16)
    const leases = sizes.map((units) => {
      const lease = core.acquireOwn("storage", 2 ** 20, units * unit)!
      core.acquireOwn("storage", 2 ** 20, unit)
      return lease
    })
    const rest = core.acquireOwn("storage", 2 ** 20, core.largestHeld)
    for (const lease of leases) core.release(lease)
    assert.isDefined(rest)
    assert.strictEqual(core.acquireOwn("storage", 2 ** 20, 65 * unit)?.capacity, 65 * unit)
    core.release(first)
  })

  it("names the most bytes of a free chunk, whichever of its class came back last", () => {
    for (const order of [[36, 32], [32, 36]]) {
      const core = coreOf({ slabBytes: 256 })
      const slabs = order.map((rest) => slab(core, 64 + rest, 64))
      assert.strictEqual(core.largestHeld, 36)
      for (const one of slabs) core.release(one)
    }
  })

  it("gives no part beside leases while more is managed than a lowered limit allows", () => {
    const core = coreOf({ slabBytes: 4096 })
    const [one, two] = [slab(core, 4096, 100), slab(core, 4096, 4096)]
    core.setMaxBytes(5000)
    assert.isUndefined(core.acquireOwn("storage", 4096, 100))
    assert.isUndefined(core.acquireBeside("storage", 100))
    core.freed(core.release(two)!)
    assert.strictEqual(core.acquireOwn("storage", 4096, 100)?.capacity, 112)
    core.release(one)
  })

  it("counts what is requested of memory that it does not split", () => {
    const core = coreOf({ splits: (family) => family === "storage" })
    core.addPending(4096)
    const whole = core.addActive("staging", 4096, { slab: 0, begin: 0, bytes: 4096 }, 1000)
    assert.deepStrictEqual([core.activeBytes, core.paddingBytes], [1000, 3096])
    core.release(whole)
    assert.deepStrictEqual([core.activeBytes, core.heldBytes], [0, 4096])
    const again = core.acquireOwn("staging", 4096, 2000)!
    assert.strictEqual(core.activeBytes, 2000)
    core.release(again)
    assert.strictEqual(core.activeBytes, 0)
  })
})
