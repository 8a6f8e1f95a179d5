import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as SourceExcerpt from "../../src/domain/kernel/SourceExcerpt.ts"

const source = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1} of it;`).join("\n")

describe("an excerpt of source", () => {
  it.each([
    ["WGSL", "6:11 error: unresolved value 'nope'"],
    ["clang", "kernel.cl:6:11: error: use of undeclared identifier 'nope'"],
    ["PoCL", "error: tempfile_1.cl:6:11: use of undeclared identifier 'nope'\nDevice cpu failed to build."],
    ["Intel", "1:6:11: error: use of undeclared identifier 'nope'"],
    ["NVIDIA", "<kernel>:6:11: error: use of undeclared identifier 'nope'"],
    ["an old compiler", `"a.cl", line 6: error: identifier "nope" is undefined`]
  ])("has the line that a log of %s speaks of, and two around it", (_, log) => {
    strictEqual(
      SourceExcerpt.of(source(20), log),
      "  4 | line 4 of it;\n  5 | line 5 of it;\n> 6 | line 6 of it;\n  7 | line 7 of it;\n  8 | line 8 of it;"
    )
  })

  it("has several places, each once, with a gap between those that are far apart", () => {
    strictEqual(
      SourceExcerpt.of(source(100), "99:1 error: a\n2:1 error: b\n99:7 error: c\n3:1 error: d"),
      [
        "    1 | line 1 of it;",
        ">   2 | line 2 of it;",
        ">   3 | line 3 of it;",
        "    4 | line 4 of it;",
        "    5 | line 5 of it;",
        "      ...",
        "   97 | line 97 of it;",
        "   98 | line 98 of it;",
        ">  99 | line 99 of it;",
        "  100 | line 100 of it;"
      ].join("\n")
    )
  })

  it("is the beginning of the source where the log names no line of it", () => {
    strictEqual(SourceExcerpt.of("one\ntwo\n", "error: too many registers"), "  1 | one\n  2 | two")
    const [first, ...others] = SourceExcerpt.of(source(30), "kernel.cl:31:1: error: end of file").split("\n")
    strictEqual(first, "   1 | line 1 of it;")
    strictEqual(others.length, 24)
    strictEqual(others.at(-1), "  ... and 6 more lines")
  })

  it("never shows a line that is not there, nor more than a reader can use", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (text, log) => {
      const shown = SourceExcerpt.of(text, log).split("\n")
      assert.isAtMost(shown.length, 25)
      for (const line of shown) assert.isAtMost(line.length, 500)
    }))
  })
})
