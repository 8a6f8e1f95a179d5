/** Kernels: the text of a host body, of which every thread makes a function. */
import { Effect } from "effect"
import { type DeviceContext, GpuError, Kernel } from "effect-gpu-pool"
import { KernelCache } from "effect-gpu-pool/backend"
import { backend, driverError } from "./DriverErrors.ts"
import type { Pipeline } from "./Pipeline.ts"
import type { Threads } from "./Threads.ts"

export class WorkersKernel extends KernelCache.CompiledKernel {
  /** What the threads know it by. */
  readonly id: number

  constructor(kernel: Kernel.Kernel, id: number) {
    super(kernel)
    this.id = id
  }
}

/** Compiles at once, apart from the queue; forgets in its order, after the dispatches that are still to run. */
export const compiler = (
  threads: Threads,
  pipeline: Pipeline,
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
    key: (kernel) =>
      JSON.stringify([Kernel.hostSource(kernel), kernel.name, kernel.args, kernel.workgroupSize, kernel.workPerItem]),
    compile: (kernel) => {
      const source = Kernel.hostSource(kernel)
      return source === undefined ? withoutBody(kernel) : compile(kernel, source)
    },
    release: ({ id }) => {
      driverObjects.remove("kernel")
      pipeline.enqueue({
        tasks: () => Array.from({ length: threads.count }, () => ({ _tag: "forget", kernel: id })),
        done: () => {}
      })
    }
  }
}

const withoutBody = ({ name }: Kernel.Kernel): GpuError.GpuError =>
  GpuError.make(
    new GpuError.Unsupported({
      operation: `KernelCache.get, kernel "${name}"`,
      backend,
      feature: "a kernel without a host body",
      hint: "Give the kernel a body.host, or run it on a backend that it has a body for."
    })
  )
