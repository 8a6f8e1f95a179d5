import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as BytePattern from "../../src/domain/data/BytePattern.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"

const bytesOf = (words: ReadonlyArray<number>, length: number): ReadonlyArray<number> => {
  // The target may begin at any byte.
  const target = new Uint8Array(new ArrayBuffer(length + 3), 3)
  BytePattern.repeat(target, new Uint8Array(Uint32Array.from(words).buffer))
  return [...target]
}

describe("BytePattern", () => {
  it("repeats the bytes that it was made of, wherever they lie", () => {
    const pattern = fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128).chain((size) =>
      fc.uint8Array({ minLength: size, maxLength: size })
    )
    fc.assert(
      fc.property(pattern, fc.nat(7), fc.nat(700), (bytes, start, length) => {
        const memory = new Uint8Array(start + bytes.length)
        memory.set(bytes, start)
        const made = BytePattern.make("test", memory.subarray(start))
        assert(!isGpuError(made))
        strictEqual(made.size, bytes.length)
        deepStrictEqual(
          bytesOf(made.words, length),
          Array.from({ length }, (_, at) => bytes[at % bytes.length]!)
        )
      })
    )
  })

  it("repeats beyond a block, the last one cut", () => {
    const { largestBlock } = BytePattern
    for (
      const length of [largestBlock - 1, largestBlock, largestBlock + 1, 2 * largestBlock + 130, 5 * largestBlock - 3]
    ) {
      for (const size of [2, 4, 128]) {
        const target = new Uint8Array(length)
        BytePattern.repeat(target, Uint8Array.from({ length: size }, (_, at) => at + 1))
        assert(target.every((byte, at) => byte === at % size + 1), `${size} bytes in ${length}`)
      }
    }
  })

  it("is filled from a whole number of patterns on, a whole number of times", () => {
    const count = fc.nat(300)
    fc.assert(fc.property(fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128), count, count, (size, offset, bytes) => {
      const problem = BytePattern.partProblem("test", { size }, offset, bytes)
      strictEqual(problem === undefined, offset % size === 0 && bytes % size === 0)
    }))
  })

  it("has no other size", () => {
    for (const size of [0, 3, 5, 12, 24, 48, 127, 129, 256]) {
      assert(isGpuError(BytePattern.make("test", new Uint8Array(size))))
    }
  })

  it("is made of no number but an unsigned one of 32 bits", () => {
    for (const word of [-1, 1.5, NaN, Infinity, 2 ** 32]) assert(isGpuError(BytePattern.make("test", word)))
  })

  it("has one word where a longer one would say the same", () => {
    deepStrictEqual(BytePattern.make("test", new Float64Array(2)), { size: 16, words: [0] })
    deepStrictEqual(BytePattern.make("test", Uint8Array.of(1)), { size: 1, words: [0x01010101] })
    deepStrictEqual(BytePattern.make("test", 0xff00ff00), { size: 4, words: [0xff00ff00] })
    deepStrictEqual(BytePattern.make("test", Uint32Array.of(1, 2, 1, 2)), { size: 16, words: [1, 2, 1, 2] })
  })
})
