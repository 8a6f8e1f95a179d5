/** Over every public name, and over every call of one, an editor shows its documentation. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll } from "vitest"
import { packages, root } from "./support/packages.ts"
import { Editor } from "./support/quickInfo.ts"

mkdirSync(join(root, "test-results"), { recursive: true })
const scratch = mkdtempSync(join(root, "test-results/quick-info-"))
afterAll(() => rmSync(scratch, { recursive: true }))

/** The packages as they are installed. */
const installed = (): Editor => {
  // Without its own package.json the folder would belong to this package, whose name resolves to the last build.
  writeFileSync(join(scratch, "package.json"), JSON.stringify({ type: "module" }))
  const args = ["scripts/build.ts", "--into", scratch]
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  assert.strictEqual(status, 0, stdout + stderr)
  // A module with a path of its own, as `./BufferPool`, is the same as the entry point's namespace of that name.
  const entries = packages.flatMap(({ exports, name }) =>
    Object.keys(exports).filter((entry) => entry !== "./package.json" && !/^\.\/[A-Z]/.test(entry))
      .map((entry) => `${name}${entry.slice(1)}`)
  )
  writeFileSync(
    join(scratch, "entries.ts"),
    entries.map((entry, index) => `export * as e${index} from "${entry}"`).join("\n")
  )
  return new Editor(scratch)
}

/** A call for each number of arguments. The arguments are of type `any`, which fits every signature. */
const callsOf = (path: string, arities: ReadonlyArray<number>): ReadonlyArray<string> =>
  [...new Set(arities)].map((count) => `void ${path}(${Array.from({ length: count }, () => "any").join(", ")})`)

const imports = `import * as entries from "./entries.ts"\ndeclare const any: any`

const statement = (path: string, code: string) => ({ code, at: `entries.${path}` })

/** Names for which an editor shows no documentation, or other documentation over a call than over the name. */
const undocumented = (editor: Editor): ReadonlyArray<string> => {
  const exports = editor.exports()
  const names = exports.flatMap(({ isType, isValue, path }) => [
    ...isValue ? [statement(path, `void entries.${path}`)] : [],
    ...isType ? [statement(path, `type T = entries.${path}`)] : []
  ])
  const calls = exports.flatMap(({ arities, path }) =>
    callsOf(`entries.${path}`, arities).map((code) => statement(path, code))
  )
  // Lines may break elsewhere: over an overload stands the same paragraph, farther to the right.
  const shown = editor.hover(imports, [...names, ...calls]).map((text) => text.replaceAll(/\s+/g, " "))
  const docs = new Map(names.map(({ code }, index) => [code, shown[index]!]))
  return [...names, ...calls].filter(({ at, code }, index) =>
    shown[index] === "" || (!docs.has(code) && !docs.get(`void ${at}`)!.includes(shown[index]!))
  ).map(({ code }) => code)
}

const nameIn = (code: string): string => /(?:DeviceArray|Expr)\.\w+/.exec(code)![0]

const editor = installed()

describe("what an editor shows", () => {
  it("sees every entry point", () => {
    const exports = editor.exports()
    assert.isAbove(exports.length, 600)
    for (
      const name of [
        "BufferPool.layer",
        "DeviceArray.sum",
        "Arbitraries.sizes",
        "Svm.view",
        "Host.layer",
        "Devices.list"
      ]
    ) {
      assert(exports.some(({ path }) => path.endsWith(`.${name}`)), name)
    }
  })

  it("has no more than 356 exports in the root", () => {
    const names = editor.exports().map(({ path }) => path).filter((path) => path.startsWith("e0."))
    assert.isAbove(names.length, 200)
    assert.isAtMost(names.length, 356, `the root exports ${names.length} members of its namespaces`)
  })

  it("is the documentation, over every export and every call of one", () => {
    deepStrictEqual(undocumented(editor), [])
  })

  it("is the same for calls data-first and data-last", () => {
    const given = `import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Expr } from "@effect-gpu-pool/arrays"
import { pipe } from "effect"
declare const x: DeviceArray.DeviceArray<"f32">
declare const e: Expr.Expr<"f32">`
    const first = [
      "DeviceArray.sum(x)",
      "DeviceArray.add(x, 1)",
      "DeviceArray.add(x, x)",
      "DeviceArray.reshape(x, [1])"
    ]
    const last = [
      "DeviceArray.sum({ axis: 0 })",
      "DeviceArray.add(1)",
      "DeviceArray.add(x)",
      "DeviceArray.reshape([1])"
    ]
    const others = [
      "DeviceArray.matmul(x, x)",
      "pipe(x, DeviceArray.matmul(x))",
      "DeviceArray.fromHost(Float32Array.of(1))",
      "DeviceArray.fromHost([1, 2], { dtype: \"i32\" })",
      "Expr.add(e, 1)",
      "pipe(e, Expr.add(1))",
      "pipe(e, Expr.clip(0, 1))"
    ]
    const codes = [...first, ...last.map((call) => `pipe(x, ${call})`), ...others]
    const shown = editor.hover(given, codes.map((code) => ({ code: `void ${code}`, at: nameIn(code) })))
    const beginnings: Readonly<Record<string, string>> = {
      "DeviceArray.sum": "The sum of the elements, 0 of none, in",
      "DeviceArray.add": "The sum. Integers wrap around.",
      "DeviceArray.reshape": "The elements in another shape",
      "DeviceArray.matmul": "The matrix product",
      "DeviceArray.fromHost": "An array of a program's data",
      "Expr.add": "The sum. Integers wrap around.",
      "Expr.clip": "The number moved between two limits"
    }
    codes.forEach((code, index) =>
      assert(shown[index]!.startsWith(beginnings[nameIn(code)]!), `${code}: ${shown[index]}`)
    )
  })
})

