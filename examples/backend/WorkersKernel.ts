/** Kernels: the text of a function, from which every thread makes the function. */
import { Effect } from "effect"
import { type DeviceContext, GpuError, type Kernel } from "effect-gpu-pool"
import { KernelCache, type LanguageWriter } from "effect-gpu-pool/backend"
import { JavaScript } from "effect-gpu-pool/host"
import { driverError } from "./DriverErrors.ts"
import type { Pipeline } from "./Pipeline.ts"
import type { Threads } from "./Threads.ts"

/** A language in which the threads' kernels are written. */
export interface ThreadLanguage {
  readonly writer: LanguageWriter.LanguageWriter
  /** The text of the function of a range of items. Throws the error of a wrong body. */
  readonly functionText: (kernel: Kernel.Kernel, source: Kernel.KernelSource) => string
}

/** Functions, as on the host. */
export const javaScript: ThreadLanguage = {
  writer: JavaScript.writer,
  functionText: (_, { body }) => JavaScript.textOf(body)
}

export class WorkersKernel extends KernelCache.CompiledKernel {
  /** Its number in the threads. */
  readonly id: number

  constructor(kernel: Kernel.Kernel, id: number) {
    super(kernel)
    this.id = id
  }
}

/** Compiles at once, outside the queue. Forgets a kernel in queue order, after the dispatches that are still to run. */
export const compiler = (
  threads: Threads,
  pipeline: Pipeline,
  language: ThreadLanguage,
  { driverObjects, status }: Pick<DeviceContext.DeviceContext["Service"], "driverObjects" | "status">
): KernelCache.KernelCompiler<WorkersKernel> => {
  let kernels = 0
  const compile = (kernel: Kernel.Kernel, source: string) =>
    Effect.callback<WorkersKernel, GpuError.GpuError>((resume) => {
      const compiled = new WorkersKernel(kernel, kernels++)
      threads.runOnAll({ _tag: "define", kernel: compiled.id, source }, (answers) => {
        const problem = answers.find((answer) => answer.problem !== undefined)?.problem
        if (problem !== undefined) return resume(status.error ?? driverError("compile", problem, []))
        driverObjects.add("kernel")
        resume(Effect.succeed(compiled))
      })
    })
  return {
    writer: Effect.succeed(language.writer),
    compile: (kernel, source) =>
      Effect.flatMap(
        Effect.try({ try: () => language.functionText(kernel, source), catch: asError }),
        (text) => compile(kernel, text)
      ),
    release: ({ id }) => {
      driverObjects.remove("kernel")
      pipeline.enqueue({
        tasks: () => Array.from({ length: threads.count }, () => ({ _tag: "forget", kernel: id })),
        done: () => {}
      })
    }
  }
}

const asError = (thrown: unknown): GpuError.GpuError =>
  GpuError.isGpuError(thrown) ? thrown : driverError("compile", String(thrown), [])
