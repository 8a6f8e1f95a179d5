import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as BufferRange from "../../src/domain/data/BufferRange.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { runs } from "../support/explore.ts"

const largest = Number.MAX_SAFE_INTEGER

const ofCommands = BufferRange.alignmentOfCommands({ copyAlignment: 4 })

const problem = (size: number, offset: number, bytes: number, copyAlignment: number = 4): GpuError | undefined => {
  const alignment = BufferRange.alignmentOfCommands({ copyAlignment })
  return BufferRange.offsetProblem("Queue.test", { size }, offset, alignment) ??
    BufferRange.lengthProblem("Queue.test", { size }, offset, bytes, alignment)
}

const messageOf = (size: number, offset: number, bytes: number): string => problem(size, offset, bytes)?.message ?? ""

/** The rules as the design words them, one by one, in BigInt arithmetic. */
const isAllowed = (size: number, offset: number, bytes: number, alignment: number = 4): boolean => {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(bytes) || offset < 0 || bytes < 0) return false
  const [start, length, end] = [BigInt(offset), BigInt(bytes), BigInt(size)]
  if (start + length > end) return false
  if (start % BigInt(alignment) !== 0n) return false
  return length % BigInt(alignment) === 0n || start + length === end
}

const agrees = (size: number, offset: number, bytes: number, alignment: number = 4): void => {
  const error = problem(size, offset, bytes, alignment)
  const shown = `size ${size}, offset ${offset}, bytes ${bytes}: ${error?.message}`
  assert.strictEqual(error === undefined, isAllowed(size, offset, bytes, alignment), shown)
  if (error === undefined) return
  assert.strictEqual(error.reason._tag, "InvalidRequest")
  assert.isFalse(error.isRetryable)
  assert.match(error.message, /^Queue\.test: .+\. .+\.$/)
}

/** Sizes, and parts of them near the edges that the rules speak of. */
const near = fc.record({
  size: fc.oneof(fc.nat(64), fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 32 + 5, largest - 3, largest)),
  offset: fc.integer({ min: -9, max: 9 }),
  bytes: fc.integer({ min: -9, max: 9 }),
  fromEnd: fc.boolean(),
  toEnd: fc.boolean()
})
const anyNumber = fc.oneof(
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(-0, 0, 0.5, NaN, Infinity, -Infinity, 2 ** 53)
)

describe("BufferRange", () => {
  it("agrees with the rules at every boundary of small buffers", () => {
    let allowed = 0
    for (let size = 0; size <= 17; size++) {
      for (let offset = -2; offset <= size + 2; offset++) {
        for (let bytes = -2; bytes <= size + 2; bytes++) {
          agrees(size, offset, bytes)
          agrees(size, offset, bytes, 1)
          if (isAllowed(size, offset, bytes)) allowed++
        }
      }
    }
    assert.isAbove(allowed, 100)
  })

  it("agrees with the rules near both ends of buffers of any size", () => {
    fc.assert(
      fc.property(near, ({ bytes, fromEnd, offset, size, toEnd }) => {
        const start = fromEnd ? size + offset : offset
        for (const alignment of [1, 4]) agrees(size, start, toEnd ? size - start + bytes : bytes, alignment)
      }),
      { numRuns: runs(1000) }
    )
  })

  it("agrees with the rules for numbers of every kind", () => {
    fc.assert(fc.property(fc.maxSafeNat(), anyNumber, anyNumber, fc.constantFrom(1, 4), agrees))
  })

  it("allows the whole of every buffer, and nothing at its start", () => {
    fc.assert(fc.property(fc.maxSafeNat(), (size) => {
      assert.isUndefined(problem(size, 0, size))
      assert.isUndefined(problem(size, 0, 0))
    }))
  })

  it("allows two neighbouring parts wherever it allows their union and they meet at a multiple of 4", () => {
    fc.assert(fc.property(fc.nat(1000), fc.nat(250), (size, quarter) => {
      const middle = quarter * 4
      if (middle > size) return
      assert.isUndefined(problem(size, 0, middle))
      assert.isUndefined(problem(size, middle, size - middle))
    }))
  })

  it("shows the values that broke the rule", () => {
    assert.match(messageOf(64, -4, 8), /offset -4/)
    assert.match(messageOf(64, 68, 0), /offset 68.* 64 bytes/)
    assert.match(messageOf(64, 0, 1.5), /1\.5/)
    assert.match(messageOf(64, 60, 8), /60 to 68.* 64 bytes/)
    assert.match(messageOf(64, 2, 4), /offset 2 .*multiple of 4/)
    assert.match(messageOf(63, 0, 6), /6 .*multiple of 4.* 63/)
  })

  it("calls the offset and the buffer what the caller calls them", () => {
    assert.include(
      BufferRange.offsetProblem("Queue.test", { size: 64 }, 2, ofCommands, "sourceOffset")?.message,
      "sourceOffset 2"
    )
    const labelled = { size: 64, label: "frame" }
    assert.include(
      BufferRange.lengthProblem("Queue.test", labelled, 0, 68, ofCommands, "target")?.message,
      `bytes 0 to 68 are outside the target "frame" of 64 bytes`
    )
    assert.include(
      BufferRange.offsetProblem("Queue.test", labelled, 68, ofCommands)?.message,
      `offset 68 is outside the buffer "frame" of 64 bytes`
    )
  })

  it("advises byteGranular where it helps, and nowhere else", () => {
    const byteGranular =
      "multiple of 4 bytes, as every device can; OpenCL and the host can start and end at any byte " +
      "when opened with byteGranular: true."
    for (const wrong of [[2, 4], [4, 6]] as const) {
      const [offset, bytes] = wrong
      assert.include(BufferRange.problem("Queue.test", { size: 64 }, offset, bytes, ofCommands)?.message, byteGranular)
      const { message = "" } = BufferRange.problem(
        "Mapping.test",
        { size: 64 },
        offset,
        bytes,
        BufferRange.portableAlignment
      ) ?? {}
      assert.match(message, /multiple of 4 bytes\.$/)
    }
  })
})
