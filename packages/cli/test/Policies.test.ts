/** Policies as a command line writes them, and programs that it loads. */
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll } from "vitest"
import * as ProgramFile from "../src/plan/ProgramFile.ts"
import { evictionPolicies, sizePolicyOf } from "../src/replay/PolicyText.ts"

const nameOf = (text: string): string => {
  const policy = sizePolicyOf(text)
  return typeof policy === "string" ? policy : policy.name
}

describe("size policies on a command line", () => {
  it.each([
    ["exact", "exact"],
    ["default", SizePolicy.defaultPolicy.name],
    ["leadingBits", "leadingBits(4)"],
    ["leadingBits:3", "leadingBits(3)"],
    ["sizeClasses:2", "sizeClasses(2)"],
    ["sizeClasses:4,borrow=1", "sizeClasses(4, borrow 1)"],
    ["sizeClasses(4, borrow 0.5)", "sizeClasses(4, borrow 0.5)"],
    ["table:4096,65536,borrow=2", "table(2 sizes, borrow 2)"]
  ])("reads %s", (text, name) => strictEqual(nameOf(text), name))

  it.each([SizePolicy.exact, SizePolicy.defaultPolicy, SizePolicy.leadingBits(2)])(
    "reads what is printed: $name",
    (policy) => {
      const read = sizePolicyOf(policy.name)
      assert(typeof read !== "string", String(read))
      for (const request of [1, 100, 4097, 1_000_000]) strictEqual(read.blockSize(request), policy.blockSize(request))
      strictEqual(read.borrow, policy.borrow)
    }
  )

  it.each([
    ["", /"" is no size policy: pass default, exact, leadingBits, sizeClasses, table/],
    ["best", /"best" is no size policy/],
    ["exact:4", /exact takes no number/],
    ["sizeClasses", /sizeClasses takes one number/],
    ["sizeClasses:4,5", /sizeClasses takes one number/],
    ["leadingBits:4,borrow=1", /leadingBits takes one number/],
    ["leadingBits:four", /"four" is neither a number nor borrow=NUMBER/],
    ["leadingBits:99", /bits 99 is no whole number from 0 to 52/],
    ["table", /table takes sizes in bytes/]
  ])("refuses %o", (text, problem) => assert.match(nameOf(text), problem))

  it("knows every order of eviction by its name", () => {
    for (const [name, policy] of Object.entries(evictionPolicies)) strictEqual(policy.name, name)
  })
})

/** Loads the effect of that name from a module. */
const load = (file: string, name?: string) => Effect.provide(ProgramFile.load(file, name), NodePath.layer)

const finds = (file: string, name: string | undefined, found: string) =>
  Effect.gen(function*() {
    const { program } = yield* load(file, name)
    const module = yield* Effect.promise(() => import(pathToFileURL(file).href) as Promise<Record<string, unknown>>)
    return program === module[found]
  })

const refused = (file: string, name?: string) => Effect.map(Effect.flip(load(file, name)), ({ message }) => message)

describe("programs that are loaded", () => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-programs-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  const effect = pathToFileURL(join(import.meta.dirname, "../../../node_modules/effect/dist/Effect.js")).href

  const written = (name: string, code: string): string => {
    const file = join(folder, name)
    writeFileSync(file, `import * as Effect from "${effect}"\n${code}`)
    return file
  }

  it.effect("are the default export, `program`, or what is named", () =>
    Effect.gen(function*() {
      const one = written(
        "one.ts",
        `export default Effect.succeed(1 as number)\nexport const other = Effect.succeed(2)`
      )
      const named = written("named.mjs", "export const program = Effect.succeed(3)")
      strictEqual(yield* finds(one, undefined, "default"), true)
      strictEqual(yield* finds(one, "other", "other"), true)
      strictEqual(yield* finds(named, undefined, "program"), true)
    }))

  it.effect("are refused with what they export, or why they do not load", () =>
    Effect.gen(function*() {
      const none = written("none.mjs", "export const answer = 42")
      assert.include(yield* refused(none), "exports no effect as default or program; it exports answer.")
      assert.include(yield* refused(none, "answer"), "exports no effect as answer; it exports answer.")
      assert.match(
        yield* refused(written("bad.mjs", `throw new Error("broken")`)),
        /cannot be loaded: Error: broken, at .*bad\.mjs:2/
      )
      assert.match(
        yield* refused(join(folder, "nowhere.ts")),
        /nowhere\.ts cannot be loaded: Error: Cannot find module/
      )
    }))
})
