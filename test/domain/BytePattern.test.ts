import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as BytePattern from "../../src/domain/BytePattern.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"

const bytesOf = (words: ReadonlyArray<number>, length: number): ReadonlyArray<number> => {
  const target = new Uint32Array(length)
  BytePattern.repeat(target, words)
  return [...new Uint8Array(target.buffer)]
}

describe("BytePattern", () => {
  it("repeats the bytes that it was made of, wherever they lie", () => {
    const pattern = fc.constantFrom(1, 2, 4, 8, 16).chain((size) => fc.uint8Array({ minLength: size, maxLength: size }))
    fc.assert(
      fc.property(pattern, fc.nat(7), fc.nat(70), (bytes, start, length) => {
        const memory = new Uint8Array(start + bytes.length)
        memory.set(bytes, start)
        const made = BytePattern.make("test", memory.subarray(start))
        assert(!isGpuError(made))
        strictEqual(made.size, bytes.length)
        deepStrictEqual(
          bytesOf(made.words, length),
          Array.from({ length: 4 * length }, (_, at) => bytes[at % bytes.length]!)
        )
      })
    )
  })

  it("has one word where a longer one would say the same", () => {
    deepStrictEqual(BytePattern.make("test", new Float64Array(2)), { size: 16, words: [0] })
    deepStrictEqual(BytePattern.make("test", Uint8Array.of(1)), { size: 1, words: [0x01010101] })
    deepStrictEqual(BytePattern.make("test", 0xff00ff00), { size: 4, words: [0xff00ff00] })
    deepStrictEqual(BytePattern.make("test", Uint32Array.of(1, 2, 1, 2)), { size: 16, words: [1, 2, 1, 2] })
  })
})
