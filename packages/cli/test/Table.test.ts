/** Tables: no text is cut, and no line is longer than the width. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { runs } from "../../../test/support/explore.ts"
import { table } from "../src/Table.ts"

const word = fc.string({ unit: fc.constantFrom("a", "b", "/", "1"), minLength: 1, maxLength: 30 })
const text = fc.array(word, { maxLength: 5 }).map((words) => words.join(" "))

/** The text of a column's cells, without blanks. */
const said = (shown: string, at: number): string =>
  shown.split("\n").filter((line) => line.startsWith("│")).map((line) => line.split("│")[at + 1]!).join("").replace(
    /\s/g,
    ""
  )

describe("table", () => {
  it("keeps all that cells say, within its room", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text, fc.nat(1000).map(String)), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 40, max: 200 }),
        (rows, room) => {
          const columns = [{ head: "one", wraps: true }, { head: "other", wraps: true }, {
            head: "bytes",
            isRight: true
          }]
          const shown = table(columns, rows, room)
          const lengths = new Set(shown.split("\n").map(({ length }) => length))
          strictEqual(lengths.size, 1)
          assert.isAtMost(Math.max(...lengths), room)
          columns.forEach(({ head }, at) => {
            strictEqual(said(shown, at), [head, ...rows.map((row) => row[at]!)].join("").replace(/\s/g, ""))
          })
        }
      ),
      { numRuns: runs(300) }
    )
  })

  it("cuts wide characters and those of two halves nowhere", () => {
    const shown = table([{ head: "label", wraps: true }], [["漢字漢字漢字漢字漢字"], ["😀😀😀😀😀😀😀😀😀😀"]], 16)
    strictEqual(said(shown, 0), "label漢字漢字漢字漢字漢字😀😀😀😀😀😀😀😀😀😀")
  })

  it("leaves columns that do not wrap as they are, also where there is no room", () => {
    const strong = "\u001b[1m3\u001b[22m"
    assert.include(table([{ head: "waiting", isRight: true }], [[strong]], 5), `      ${strong} │`)
  })

  it("takes no line more than it must, and leaves narrow columns as they are", () => {
    const columns = [{ head: "name" }, { head: "path", wraps: true }, { head: "why", wraps: true }]
    strictEqual(
      table(columns, [["x", "/a/long/path/of/a/file.ts", "so"]], 30),
      [
        "┌──────┬───────────────┬─────┐",
        "│ name │ path          │ why │",
        "├──────┼───────────────┼─────┤",
        "│ x    │ /a/long/path/ │ so  │",
        "│      │ of/a/file.ts  │     │",
        "└──────┴───────────────┴─────┘"
      ].join("\n")
    )
  })
})
