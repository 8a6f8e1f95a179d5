import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import { shapes } from "../support/deepSources.ts"
import { describeWith, oclgrindVendors, openClDriversIn } from "../support/required.ts"

const program = fileURLToPath(new URL("../support/deepKernels.ts", import.meta.url))

type Ending = readonly [shape: string, depth: number, end: string]

/** Compiles in a process of its own, because a compiler that overflows its stack ends the process. */
const endings = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}): ReadonlyArray<Ending> => {
  const child = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    env: { ...process.env, ...env }
  })
  const lines = child.stdout.trim().split("\n")
  strictEqual(child.status, 0, `after ${lines.at(-1)}: ${child.signal} ${child.stderr.slice(-500)}`)
  return lines.map((line) => JSON.parse(line) as Ending)
}

/** Checks that accepted sources compile or fail with a compiler's error, and that deeper ones are refused. */
const unexpectedOpenCl = (found: ReadonlyArray<Ending>): ReadonlyArray<Ending> => {
  const names = shapes("opencl").map(([name]) => name)
  deepStrictEqual(found.map(([name]) => name), names.flatMap((name) => [name, name, name]))
  return found.filter(([, , end], index) => {
    const expected = index % 3 === 0 ? ["done", "DriverError"] : ["InvalidRequest"]
    return !expected.includes(end)
  })
}

const ordinary: ReadonlyArray<Ending> = [
  ["parentheses", 40, "done"],
  ["terms of a sum", 600, "done"],
  ["nested ifs", 50, "done"]
]

const unexpectedWgsl = (found: ReadonlyArray<Ending>): ReadonlyArray<Ending> => {
  strictEqual(new Set(found.map(([name]) => name)).size, shapes("wgsl").length)
  return found.filter(([name, depth, end]) => {
    const isOfStatements = name === "a chain of else if" || name === "nested ifs"
    const expected = isOfStatements && depth > 64 ? ["InvalidRequest"] : ["done", "DriverError"]
    return !expected.includes(end)
  })
}

describeWith(["opencl"], "The stack of PoCL's compiler", () => {
  it("holds what is accepted", () => deepStrictEqual(unexpectedOpenCl(endings(["opencl"])), []))

  it("holds what ordinary kernels have, and they run", () => deepStrictEqual(endings(["opencl", "run"]), ordinary))

  it.effect("is named with what a kernel may need", () =>
    Effect.gen(function*() {
      const kernel = Kernel.make({
        name: "deep",
        args: [VectorArg("f32", "x")],
        body: { opencl: `x[i] = ${"(float)".repeat(1000)}1;` }
      })
      const error = yield* Effect.flip(KernelCache.get(kernel))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, `kernel "deep": the OpenCL C is nested too deeply`)
      assert.match(error.message, /may take 12\d\d\d KiB of stack, and there are 8192/)
      assert.notInclude(error.message, "koffi")
    }).pipe(Effect.provide(OpenCl.layer())))

  it.effect("is as small as another library of the program's has left it, and errors say so", () =>
    Effect.gen(function*() {
      const kernel = Kernel.make({
        name: "deep",
        args: [VectorArg("f32", "x")],
        body: { opencl: `x[i] = ${"(".repeat(20)}1${")".repeat(20)};` }
      })
      const koffi = yield* Effect.promise(() => import("koffi"))
      const config = (...changes: ReadonlyArray<unknown>) => {
        if (changes.length > 0) throw new Error("Cannot change Koffi configuration once a library has been loaded")
        return { ...koffi.config(), async_stack_size: 131_072 }
      }
      const api = yield* OpenCl.load({ koffi: () => Promise.resolve({ ...koffi.default, config }) })
      strictEqual(api.asyncStackBytes, 131_072)
      const error = yield* Effect.flip(Effect.provide(KernelCache.get(kernel), OpenCl.layerFrom(api)))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "koffi.config({ async_stack_size: 8388608 })")
    }))
})

describeWith(["oclgrind"], "The stack of Oclgrind's compiler", () => {
  const env = openClDriversIn(oclgrindVendors() ?? "")

  it("holds what is accepted", () => deepStrictEqual(unexpectedOpenCl(endings(["opencl"], env)), []))

  it("holds what ordinary kernels have, and they run", () => deepStrictEqual(endings(["opencl", "run"], env), ordinary))
})

describeWith(["webgpu"], "Deep WGSL", () => {
  it("compiles, or has a typed error", () => deepStrictEqual(unexpectedWgsl(endings(["webgpu"])), []))

  it("runs where kernels are ordinary", () => {
    const [parentheses, sum, ifs] = endings(["webgpu", "run"])
    deepStrictEqual([parentheses?.[2], ifs?.[2]], ["done", "done"])
    // WGSL's compilers have limits of their own, of 512 terms
    strictEqual(sum?.[2], "DriverError")
  })
})
