/** The recording of a program that leaks, in the viewer: its line has the memory, and more of it from step to step. */
import { Recording, Viewer } from "@effect-gpu-pool/observability"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { leaksOf, programs } from "../../packages/interop/test/leaks/programs.ts"
import { colorOf } from "../../packages/observability/src/viewer/page/charts/Colors.ts"
import { describeWith } from "../support/required.ts"
import { ViewerPages } from "./ViewerPages.ts"

describeWith(["chromium"], "a leak that was observed, in the viewer", () => {
  layer(ViewerPages.layer, { timeout: "2 minutes" })((it) => {
    it.effect.each(programs)("of $library is the largest holder, and grows", (program) =>
      Effect.gen(function*() {
        const { line, recording } = yield* Effect.promise(() => leaksOf(program))
        const html = yield* Viewer.html(yield* Recording.fromLines(recording), { title: program.library })
        const view = yield* (yield* ViewerPages).open(html)
        yield* Effect.promise(async () => {
          // By events instead of time, and by call sites instead of labels.
          if ((await view.drawn()).view.axis === "time") await view.press("x")
          const { groups, plot, view: { to } } = await view.press("g", "End")
          assert.include(groups[0], line)
          const [first] = await view.holders()
          assert.include(first!.site, line)
          const heightAt = async (x: number) => (await view.colorsAt(x)).filter((color) => color === colorOf(0)).length
          const heights = [await heightAt(to * 0.1), await heightAt(to * 0.5), await heightAt(to - 0.5)]
          deepStrictEqual([...heights].sort((a, b) => a - b), heights)
          assert.isAbove(heights[2]!, heights[0]!)
          const held = (await view.holders()).filter(({ site }) => site === first!.site)
          const bytes = held.reduce((sum, holder) => sum + holder.bytes, 0)
          assert.closeTo(heights[2]!, bytes / plot.bytes * plot.height, 3)
          // Chromium warns of this test, which reads the canvas back.
          deepStrictEqual(view.complaints.filter((text) => !text.includes("getImageData")), [])
        })
      }))
  })
})
