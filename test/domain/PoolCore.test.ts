import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type PoolBlock, PoolCore } from "../../src/domain/pool/PoolCore.ts"
import { runs } from "../support/explore.ts"
import { largest } from "../support/poolCoreModel.ts"

const blockOf = (core: PoolCore<string>, family: number, size: number, value: string): PoolBlock<string> => {
  assert.isTrue(core.addPending(size))
  return core.addActive(family, size, value, size)
}

const holdOf = (core: PoolCore<string>, family: number, size: number, value: string): PoolBlock<string> => {
  assert.isTrue(core.addPending(size))
  return core.addHeld(family, size, value)
}

const drain = (core: PoolCore<string>): Array<string> => {
  const values: Array<string> = []
  for (const block of core.evictAll()) {
    values.push(block.value)
    core.freed(block)
  }
  return values
}

describe("PoolCore", () => {
  it("reuses the block that was released last", () => {
    const core = new PoolCore<string>()
    const [a, b, c] = ["a", "b", "c"].map((value) => blockOf(core, 0, 64, value))
    core.release(b!)
    core.release(c!)
    core.release(a!)
    assert.deepStrictEqual([1, 2, 3, 4].map(() => core.acquire(0, 64, 60, 64)?.value), ["a", "c", "b", undefined])
  })

  it("says how many a bin holds, of its family and size alone, and takes none", () => {
    const core = new PoolCore<string>()
    for (const value of ["a", "b"]) holdOf(core, 0, 64, value)
    holdOf(core, 1, 64, "other family")
    holdOf(core, 0, 128, "larger")
    assert.deepStrictEqual([1, 2, 3].map((blocks) => core.holds(0, 64, blocks)), [true, true, false])
    assert.isFalse(core.holds(0, 65, 1))
    assert.isDefined(core.acquire(0, 64, 60, 64))
    assert.deepStrictEqual([1, 2].map((blocks) => core.holds(0, 64, blocks)), [true, false])
    assert.deepStrictEqual([core.heldBlocks, core.hits], [3, 1])
  })

  it("borrows the smallest block that is large enough, within the limit, of the same family, and returns it home", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 2048, "2048")
    holdOf(core, 0, 1536, "1536")
    holdOf(core, 0, 512, "512")
    holdOf(core, 1, 1025, "other family")
    assert.isUndefined(core.acquire(0, 1024, 1000, 1024))
    assert.isUndefined(core.acquire(0, 1024, 1000, 1535))
    const borrowed = core.acquire(0, 1024, 1000, 1536)
    assert.strictEqual(borrowed?.value, "1536")
    assert.strictEqual(borrowed?.bin?.size, 1536)
    assert.strictEqual(core.acquire(0, 1024, 1000, 4096)?.value, "2048")
    assert.isUndefined(core.release(borrowed!))
    assert.strictEqual(core.acquire(0, 1536, 1500, 1536)?.value, "1536")
    assert.deepStrictEqual([core.hits, core.borrows, core.misses], [3, 2, 0])
  })

  it("prefers its own bin to a borrowed block", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 1024, "own")
    holdOf(core, 0, 1025, "larger")
    assert.strictEqual(core.acquire(0, 1024, 1, 4096)?.value, "own")
    assert.strictEqual(core.borrows, 0)
  })

  it("finds neighbours at every edge of the bitmaps", () => {
    const edges = [5, 8, 16, 24, 31, 32, 33, 48, 53].flatMap((k) =>
      [-1, 0, 1].map((d) => d + 2 ** k).filter((size) => size <= largest)
    )
    const core = new PoolCore<string>()
    const lone = (size: number) => {
      const block = holdOf(core, 0, size, String(size))
      assert.strictEqual(core.largestHeld, size)
      if (size > 1) assert.strictEqual(core.acquire(0, size - 1, 1, size)?.value, String(size))
      if (size > 1) core.release(block)
      if (size < largest) assert.isUndefined(core.acquire(0, size + 1, size + 1, largest))
      assert.deepStrictEqual(drain(core), [String(size)])
    }
    for (const size of [1, 2, 3, ...edges]) lone(size)
  })

  it("keeps sizes apart that differ in their last bit only, up to 2^53-1", () => {
    const core = new PoolCore<string>()
    const sizes = [2 ** 51 + 3, 2 ** 51 + 1, 2 ** 51 + 2]
    for (const size of sizes) holdOf(core, 0, size, String(size - 2 ** 51))
    assert.strictEqual(core.acquire(0, 2 ** 51, 1, 2 ** 51 + 1)?.value, "1")
    assert.strictEqual(core.acquire(0, 2 ** 51, 1, largest)?.value, "2")
    assert.strictEqual(core.evictNext(2 ** 51 + 3)?.value, "3")
  })

  it("keeps the bins of one size in order while they empty and fill in any order", () => {
    const anySteps = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 60 })
    fc.assert(
      fc.property(anySteps, (steps) => {
        const core = new PoolCore<string>()
        const out = new Map(
          Array.from({ length: 6 }, (_, family) => [family, blockOf(core, family, 64, String(family))])
        )
        const filled: Array<number> = []
        for (const [family, give] of steps) {
          const block = out.get(family)
          if (give && block !== undefined) {
            out.delete(family)
            core.release(block)
            filled.unshift(family)
          } else if (!give && block === undefined) {
            out.set(family, core.acquire(family, 64, 64, 64)!)
            filled.splice(filled.indexOf(family), 1)
          }
        }
        assert.deepStrictEqual(drain(core), filled.map(String))
      }),
      { numRuns: runs(500) }
    )
  })

  it("evicts the smallest block that covers the deficit, over all families, else the largest", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 100, "100")
    holdOf(core, 1, 300, "300")
    holdOf(core, 2, 200, "200")
    assert.strictEqual(core.evictNext(150)?.value, "200")
    assert.strictEqual(core.evictNext(301)?.value, "300")
    assert.strictEqual(core.evictNext(2 ** 60)?.value, "100")
    assert.isUndefined(core.evictNext(1))
    assert.isUndefined(core.evictNext())
  })

  it("never lets managed and pending bytes exceed the limit, nor 2^53-1", () => {
    const core = new PoolCore<string>({ maxBytes: 100 })
    blockOf(core, 0, 60, "a")
    assert.isTrue(core.addPending(40))
    assert.isFalse(core.addPending(1))
    assert.strictEqual(core.deficit(1), 1)
    core.removePending(40)
    assert.strictEqual(core.deficit(40), 0)
    core.setMaxBytes(Infinity)
    assert.isFalse(core.addPending(largest))
    assert.strictEqual(core.deficit(largest), 60)
    assert.isTrue(core.addPending(largest - 60))
    assert.isFalse(core.addPending(1))
  })

  it("counts a block until the driver has it back", () => {
    const core = new PoolCore<string>({ maxBytes: 64 })
    core.stopHolding()
    const block = blockOf(core, 0, 64, "a")
    assert.strictEqual(core.release(block), block)
    assert.deepStrictEqual([core.activeBlocks, core.heldBlocks, core.managedBlocks, core.managedBytes], [0, 0, 1, 64])
    assert.isFalse(core.addPending(1))
    core.freed(block)
    assert.deepStrictEqual([core.managedBlocks, core.managedBytes, core.driverFrees], [0, 0, 1])
    assert.isTrue(core.addPending(64))
  })

  it("keeps what is held when holding stops, and holds again when it resumes", () => {
    const core = new PoolCore<string>()
    const block = blockOf(core, 0, 64, "a")
    holdOf(core, 0, 64, "b")
    core.stopHolding()
    assert.strictEqual(core.release(block), block)
    core.freed(block)
    const late = holdOf(core, 0, 64, "late")
    assert.strictEqual(late.state, "detached")
    core.freed(late)
    core.resumeHolding()
    assert.isUndefined(core.release(core.acquire(0, 64, 64, 64)!))
    assert.deepStrictEqual(drain(core), ["b"])
    assert.strictEqual(core.driverAllocations, core.driverFrees)
  })

  it("frees a block without a bin, and a discarded one, at the end of the lease", () => {
    const core = new PoolCore<string>()
    assert.isTrue(core.addPending(1000))
    const unbinned = core.addActiveUnbinned(1000, "unbinned", 1000)
    const discarded = blockOf(core, 0, 1000, "discarded")
    assert.isUndefined(unbinned.bin)
    assert.strictEqual(core.release(unbinned), unbinned)
    core.freed(unbinned)
    core.discard(discarded)
    core.freed(discarded)
    assert.isUndefined(core.acquire(0, 1000, 1000, 1000))
    assert.strictEqual(core.managedBytes, 0)
  })

  it("treats any value as a family, undefined and NaN too", () => {
    for (const family of [undefined, NaN, null, "", 0]) {
      const core = new PoolCore<string, unknown>()
      assert.isUndefined(core.acquire(family, 8, 8, 8))
      assert.isTrue(core.addPending(8))
      assert.isUndefined(core.release(core.addActive(family, 8, "a", 8)))
      assert.strictEqual(core.acquire(family, 8, 8, 8)?.value, "a")
      assert.isUndefined(core.acquire("other", 8, 8, 8))
    }
  })

  it("forgets a family with its last block, and knows it again", () => {
    const core = new PoolCore<string>()
    for (const value of ["a", "b"]) {
      assert.isUndefined(core.acquire(7, 64, 64, 128))
      core.release(blockOf(core, 7, 64, value))
      core.release(core.acquire(7, 64, 64, 64)!)
      assert.deepStrictEqual(drain(core), [value])
    }
  })

  it("leaves no bin behind when 100,000 distinct sizes have come and gone", () => {
    const core = new PoolCore<string>()
    for (let size = 1; size <= 100_000; size++) holdOf(core, size % 5, size * 7919, "")
    assert.strictEqual(core.heldBlocks, 100_000)
    assert.strictEqual(drain(core).length, 100_000)
    assert.strictEqual(core["bins"]["families"].size, 0)
    assert.isTrue(core["bins"]["rows"].isEmpty)
  })

  it("says which invariant a wrong call breaks, and changes nothing", () => {
    const core = new PoolCore<string>()
    const block = blockOf(core, 0, 64, "a")
    const unchanged = (call: () => unknown, message: RegExp) => {
      const before = core.stats()
      assert.throws(call, message)
      assert.deepStrictEqual(core.stats(), before)
    }
    unchanged(() => core.freed(block), /detached.*active/)
    core.release(block)
    unchanged(() => core.release(block), /active.*held/)
    unchanged(() => core.discard(block), /active.*held/)
    unchanged(() => core.freed(block), /detached.*held/)
    const evicted = core.evictNext()!
    unchanged(() => core.release(evicted), /active.*detached/)
    core.freed(evicted)
    unchanged(() => core.freed(evicted), /detached.*freed/)
    unchanged(() => core.addActive(0, 64, "b", 64), /64 bytes.*only 0/)
    unchanged(() => core.addHeld(0, 64, "b"), /64 bytes.*only 0/)
    unchanged(() => core.removePending(1), /1 bytes.*only 0/)
  })
})
