import { assert, describe, it } from "@effect/vitest"
import { idleDecay, type PoolBlock, PoolCore, type PoolCoreOptions } from "../../src/domain/pool/PoolCore.ts"

type Core = PoolCore<string>

const active = (core: Core, size: number, value = String(size)): PoolBlock<string> => {
  assert.isTrue(core.addPending(size))
  return core.addActive(0, size, value, size)
}

const held = (core: Core, size: number, value = String(size)): PoolBlock<string> => {
  assert.isTrue(core.addPending(size))
  return core.addHeld(0, size, value)
}

const free = (core: Core, block: PoolBlock<string> | undefined): string | undefined => {
  if (block !== undefined) core.freed(block)
  return block?.value
}

const freeAll = (core: Core, blocks: Iterable<PoolBlock<string>>): Array<string | undefined> =>
  Array.from(blocks, (block) => free(core, block))

/** The owner's loop after a block became held. */
const freeExcess = (core: Core): Array<string | undefined> => {
  const values: Array<string | undefined> = []
  while (core.excessHeld) values.push(free(core, core.evictOldest()))
  return values
}

const drainOldest = (core: Core): Array<string | undefined> =>
  Array.from({ length: core.heldBlocks }, () => free(core, core.evictOldest()))

describe("PoolCore.addPending", () => {
  it("gives what the limit leaves to the byte, of managed and pending bytes together, and of a limit outside", () => {
    for (const outside of [undefined, { leftBytes: 100 }]) {
      const core: Core = new PoolCore({ maxBytes: outside === undefined ? 100 : 1000 })
      core.outer = outside
      assert.isFalse(core.addPending(101))
      active(core, 60)
      assert.isFalse(core.addPending(41))
      assert.isTrue(core.addPending(30))
      assert.isFalse(core.addPending(11))
      assert.strictEqual(core.deficit(11), 1)
      assert.isTrue(core.addPending(10))
      assert.isFalse(core.addPending(1))
    }
  })
})

describe("PoolCore.setMaxBytes", () => {
  it("hands back what is released while the pool is above the limit, and holds again at the limit", () => {
    const core: Core = new PoolCore()
    const [a, b, c] = [active(core, 60, "a"), active(core, 60, "b"), active(core, 40, "c")]
    core.setMaxBytes(100)
    assert.isFalse(core.addPending(1))
    assert.strictEqual(core.release(a), a)
    core.freed(a)
    assert.strictEqual(core.managedBytes, 100)
    assert.isUndefined(core.release(b))
    core.setMaxBytes(99)
    assert.strictEqual(core.release(c), c)
  })

  it("counts reservations, and ends an excess with the one that fails", () => {
    const core: Core = new PoolCore({ maxBytes: 200 })
    const [a, b] = [active(core, 60), active(core, 40)]
    assert.isTrue(core.addPending(100))
    core.setMaxBytes(150)
    assert.strictEqual(core.deficit(1), 51)
    core.removePending(40)
    assert.strictEqual(core.release(a), a)
    core.removePending(60)
    assert.isUndefined(core.release(b))
  })

  it("does not take a reservation that becomes a block for the end of an excess", () => {
    const core: Core = new PoolCore({ maxBytes: 200 })
    const [a, b] = [active(core, 50), active(core, 50)]
    assert.isTrue(core.addPending(100))
    core.setMaxBytes(150)
    const late = core.addActive(0, 100, "late", 100)
    assert.strictEqual(core.release(a), a)
    core.freed(a)
    assert.isUndefined(core.release(b))
    assert.isUndefined(core.release(late))
  })

  it("does not hold what nobody waits for any more while the pool is above the limit", () => {
    const core: Core = new PoolCore({ maxBytes: 200 })
    assert.isTrue(core.addPending(100))
    core.setMaxBytes(50)
    const late = core.addHeld(0, 100, "late")
    assert.strictEqual(late.state, "detached")
    core.freed(late)
    assert.strictEqual(core.managedBytes, 0)
  })

  it("still serves hits above the limit, and holds again when the limit is raised", () => {
    const core: Core = new PoolCore()
    held(core, 60)
    core.setMaxBytes(10)
    const hit = core.acquire(0, 60, 60, 60)!
    core.setMaxBytes(Infinity)
    assert.isUndefined(core.release(hit))
  })

  it("does not hold in a pool that stopped holding, wherever the limits go", () => {
    const core: Core = new PoolCore()
    const block = active(core, 60)
    core.stopHolding()
    core.setMaxBytes(100)
    core.setMaxHeldBytes(100)
    assert.strictEqual(core.release(block), block)
  })
})

describe("PoolCore.trim", () => {
  it("frees just enough: 2 of 10 held blocks for a request of one and a half", () => {
    const core: Core = new PoolCore({ maxBytes: 100 })
    for (let n = 0; n < 10; n++) held(core, 10)
    assert.strictEqual(freeAll(core, core.trim(100 - 15)).length, 2)
    assert.strictEqual(core.managedBytes, 80)
  })

  it("takes the smallest block that is enough, else the largest", () => {
    const core: Core = new PoolCore()
    for (const size of [10, 20, 30, 40]) held(core, size)
    assert.deepStrictEqual(freeAll(core, core.trim(85)), ["20"])
    assert.deepStrictEqual(freeAll(core, core.trim(30)), ["40", "10"])
    assert.deepStrictEqual(freeAll(core, core.trim(30)), [])
  })

  it("frees all that is held when the leases alone are more", () => {
    const core: Core = new PoolCore()
    active(core, 50)
    for (const size of [10, 20]) held(core, size)
    assert.deepStrictEqual(freeAll(core, core.trim(40)), ["20", "10"])
    assert.deepStrictEqual(freeAll(core, core.trim(0)), [])
    assert.strictEqual(core.managedBytes, 50)
  })
})

