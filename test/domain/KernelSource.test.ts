import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { type GpuError, isGpuError, unsupported } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { keyOf, sourceIn } from "../../src/domain/kernel/KernelSource.ts"
import type { LanguageWriter } from "../../src/domain/language/LanguageWriter.ts"
import { writer as javaScript } from "../../src/layers/Host/language/JavaScript.ts"
import { openClC } from "../../src/layers/OpenCl/language/OpenClC.ts"
import { wgsl } from "../../src/layers/WebGpu/language/Wgsl.ts"

const args = [VectorArg("f32", "x")] as const

const written = (body: Kernel.KernelBodies<typeof args>, preamble?: Record<string, string>): Kernel.Kernel =>
  Kernel.make({ name: "k", args, body, preamble })

const sourceOf = (kernel: Kernel.Kernel, writer: LanguageWriter): Kernel.KernelSource => {
  const source = sourceIn(kernel, writer, "test")
  if (isGpuError(source)) throw source
  return source
}

const problemOf = (kernel: Kernel.Kernel, writer: LanguageWriter): GpuError => {
  const source = sourceIn(kernel, writer, "test")
  assert(isGpuError(source))
  return source
}

const host = (): void => {}

const key = (kernel: Kernel.Kernel, writer: LanguageWriter = wgsl) => keyOf(kernel, sourceOf(kernel, writer))

describe("the source of a kernel", () => {
  it("is what was written by hand in the language, with what stands before it", () => {
    const kernel = written({ wgsl: "w", opencl: "o", host }, { opencl: "before" })
    assert.deepStrictEqual(sourceOf(kernel, wgsl), { body: "w", preamble: "" })
    assert.deepStrictEqual(sourceOf(kernel, openClC), { body: "o", preamble: "before" })
    strictEqual(sourceOf(kernel, javaScript).body, host)
  })

  it.each([[wgsl, "a WGSL", "wgsl"], [openClC, "an OpenCL C", "opencl"], [javaScript, "a host", "host"]] as const)(
    "is Unsupported where there is none, which says what there is",
    (writer, said, id) => {
      const problem = problemOf(written({ wgls: "x[i] = 1;" }), writer)
      strictEqual(problem.reason._tag, "Unsupported")
      assert.include(problem.message, `a kernel without ${said} body`)
      assert.include(problem.message, `Give the kernel a body.${id}`)
      assert.include(problem.message, "which are body.wgls.")
    }
  )

  it("is text or a function, as the language has it", () => {
    strictEqual(problemOf(written({ wgsl: () => {} }), wgsl).reason._tag, "InvalidRequest")
    strictEqual(problemOf(written({ host: "x[i] = 1" }), javaScript).reason._tag, "InvalidRequest")
  })

  it("is written once for each language, where it has no body by hand, also in copies of the kernel", () => {
    const asked: Array<string> = []
    const kernel: Kernel.Kernel = Kernel.define({ name: "k", args, body: { opencl: "by hand" } }, ({ language }) => {
      asked.push(language.id)
      return { body: `in ${language.name}`, preamble: "" }
    })
    for (const copy of [kernel, { ...kernel }, Kernel.fixed({ ...kernel })]) {
      strictEqual(sourceOf(copy, wgsl).body, "in WGSL")
      strictEqual(sourceOf(copy, openClC).body, "by hand")
    }
    assert.deepStrictEqual(asked, ["wgsl"])
  })

  it("is the error that a writer throws for what its language lacks, and a defect for anything else", () => {
    const lacking = Kernel.define({ name: "k", args, body: {} }, () => {
      throw unsupported("KernelCache.get", "test", "sines", "Use cosines.")
    })
    assert.include(problemOf(lacking, wgsl).message, "sines")
    const wrong = Kernel.define({ name: "k", args, body: {} }, () => {
      throw new RangeError("a mistake")
    })
    assert.throws(() => sourceIn(wrong, wgsl, "test"), RangeError, "a mistake")
  })

  it("is refused where an argument has a word of the language", () => {
    const problem = problemOf(written({ wgsl: "" }), { ...wgsl, reserved: new Set(["x"]) })
    strictEqual(problem.reason._tag, "InvalidRequest")
    assert.include(problem.message, `"x" is a word that WGSL reserves`)
  })

  it("makes the key by which a compiled kernel is found", () => {
    strictEqual(key(written({ wgsl: "a" })), key(written({ wgsl: "a", opencl: "other" })))
    assert.notStrictEqual(key(written({ wgsl: "a" })), key(written({ wgsl: "b" })))
    assert.notStrictEqual(key(written({ wgsl: "a" })), key(written({ wgsl: "a" }, { wgsl: "before" })))
    strictEqual(key(written({ host }), javaScript), key(written({ host }), javaScript))
    assert.notStrictEqual(key(written({ host }), javaScript), key(written({ host: () => {} }), javaScript))
  })
})
