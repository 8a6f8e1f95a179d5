import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as KnownOptions from "../../src/domain/arguments/KnownOptions.ts"

const known = new Set(["maxBytes", "maxFraction", "label"])

const messageOf = (options: object): string | undefined => KnownOptions.problem("Pool.open", options, known)?.message

describe("options", () => {
  it("with known names are in order, whatever is in them, and so is what is undefined", () => {
    fc.assert(
      fc.property(fc.record({ maxBytes: fc.anything(), label: fc.anything() }, { requiredKeys: [] }), (options) => {
        assert.isUndefined(messageOf(options))
      })
    )
    assert.isUndefined(messageOf({}))
    assert.isUndefined(messageOf({ maxByte: undefined }))
    assert.isUndefined(messageOf(Object.create({ inherited: 1 }) as object))
  })

  it("with any other name are refused, under that name and with those that there are", () => {
    fc.assert(fc.property(fc.stringMatching(/^[a-z]{1,20}$/).filter((name) => !known.has(name)), (name) => {
      const error = KnownOptions.problem("Pool.open", { label: "x", [name]: 1 }, known)
      strictEqual(error?.reason._tag, "InvalidRequest")
      assert.include(error?.message, `Pool.open: there is no option "${name}". `)
      assert.include(error?.message, "The options are maxBytes, maxFraction and label.")
    }))
  })

  it("come with the one that was probably meant", () => {
    strictEqual(
      messageOf({ maxByte: 1 }),
      `Pool.open: there is no option "maxByte". Did you mean maxBytes? ` +
        "The options are maxBytes, maxFraction and label."
    )
    strictEqual(
      KnownOptions.problem("Queue.write", { ofset: 4 }, new Set(["offset"]))?.message,
      `Queue.write: there is no option "ofset". Did you mean offset? The only option is offset.`
    )
  })

  it.each([
    ["lable", "label"],
    ["MAXBYTES", "maxBytes"],
    ["max_bytes", "maxBytes"],
    ["fraction", "maxFraction"],
    ["labels", "label"],
    ["maxBytesOfPool", "maxBytes"],
    ["timeout", undefined],
    ["x", undefined],
    ["", undefined],
    ["m".repeat(50), undefined]
  ])("finds for %j what is nearest", (written, expected) => {
    strictEqual(KnownOptions.nearest(written, [...known]), expected)
  })

  it("guesses no name of one or two letters but by its case", () => {
    strictEqual(KnownOptions.nearest("b", ["x", "a"]), undefined)
    strictEqual(KnownOptions.nearest("X", ["x", "a"]), "x")
  })
})
