import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { runs } from "../support/explore.ts"

const largest = Number.MAX_SAFE_INTEGER
const bitCounts = Array.from({ length: 13 }, (_, bits) => bits)

const aroundPowersOfTwo: ReadonlyArray<number> = Array.from({ length: 54 }, (_, k) => [2 ** k - 1, 2 ** k, 2 ** k + 1])
  .flat()
  .filter((size) => size >= 1 && size <= largest)

// The bin number and the bin's block size as PyOpenCL computes them, in integers of any length.
const binNumber = (size: bigint, bits: bigint): bigint => {
  const exponent = BigInt(size.toString(2).length - 1)
  const shifted = exponent >= bits ? size >> (exponent - bits) : size << (bits - exponent)
  return (exponent << bits) | (shifted & ((1n << bits) - 1n))
}

const binSize = (bin: bigint, bits: bigint): bigint => {
  const digits = (1n << bits) | (bin & ((1n << bits) - 1n))
  const shift = (bin >> bits) - bits
  return shift >= 0n ? (digits << shift) | ((1n << shift) - 1n) : digits >> -shift
}

const referenceLeadingBits = (bits: number, size: number): number =>
  Number(binSize(binNumber(BigInt(size), BigInt(bits)), BigInt(bits)))

const referenceSizeClasses = (bits: number, size: number): number => {
  if (size === 1) return 1
  const closed = binSize(binNumber(BigInt(size) - 1n, BigInt(bits)), BigInt(bits)) + 1n
  return closed > BigInt(largest) ? size : Number(closed)
}

const anySize = fc.oneof(
  fc.integer({ min: 1, max: 70_000 }),
  fc.constantFrom(...aroundPowersOfTwo),
  fc.tuple(fc.integer({ min: 0, max: 52 }), fc.maxSafeNat()).map(([k, n]) => 2 ** k + (n % 2 ** k))
)

const anyBorrow = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1e9, noNaN: true }))

const anyPolicy = fc.oneof(
  fc.constant(SizePolicy.exact),
  fc.integer({ min: 0, max: 52 }).map(SizePolicy.leadingBits),
  fc.tuple(fc.integer({ min: 0, max: 52 }), anyBorrow).map(([bits, borrow]) =>
    SizePolicy.sizeClasses(bits, { borrow })
  ),
  fc.tuple(fc.array(anySize, { minLength: 1 }), anyBorrow).map(([sizes, borrow]) => SizePolicy.table(sizes, { borrow }))
)

/** A policy with wrong arguments has a `problem`, and does not change sizes. */
const assertProblem = (policy: SizePolicy.SizePolicy, problem: string) => {
  strictEqual(policy.problem?.reason._tag, "InvalidRequest")
  assert.include(policy.problem?.message, problem)
  strictEqual(policy.blockSize(1001), 1001)
}

const checkBlock = (bits: number, size: number, block: number) => {
  const text = `bits ${bits}, size ${size}, block ${block}`
  assert.isTrue(Number.isSafeInteger(block), text)
  assert.isAtLeast(block, size, text)
  assert.isTrue((BigInt(block) - BigInt(size)) << BigInt(bits) < BigInt(size), `waste: ${text}`)
}

const roundUp = (size: number, granularity: number): bigint => {
  const unit = BigInt(granularity)
  return ((BigInt(size) + unit - 1n) / unit) * unit
}

