/** Names that are cut to a width. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { columnsOf, withoutEnd, withoutMiddle } from "../src/ShortName.ts"

const name = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.array(fc.constantFrom("weights", "漢字", "👩‍👩‍👧", "é", "/", ", ", " (", "a"), { maxLength: 20 }).map((parts) =>
    parts.join("")
  )
)

const width = fc.integer({ min: 4, max: 50 })

describe("a name that is cut", () => {
  it.each([["without its end", withoutEnd], ["without its middle", withoutMiddle]])(
    "%s fits, and is whole where it fits",
    (_, cut) =>
      fc.assert(fc.property(name, width, (name, width) => {
        const short = cut(name, width)
        assert.isAtMost(columnsOf(short), Math.max(width, Math.min(width, columnsOf(name))))
        if (columnsOf(name) <= width) return strictEqual(short, name)
        const [head = "", tail = ""] = short.split("…")
        if (!name.includes("…")) assert.isTrue(name.startsWith(head) && name.endsWith(tail), short)
      }))
  )

  it("keeps whole words at its end, and both ends of a label", () => {
    deepStrictEqual(withoutEnd("webgpu llvmpipe (LLVM 19.1.7, 256 bits)", 30), "webgpu llvmpipe (LLVM 19.1.7…")
    deepStrictEqual(withoutEnd("an-unbroken-name-of-a-device", 10), "an-unbrok…")
    deepStrictEqual(withoutMiddle("frames of the left camera", 13), "frames o…mera")
    deepStrictEqual([columnsOf("漢字"), columnsOf("é"), columnsOf("👩‍👩‍👧")], [4, 1, 2])
  })
})
