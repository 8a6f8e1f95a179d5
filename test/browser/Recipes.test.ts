/** The programs of docs/libraries.md, in Chromium; `test/docs.test.ts` runs them in Node. */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { examplesOfMarkdown, executable } from "../support/examples.ts"
import { describeWith } from "../support/required.ts"
import { bundle, FreshPages } from "./Chromium.ts"

const file = "docs/libraries.md"
const recipes = examplesOfMarkdown(file, readFileSync(join(import.meta.dirname, "../..", file), "utf8"))

/** As a script for a page. */
const scriptOf = async (code: string): Promise<string> =>
  (await bundle({
    stdin: { contents: code, loader: "ts", resolveDir: import.meta.dirname },
    alias: {
      webgpu: join(import.meta.dirname, "noWebGpu.ts"),
      "node:assert/strict": join(import.meta.dirname, "pageAssert.ts")
    }
  })).code

describe("the recipes", () => {
  test("are two of each library, and all of them run", () => {
    const counts = ["typegpu", "three/webgpu", "@jax-js/jax"].map((library) =>
      recipes.filter(({ code, runs }) => runs && code.includes(`from "${library}"`)).length
    )
    deepStrictEqual([counts, recipes.length], [[2, 2, 2], 6])
  })
})

describeWith(["chromium"], "the recipes, in Chromium", () => {
  layer(FreshPages.layer, { timeout: "2 minutes" })((it) => {
    it.effect.each(recipes)("line $line", (recipe) =>
      Effect.scoped(Effect.gen(function*() {
        const complaints: Array<string> = []
        const script = yield* Effect.promise(() => scriptOf(executable(recipe)))
        yield* (yield* FreshPages).open(script, complaints)
        deepStrictEqual(complaints, [])
      })))

    it.effect("tell when a result is another", () =>
      Effect.scoped(Effect.gen(function*() {
        const complaints: Array<string> = []
        const wrong = { ...recipes[0]!, code: recipes[0]!.code.replace("// => 1\n", "// => 2\n") }
        const script = yield* Effect.promise(() => scriptOf(executable(wrong)))
        const exit = yield* Effect.exit((yield* FreshPages).open(script, complaints))
        assert.match(String(exit), /1 is not 2/)
      })))
  })
})