const forms = "number | bigint | `${number} MiB` | `${number} GiB` | `${number}%` | \"unlimited\" | (string & {})"

/** The option that a call names. */
const at = (code: string): string => /\w+(?=: 1)/.exec(code)![0]

describe("the types that an editor shows", () => {
  it("show the forms of a limit", () => {
    const given = `import { BufferPool, StagingPool } from "effect-gpu-pool"
import { LimitingAllocator } from "effect-gpu-pool/allocators"`
    const options = [
      "BufferPool.layer({ maxBytes: 1 })",
      "BufferPool.layer({ maxHeldBytes: 1 })",
      "BufferPool.layer({ idleKeepBytes: 1 })",
      "LimitingAllocator.layer({ maxBytes: 1 })",
      "StagingPool.layer({ maxBytes: 1 })"
    ]
    const shown = editor.types(given, options.map((code) => ({ code: `void ${code}`, at: at(code) })))
    shown.forEach((text, index) => {
      const name = new RegExp(`[ .]${at(options[index]!)}\\?: `)
      assert.match(text, name)
      const shownForms = text.slice(text.search(name)).replace(name, "").split(" | ")
      assert.sameMembers(shownForms, `${forms} | undefined`.split(" | "))
    })
    const [limit] = editor.types(given, [{ code: `void BufferPool.setLimit("1 GiB")`, at: "BufferPool.setLimit" }])
    assert.include(limit, "limit: BufferPool.ByteAmount | ")
  })

  it("name the services of each backend by names of their own", () => {
    const given = `import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
declare const backend: "host" | "opencl" | "webgpu"`
    const code =
      `const gpu = backend === "host" ? Host.layer() : backend === "opencl" ? OpenCl.layer() : WebGpu.layer()`
    const [shown] = editor.types(given, [{ code, at: "gpu" }])
    const layers = ["Host", "OpenCl", "WebGpu"].map((name) => `Layer<${name}Services, GpuError`)
    for (const layer of layers) assert.include(shown, layer)
  })
})

describe("the check", () => {
  it("finds names and calls without documentation, or with that of another name", () => {
    const folder = join(scratch, "planted")
    mkdirSync(folder)
    writeFileSync(join(folder, "entries.ts"), `export * as e0 from "./planted.js"`)
    writeFileSync(
      join(folder, "planted.d.ts"),
      `
/** Well. */
export declare const good: {
  /** Well. */
  (a: number): string
  (a: number, b: number): string
}
/** One signature needs none of its own. */
export declare const single: (a: number) => string
export declare const bare: (a: number) => string
/** Lost where it is called. */
export declare const lost: { (a: number): string; (a: number, b: number): string }
/** Mine. */
export declare const foreign: {
  /** Another's. */
  (a: number): string
  (a: number, b: number): string
}
/** An interface. */
export interface Told {}
export interface Untold {}
`
    )
    deepStrictEqual(undocumented(new Editor(folder)), [
      "void entries.e0.bare",
      "type T = entries.e0.Untold",
      "void entries.e0.bare(any)",
      "void entries.e0.lost(any)",
      "void entries.e0.lost(any, any)",
      "void entries.e0.foreign(any)",
      "void entries.e0.foreign(any, any)"
    ])
  })
})