describe("PoolCore.maxHeldBytes", () => {
  it("lets the longest held blocks go first", () => {
    const core: Core = new PoolCore({ maxHeldBytes: 100 })
    const [a, b, c, d] = [active(core, 30, "a"), active(core, 60, "b"), active(core, 30, "c"), active(core, 100, "d")]
    for (const block of [b, a]) assert.isUndefined(core.release(block))
    assert.deepStrictEqual(freeExcess(core), [])
    assert.isUndefined(core.release(c))
    assert.deepStrictEqual(freeExcess(core), ["b"])
    assert.isUndefined(core.release(d))
    assert.deepStrictEqual(freeExcess(core), ["a", "c"])
    assert.strictEqual(core.heldBytes, 100)
  })

  it("counts the time since the last release", () => {
    const core: Core = new PoolCore({ maxHeldBytes: 100 })
    held(core, 40, "a")
    held(core, 50, "b")
    assert.isUndefined(core.release(core.acquire(0, 40, 40, 40)!))
    held(core, 20, "c")
    assert.deepStrictEqual(freeExcess(core), ["b"])
  })

  it("never keeps a block that is larger than all that may be held", () => {
    const core: Core = new PoolCore({ maxHeldBytes: 100 })
    held(core, 60)
    const [large, exact] = [active(core, 101), active(core, 100)]
    assert.strictEqual(core.release(large), large)
    assert.strictEqual(held(core, 200).state, "detached")
    assert.isFalse(core.excessHeld)
    assert.isUndefined(core.release(exact))
    const none: Core = new PoolCore({ maxHeldBytes: 0 })
    assert.isDefined(none.release(active(none, 1)))
  })

  it("is changed while blocks are held: without a known order the smallest go first", () => {
    const core: Core = new PoolCore()
    for (const [size, value] of [[64, "a"], [16, "b"], [64, "c"], [32, "d"]] as const) held(core, size, value)
    assert.strictEqual(core.maxHeldBytes, Infinity)
    core.setMaxHeldBytes(140)
    assert.deepStrictEqual(freeExcess(core), ["b", "d"])
    assert.strictEqual(core.acquire(0, 64, 64, 64)?.value, "c")
    assert.strictEqual(core.acquire(0, 64, 64, 64)?.value, "a")
    assert.isDefined(core.release(active(core, 141)))
    core.setMaxHeldBytes(Infinity)
    assert.isUndefined(core.release(active(core, 141)))
  })
})

describe("PoolCore.evictOldest", () => {
  it("needs a pool that keeps its blocks in order", () => {
    for (const options of [undefined, { recency: false }, { maxHeldBytes: Infinity }]) {
      const core: Core = new PoolCore(options)
      assert.throws(() => core.evictOldest(), /option recency/)
    }
    const ordered: ReadonlyArray<PoolCoreOptions> = [
      { recency: true },
      { maxHeldBytes: 100 },
      { idle: idleDecay({ steps: 1, keepBytes: 0 }) }
    ]
    for (const options of ordered) assert.isUndefined(new PoolCore(options).evictOldest())
  })

  it("goes together with hits and with the other evictions", () => {
    const core: Core = new PoolCore({ recency: true })
    for (const [size, value] of [[8, "a"], [16, "b"], [8, "c"], [32, "d"], [8, "e"], [16, "f"]] as const) {
      held(core, size, value)
    }
    assert.strictEqual(free(core, core.evictNext()), "d")
    assert.strictEqual(free(core, core.evictNext(9)), "f")
    assert.strictEqual(free(core, core.evictOldest()), "a")
    const hit = core.acquire(0, 8, 8, 8)
    assert.strictEqual(hit?.value, "e")
    assert.deepStrictEqual(drainOldest(core), ["b", "c"])
    core.release(hit!)
    assert.deepStrictEqual(drainOldest(core), ["e"])
  })

  it("leaves no bin behind", () => {
    const core: Core = new PoolCore({ recency: true })
    for (let size = 1; size <= 1000; size++) held(core, size * 7919)
    assert.deepStrictEqual(drainOldest(core), Array.from({ length: 1000 }, (_, n) => String((n + 1) * 7919)))
    assert.strictEqual(core["bins"]["families"].size, 0)
    assert.isTrue(core["bins"]["rows"].isEmpty)
  })
})

describe("PoolCore.stats", () => {
  it("has the waiters that the owner counts", () => {
    const core: Core = new PoolCore()
    core.waiters = 3
    assert.strictEqual(core.stats().waiters, 3)
  })
})

describe("PoolCore.releases", () => {
  it("counts every lease that ended", () => {
    const core: Core = new PoolCore()
    const [a, b] = [active(core, 8), active(core, 16)]
    assert.strictEqual(core.releases, 0)
    core.release(a)
    core.discard(b)
    core.release(core.acquire(0, 8, 8, 8)!)
    assert.strictEqual(core.releases, 3)
  })
})
