import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { mostNoted, Outgrown } from "../../src/domain/pool/Outgrown.ts"
import { PoolCore } from "../../src/domain/pool/PoolCore.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"

const anew = { mostLeasedBytes: 0, missedBytes: 0 }
const policy = SizePolicy.defaultPolicy

/** An owner of a core: its driver answers at once. */
class Owner {
  readonly core = new PoolCore<undefined>({ outgrown: anew })
  freed = 0
  /** The highest ratio of managed bytes to the most bytes that leases asked for. */
  worst = 0

  lease(size: number, family = 0) {
    const blockSize = policy.blockSize(size)
    const most = SizePolicy.borrowLimit(policy, blockSize)
    const hit = this.core.acquire(family, blockSize, size, most)
    if (hit !== undefined) return hit
    this.core.addPending(blockSize, size)
    for (const block of this.core.evictOutgrown(family, blockSize, most)) {
      this.core.freed(block)
      this.freed++
    }
    const block = this.core.addActive(family, blockSize, undefined, size)
    this.worst = Math.max(this.worst, this.core.managedBytes / this.core.peakActiveBytes)
    return block
  }

  /** Makes and ends leases of these sizes, with at most `slots` of them at a time. */
  cycle(sizes: ReadonlyArray<number>, slots: number): void {
    const live: Array<ReturnType<Owner["lease"]>> = []
    for (const size of sizes) {
      if (live.length === slots) this.core.release(live.shift()!)
      live.push(this.lease(size))
    }
    for (const block of live) this.core.release(block)
  }
}

describe("a program that outgrows its blocks", () => {
  it("leaves no more than 1.9 times what it has leased, however long its sizes grow", () => {
    const anyGrowth = fc.record({
      tensors: fc.integer({ min: 1, max: 30 }),
      bytes: fc.integer({ min: 64, max: 10_000 }),
      steps: fc.integer({ min: 10, max: 100 })
    })
    fc.assert(
      fc.property(anyGrowth, ({ bytes, steps, tensors }) => {
        const owner = new Owner()
        const live = Array.from({ length: tensors }, () => owner.lease(bytes))
        for (let step = 2; step <= steps; step++) {
          for (let tensor = 0; tensor < tensors; tensor++) {
            const grown = owner.lease(step * bytes)
            owner.core.release(live[tensor]!)
            live[tensor] = grown
          }
        }
        // Above the bound all blocks are active: a miss frees the held ones.
        assert.isAtMost(owner.worst, 1.9 * 17 / 16)
      })
    )
  })

  it("misses each block of sizes that come again once at most: later nothing more is freed", () => {
    const anyCycle = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 4096 }).map((size) => size * 16), { minLength: 1, maxLength: 60 }),
      slots: fc.integer({ min: 1, max: 4 })
    })
    fc.assert(
      fc.property(anyCycle, ({ sizes, slots }) => {
        const owner = new Owner()
        for (let times = 0; times < 20; times++) owner.cycle(sizes, slots)
        const { freed } = owner
        const { misses } = owner.core
        for (let times = 0; times < 20; times++) owner.cycle(sizes, slots)
        assert.strictEqual(owner.freed, freed)
        assert.strictEqual(owner.core.misses, misses)
      })
    )
  })

  it("keeps what it asks for less of: only smaller blocks of the same family go, the largest first", () => {
    const owner = new Owner()
    owner.cycle([1000, 2000, 4000], 1)
    assert.strictEqual(owner.core.heldBlocks, 3)
    owner.core.release(owner.lease(3000, 1))
    assert.strictEqual(owner.freed, 0)
    // 1.9 times the most leased bytes are 9,500, of the 16,000 that there would be.
    const live = owner.lease(5000)
    assert.deepStrictEqual(Array.from(owner.core.held(), ({ capacity }) => capacity), [1024, 3072])
    owner.core.release(live)
    owner.core.release(owner.lease(500))
    assert.strictEqual(owner.core.heldBlocks, 3)
  })
})

describe("freed sizes that are asked for again", () => {
  it("are allowed besides, the smallest that would have served, once for each block", () => {
    const outgrown = new Outgrown<string>(anew)
    const missed = (family: string, size: number, most: number) => {
      outgrown.missed(family, size, most)
      return outgrown.missedBytes
    }
    outgrown.freed("a", 100)
    outgrown.freed("a", 100)
    outgrown.freed("a", 150)
    assert.strictEqual(missed("b", 100, 200), 0)
    assert.strictEqual(missed("a", 151, 300), 0)
    assert.strictEqual(missed("a", 40, 99), 0)
    assert.strictEqual(missed("a", 50, 100), 100)
    assert.strictEqual(missed("a", 80, 160), 200)
    assert.strictEqual(missed("a", 80, 160), 350)
    assert.strictEqual(missed("a", 80, 160), 350)
  })

  it("are as many as the pool can note, and then the longest freed one is forgotten", () => {
    const outgrown = new Outgrown<string>(anew)
    for (let size = 1; size <= mostNoted; size++) outgrown.freed("a", size)
    outgrown.freed("b", 7)
    outgrown.missed("a", 1, 1)
    assert.strictEqual(outgrown.missedBytes, 0)
    outgrown.missed("a", 2, 2)
    outgrown.missed("b", 5, 10)
    assert.strictEqual(outgrown.missedBytes, 9)
  })

  it("never allow more bytes than counters count", () => {
    const outgrown = new Outgrown<string>({ mostLeasedBytes: Number.MAX_SAFE_INTEGER, missedBytes: 5 })
    assert.strictEqual(outgrown.mostManaged(0), Number.MAX_SAFE_INTEGER)
    assert.strictEqual(new Outgrown<string>({ mostLeasedBytes: 101, missedBytes: 5 }).mostManaged(7), 196)
  })
})
