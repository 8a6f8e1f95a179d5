import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { SizeIndex, SizeLeaf } from "../../src/domain/pool/SizeIndex.ts"
import { runs } from "../support/explore.ts"

const largest = Number.MAX_SAFE_INTEGER

// Small sizes, sizes of every magnitude, and families of sizes that differ in one or two bits only.
const anySize = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.tuple(fc.nat(52), fc.maxSafeNat()).map(([k, n]) => 2 ** k + (n % 2 ** k)),
  fc.tuple(fc.nat(51), fc.nat(51)).map(([a, b]) => 2 ** 52 + 2 ** a + (a === b ? 0 : 2 ** b)),
  fc.tuple(fc.constantFrom(31, 32, 40), fc.nat(30)).map(([k, a]) => 2 ** k + 2 ** a),
  fc.integer({ min: largest - 100, max: largest })
)

const isMarked = (leaf: SizeLeaf): boolean => leaf.node !== undefined && (leaf.node.marks & leaf.bit) !== 0

const indexOf = (sizes: Iterable<number>): SizeIndex<SizeLeaf> => {
  const index = new SizeIndex<SizeLeaf>()
  for (const size of sizes) index.insert(new SizeLeaf(size))
  return index
}

const compare = (index: SizeIndex<SizeLeaf>, marked: ReadonlyMap<number, boolean>, probes: ReadonlyArray<number>) => {
  const ascending = [...marked].filter(([, on]) => on).map(([size]) => size).sort((a, b) => a - b)
  assert.strictEqual(index.isEmpty, marked.size === 0)
  assert.strictEqual(index.largest()?.size, ascending.at(-1))
  for (const probe of [...probes, ...marked.keys()]) {
    assert.strictEqual(index.get(probe)?.size, marked.has(probe) ? probe : undefined, `get(${probe})`)
    assert.strictEqual(index.atLeast(probe)?.size, ascending.find((size) => size >= probe), `atLeast(${probe})`)
    assert.strictEqual(index.below(probe)?.size, ascending.filter((size) => size < probe).at(-1), `below(${probe})`)
  }
}

const step = (index: SizeIndex<SizeLeaf>, marked: Map<number, boolean>, size: number): void => {
  const leaf = index.get(size)
  if (leaf === undefined) {
    index.insert(new SizeLeaf(size))
    marked.set(size, false)
  } else if (!isMarked(leaf)) {
    index.mark(leaf)
    marked.set(size, true)
  } else {
    index.unmark(leaf)
    marked.set(size, false)
  }
}

const take = (index: SizeIndex<SizeLeaf>, marked: Map<number, boolean>, size: number): void => {
  const leaf = index.get(size)
  if (leaf === undefined) return
  if (isMarked(leaf)) index.unmark(leaf)
  index.remove(leaf)
  marked.delete(size)
}

describe("SizeIndex", () => {
  it("answers as a sorted list does, through any insertions, marks and removals", () => {
    const anySteps = fc.uniqueArray(anySize, { minLength: 1, maxLength: 25 }).chain((sizes) =>
      fc.array(fc.tuple(fc.constantFrom(...sizes), fc.nat(4)), { maxLength: 80 })
    )
    fc.assert(
      fc.property(anySteps, fc.array(anySize, { maxLength: 5 }), (steps, probes) => {
        const index = new SizeIndex<SizeLeaf>()
        const marked = new Map<number, boolean>()
        for (const [size, n] of steps) {
          if (n === 0) take(index, marked, size)
          else step(index, marked, size)
          compare(index, marked, probes)
        }
        for (const size of marked.keys()) take(index, marked, size)
        assert.isTrue(index.isEmpty)
      }),
      { numRuns: runs(500) }
    )
  })

  it("keeps every pair of sizes apart that differ in one bit", () => {
    for (let exponent = 1; exponent <= 52; exponent++) {
      for (let bit = 0; bit < exponent; bit++) {
        const [low, high] = [2 ** exponent, 2 ** exponent + 2 ** bit]
        const index = indexOf([high, low])
        index.mark(index.get(high)!)
        assert.strictEqual(index.atLeast(low)?.size, high)
        index.mark(index.get(low)!)
        assert.strictEqual(index.atLeast(low)?.size, low)
        assert.strictEqual(index.largest()?.size, high)
      }
    }
  })

  it("refuses a size that is there already", () => {
    assert.throws(() => indexOf([8, 9, 8]), "size 8 is in the index already")
  })
})