describe("SizePolicy", () => {
  it("all policies: the block holds the request, is its own block, and grows with the request", () => {
    fc.assert(
      fc.property(anyPolicy, anySize, anySize, (policy, a, b) => {
        const [small, large] = a <= b ? [a, b] : [b, a]
        const block = policy.blockSize(small)
        assert.isTrue(Number.isSafeInteger(block), policy.name)
        assert.isAtLeast(block, small, policy.name)
        assert.strictEqual(policy.blockSize(block), block, policy.name)
        assert.isAtMost(block, policy.blockSize(large), policy.name)
      }),
      { numRuns: runs(2000) }
    )
  })

  it("exact keeps the request and borrows nothing", () => {
    fc.assert(fc.property(anySize, (size) => SizePolicy.exact.blockSize(size) === size))
    assert.strictEqual(SizePolicy.exact.borrow, 0)
  })

  it("the default is sizeClasses(4, { borrow: 1 })", () => {
    const same = SizePolicy.sizeClasses(4, { borrow: 1 })
    assert.strictEqual(SizePolicy.defaultPolicy.borrow, 1)
    assert.strictEqual(SizePolicy.defaultPolicy.name, same.name)
    fc.assert(fc.property(anySize, (size) => SizePolicy.defaultPolicy.blockSize(size) === same.blockSize(size)))
  })

  it("names say which policy it is", () => {
    assert.strictEqual(SizePolicy.leadingBits().name, "leadingBits(4)")
    assert.strictEqual(SizePolicy.sizeClasses(3).name, "sizeClasses(3)")
    assert.strictEqual(SizePolicy.sizeClasses(4, { borrow: 0.5 }).name, "sizeClasses(4, borrow 0.5)")
    assert.strictEqual(SizePolicy.table([8, 8]).name, "table(1 size)")
    assert.strictEqual(SizePolicy.table([8, 16], { borrow: 2 }).name, "table(2 sizes, borrow 2)")
  })
})

describe("SizePolicy.leadingBits", () => {
  // size, then PyOpenCL's block size for bits 1 to 8.
  const worked: ReadonlyArray<readonly [number, ReadonlyArray<number>]> = [
    [1, [1, 1, 1, 1, 1, 1, 1, 1]],
    [3, [3, 3, 3, 3, 3, 3, 3, 3]],
    [4, [5, 4, 4, 4, 4, 4, 4, 4]],
    [8, [11, 9, 8, 8, 8, 8, 8, 8]],
    [16, [23, 19, 17, 16, 16, 16, 16, 16]],
    [17, [23, 19, 17, 17, 17, 17, 17, 17]],
    [31, [31, 31, 31, 31, 31, 31, 31, 31]],
    [32, [47, 39, 35, 33, 32, 32, 32, 32]],
    [64, [95, 79, 71, 67, 65, 64, 64, 64]],
    [100, [127, 111, 103, 103, 101, 100, 100, 100]],
    [255, [255, 255, 255, 255, 255, 255, 255, 255]],
    [256, [383, 319, 287, 271, 263, 259, 257, 256]],
    [1000, [1023, 1023, 1023, 1023, 1007, 1007, 1003, 1001]],
    [1024, [1535, 1279, 1151, 1087, 1055, 1039, 1031, 1027]],
    [4096, [6143, 5119, 4607, 4351, 4223, 4159, 4127, 4111]],
    [10_000, [12_287, 10_239, 10_239, 10_239, 10_239, 10_111, 10_047, 10_015]],
    [100_000, [131_071, 114_687, 106_495, 102_399, 100_351, 100_351, 100_351, 100_095]],
    [2 ** 20, [1_572_863, 1_310_719, 1_179_647, 1_114_111, 1_081_343, 1_064_959, 1_056_767, 1_052_671]],
    [3 * 2 ** 20, [4_194_303, 3_670_015, 3_407_871, 3_276_799, 3_211_263, 3_178_495, 3_162_111, 3_153_919]],
    [2 ** 31 - 1, Array.from({ length: 8 }, () => 2 ** 31 - 1)],
    [2 ** 31, [
      3_221_225_471,
      2_684_354_559,
      2_415_919_103,
      2_281_701_375,
      2_214_592_511,
      2_181_038_079,
      2_164_260_863,
      2_155_872_255
    ]],
    [2 ** 32 + 1, [
      6_442_450_943,
      5_368_709_119,
      4_831_838_207,
      4_563_402_751,
      4_429_185_023,
      4_362_076_159,
      4_328_521_727,
      4_311_744_511
    ]],
    [largest, Array.from({ length: 8 }, () => largest)]
  ]

  it("matches PyOpenCL's worked values", () => {
    for (const [size, blocks] of worked) {
      const ours = blocks.map((_, index) => SizePolicy.leadingBits(index + 1).blockSize(size))
      assert.deepStrictEqual(ours, [...blocks], `size ${size}`)
    }
  })

  it("matches the formula for every power of two and its neighbours, and every small size", () => {
    for (const bits of bitCounts) {
      const policy = SizePolicy.leadingBits(bits)
      for (const size of [...aroundPowersOfTwo, ...Array.from({ length: 5000 }, (_, n) => n + 1)]) {
        const block = policy.blockSize(size)
        assert.strictEqual(block, referenceLeadingBits(bits, size), `bits ${bits}, size ${size}`)
        checkBlock(bits, size, block)
      }
    }
  })

  it("matches the formula for random sizes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 52 }), anySize, (bits, size) => {
        const block = SizePolicy.leadingBits(bits).blockSize(size)
        assert.strictEqual(block, referenceLeadingBits(bits, size))
        checkBlock(bits, size, block)
      }),
      { numRuns: runs(5000) }
    )
  })

  it("borrows nothing and has 4 bits by default", () => {
    assert.strictEqual(SizePolicy.leadingBits().borrow, 0)
    assert.strictEqual(SizePolicy.leadingBits().blockSize(4096), 4351)
  })

  it("refuses bits that are not an integer from 0 to 52", () => {
    for (const bits of [-1, 53, 1.5, NaN, Infinity]) {
      assertProblem(SizePolicy.leadingBits(bits), `SizePolicy.leadingBits: bits ${bits} `)
    }
  })
})

