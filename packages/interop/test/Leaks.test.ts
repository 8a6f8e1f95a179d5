/** In programs of five libraries, which know nothing of it, an observation names the line that leaks. */
import { Recording } from "@effect-gpu-pool/observability"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { leaksOf, programs } from "./leaks/programs.ts"

describe("a leak of each step", () => {
  it.effect.each(programs)("by $library is named by its line", (program) =>
    Effect.gen(function*() {
      const { line, recording, stderr } = yield* Effect.promise(() => leaksOf(program))
      const rows = stderr.split("\n").filter((row) => row.includes(line))
      const counts = rows.map((row) => Number(/ ([\d,]+) (?:buffer|texture)s?\b/.exec(row)![1]))
      assert.isAtLeast(counts.reduce((sum, count) => sum + count, 0), program.objects, stderr)
      // The library's own lines are not named: what else lives was made by the example, or while the library began.
      const first = stderr.split("\n")[1]!
      assert.include(first, line)
      const { blocks, ...read } = yield* Recording.fromLines(recording)
      const sites = Array.from(Recording.events({ ...read, blocks })).flatMap((event) =>
        event._tag === "Leased" && event.callSite?.includes(line) === true ? [event.callSite] : []
      )
      assert.isAtLeast(sites.length, program.objects)
      strictEqual(new Set(sites).size, 1)
    }))
})
