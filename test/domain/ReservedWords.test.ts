import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isReserved } from "../../src/domain/kernel/ReservedWords.ts"

/** Of each list of the two languages' specifications, the first, the last and some from between. */
const wgslKeywords = ["alias", "break", "const_assert", "let", "override", "var", "while"]
const wgslReserved = ["NULL", "Self", "abstract", "asm", "groupshared", "target", "thread_local", "with", "yield"]
const openClKeywords = ["auto", "char", "unsigned", "volatile", "while"]
const openClTypes = ["bool", "half", "uchar", "ulong", "size_t", "event_t", "image1d_t", "image2d_array_t", "image3d_t"]
const openClQualifiers = ["global", "local", "constant", "private", "kernel", "read_only", "write_only", "read_write"]

describe("ReservedWords", () => {
  it.each([...wgslKeywords, ...wgslReserved, ...openClKeywords, ...openClTypes, ...openClQualifiers])(
    "%s is reserved",
    (word) => {
      assert.isTrue(isReserved(word))
    }
  )

  it.each(["x", "y", "data", "input", "output", "scale", "weights", "While", "KERNEL"])("%s is free", (word) => {
    assert.isFalse(isReserved(word))
  })

  it("the names that every object has are free", () => {
    for (const word of ["constructor", "toString", "hasOwnProperty", "__proto__"]) assert.isFalse(isReserved(word))
  })

  it("no reserved word stays so with a digit in front or a space in it", () => {
    const words = fc.constantFrom(...wgslKeywords, ...wgslReserved, ...openClKeywords, ...openClTypes)
    fc.assert(fc.property(words, words, (first, second) => {
      assert.isFalse(isReserved(`${first} ${second}`))
      assert.isFalse(isReserved(`0${first}`))
      assert.isFalse(isReserved(""))
    }))
  })
})