describe("SizePolicy.sizeClasses", () => {
  it("is leadingBits closed at the top, for every power of two and its neighbours, and every small size", () => {
    for (const bits of bitCounts) {
      const policy = SizePolicy.sizeClasses(bits)
      for (const size of [...aroundPowersOfTwo, ...Array.from({ length: 5000 }, (_, n) => n + 1)]) {
        const block = policy.blockSize(size)
        assert.strictEqual(block, referenceSizeClasses(bits, size), `bits ${bits}, size ${size}`)
        checkBlock(bits, size, block)
      }
    }
  })

  it("is leadingBits closed at the top, for random sizes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 52 }), anySize, (bits, size) => {
        const block = SizePolicy.sizeClasses(bits).blockSize(size)
        assert.strictEqual(block, referenceSizeClasses(bits, size))
        checkBlock(bits, size, block)
      }),
      { numRuns: runs(5000) }
    )
  })

  it("wastes nothing on powers of two", () => {
    for (const bits of bitCounts) {
      const policy = SizePolicy.sizeClasses(bits)
      for (let k = 0; k <= 52; k++) assert.strictEqual(policy.blockSize(2 ** k), 2 ** k)
    }
  })

  it("falls back to the request where the class would end above 2^53-1", () => {
    const policy = SizePolicy.sizeClasses(4)
    const lastClass = 2 ** 53 - 2 ** 48
    assert.strictEqual(policy.blockSize(lastClass), lastClass)
    assert.strictEqual(policy.blockSize(lastClass + 1), lastClass + 1)
    assert.strictEqual(policy.blockSize(largest), largest)
  })

  it("refuses bad bits and a bad borrow", () => {
    for (const bits of [-1, 53, 0.5, NaN]) {
      assertProblem(SizePolicy.sizeClasses(bits), `SizePolicy.sizeClasses: bits ${bits} `)
    }
    for (const borrow of [-0.1, NaN, Infinity]) {
      assertProblem(SizePolicy.sizeClasses(4, { borrow }), `SizePolicy.sizeClasses: borrow ${borrow} `)
    }
  })
})

describe("SizePolicy.table", () => {
  it("is the smallest listed size that holds the request, else the request", () => {
    fc.assert(
      fc.property(fc.array(anySize, { minLength: 1, maxLength: 40 }), anySize, (sizes, request) => {
        const fitting = sizes.filter((size) => size >= request)
        const expected = fitting.length === 0 ? request : Math.min(...fitting)
        assert.strictEqual(SizePolicy.table(sizes).blockSize(request), expected)
      })
    )
  })

  it("keeps its own copy of the sizes", () => {
    const sizes = [64, 16]
    const policy = SizePolicy.table(sizes)
    sizes[0] = 32
    assert.deepStrictEqual([1, 16, 17, 64, 65].map(policy.blockSize), [16, 16, 64, 64, 65])
  })

  it("refuses an empty table, bad sizes and a bad borrow", () => {
    assertProblem(SizePolicy.table([]), "SizePolicy.table: the table has no sizes")
    for (const size of [0, -4, 1.5, NaN, 2 ** 53, Infinity]) {
      assertProblem(SizePolicy.table([8, size]), `SizePolicy.table: the size ${size} `)
    }
    assertProblem(SizePolicy.table([8], { borrow: -1 }), "SizePolicy.table: borrow -1 ")
  })
})

