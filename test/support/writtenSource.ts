/** The source text of kernels in a language, as its backend compiles them. */
import { GpuError } from "../../src/domain/GpuError.ts"
import type * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { sourceIn } from "../../src/domain/kernel/KernelSource.ts"
import type { LanguageWriter } from "../../src/domain/language/LanguageWriter.ts"
import { writer as javaScript } from "../../src/layers/Host/language/JavaScript.ts"
import { openClC } from "../../src/layers/OpenCl/language/OpenClC.ts"
import { wgsl } from "../../src/layers/WebGpu/language/Wgsl.ts"

const sourceOf = (kernel: Kernel.Kernel, writer: LanguageWriter): Kernel.KernelSource => {
  const source = sourceIn(kernel, writer, "test")
  if (source instanceof GpuError) throw source
  return source
}

/** In a language whose bodies are text. */
const textIn = (kernel: Kernel.Kernel, writer: LanguageWriter) => {
  const { body, preamble } = sourceOf(kernel, writer)
  return { body: String(body), preamble }
}

export const inWgsl = (kernel: Kernel.Kernel) => textIn(kernel, wgsl)

export const inOpenClC = (kernel: Kernel.Kernel) => textIn(kernel, openClC)

/** The function of a range. */
export const inJavaScript = (kernel: Kernel.Kernel) =>
  sourceOf(kernel, javaScript).body as (from: number, to: number, args: Readonly<Record<string, unknown>>) => void