describe("SizePolicy.forDevice", () => {
  const anyGranularity = fc.oneof(fc.constantFrom(1, 2, 4, 256), fc.integer({ min: 1, max: 1000 }))

  it("rounds the policy's block up to the granularity, or the request where that is above the largest block", () => {
    fc.assert(
      fc.property(anyPolicy, anyGranularity, anySize, anySize, (policy, granularity, maxBlockBytes, request) => {
        const answer = SizePolicy.forDevice(policy, { granularity, maxBlockBytes })(request)
        const block = roundUp(policy.blockSize(request), granularity)
        const expected = block <= BigInt(maxBlockBytes) ? block : roundUp(request, granularity)
        if (expected <= BigInt(largest)) assert.strictEqual(answer, Number(expected))
        else assert.isAbove(answer, largest)
      }),
      { numRuns: runs(5000) }
    )
  })

  it("without limits it stays within 2^53-1 while the rounded request does", () => {
    const blockSize = SizePolicy.forDevice(SizePolicy.leadingBits(4), { granularity: 4, maxBlockBytes: Infinity })
    assert.strictEqual(blockSize(1025), 1088)
    assert.strictEqual(blockSize(2 ** 53 - 2 ** 40), 2 ** 53 - 2 ** 40)
    assert.isAbove(blockSize(largest), largest)
  })

  it("falls back at the edge, not before", () => {
    const blockSize = SizePolicy.forDevice(SizePolicy.sizeClasses(0), { granularity: 4, maxBlockBytes: 1024 })
    assert.deepStrictEqual([513, 1023, 1024, 1025].map(blockSize), [1024, 1024, 1024, 1028])
  })

  it("holds the request even when a policy of the caller's own does not", () => {
    for (const answer of [NaN, 0, -1, 7]) {
      const broken = { name: "broken", borrow: 0, blockSize: () => answer }
      assert.strictEqual(SizePolicy.forDevice(broken, { granularity: 4, maxBlockBytes: 64 })(9), 12)
    }
    const fractional = { name: "fractional", borrow: 0, blockSize: (request: number) => request * 1.3 }
    assert.strictEqual(SizePolicy.forDevice(fractional, { granularity: 1, maxBlockBytes: 64 })(9), 12)
  })
})

describe("SizePolicy.borrowLimit", () => {
  it("is (1 + borrow) times the block size, rounded down and capped", () => {
    fc.assert(
      fc.property(anySize, fc.integer({ min: 0, max: 64 }), (size, eighths) => {
        const policy = SizePolicy.sizeClasses(4, { borrow: eighths / 8 })
        const expected = BigInt(size) + (BigInt(size) * BigInt(eighths)) / 8n
        const limit = SizePolicy.borrowLimit(policy, size)
        if (expected > BigInt(largest)) assert.strictEqual(limit, largest)
        // The product of a size above 2^46 and the eighths, up to 72 of them, may have more than 53 bits.
        else if (size <= 2 ** 46) assert.strictEqual(limit, Number(expected))
        else assert.closeTo(limit, Number(expected), 8)
      })
    )
  })

  it("is the block size for policies that borrow nothing", () => {
    fc.assert(fc.property(anySize, (size) => SizePolicy.borrowLimit(SizePolicy.exact, size) === size))
  })

  it("stays at 2^53-1 for any borrow", () => {
    fc.assert(
      fc.property(anyPolicy, anySize, (policy, size) => {
        const limit = SizePolicy.borrowLimit(policy, size)
        assert.isTrue(Number.isSafeInteger(limit) && limit >= size)
      })
    )
  })
})
