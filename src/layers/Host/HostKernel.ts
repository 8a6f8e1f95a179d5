/**
 * Kernels of the host backend: a function over a range of items, and what is put around it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as DType from "../../domain/data/DType.ts"
import { elementBytes, partsOf } from "../../domain/data/ValueType.ts"
import { numberOf, parametersOf } from "../../domain/kernel/DispatchParameters.ts"
import type { Kernel } from "../../domain/kernel/Kernel.ts"
import type { HostGroup } from "../../domain/kernel/Workgroup.ts"
import { CompiledKernel, type KernelCompiler } from "../../services/device/KernelCache.ts"
import type { Dispatch } from "../../services/device/QueueDriver.ts"
import { localMemory } from "./HostGroups.ts"
import type { HostBuffer } from "./HostMemory.ts"
import { kernelImage } from "./images/HostKernelImage.ts"
import { writer } from "./language/JavaScript.ts"

/**
 * A body as it is called: its argument object is built from the kernel's own arguments, so it has the shape that the
 * body declares.
 */
type Body = (from: number, to: number, args: BodyArguments) => void

/** The same of a kernel that is written for workgroups. */
type GroupBody = (group: HostGroup, args: BodyArguments) => void

/** The argument object of a body. */
export type BodyArguments = Readonly<Record<string, unknown>>

/** A kernel that the host can run. */
export class HostKernel extends CompiledKernel {
  readonly body: Body & GroupBody
  readonly parameters: ReturnType<typeof parametersOf>
  /** Index of the scalar that says how many elements an item computes; -1 without one. */
  readonly #work: number

  constructor(kernel: Kernel, body: Body & GroupBody) {
    super(kernel)
    this.body = body
    this.parameters = parametersOf(kernel)
    this.#work = kernel.args.filter(({ _tag }) => _tag === "ScalarArg").findIndex(({ name }) =>
      name === kernel.workPerItem
    )
  }

  /** How many items run in one task of the event loop when `items` items of one element each would. At least one. */
  itemsOfTask(items: number, scalars: Dispatch["scalars"]): number {
    const work = Number(scalars[this.#work])
    return work > 1 ? Math.max(1, Math.floor(items / work)) : items
  }
}

/**
 * The argument object of a body: the numbers of whole elements of each vector's requested size, first elements of those with an
 * offset, scalars, which are rounded already, images, samplers, and local memory. `bufferOf` gives the buffers of the vectors and then
 * those of the images.
 */
export const bodyArguments = (
  { parameters }: HostKernel,
  dispatch: Dispatch,
  bufferOf: (index: number) => HostBuffer
): BodyArguments => {
  const result: Record<string, unknown> = {}
  for (const parameter of parameters) {
    const { argument: { name }, index } = parameter
    switch (parameter.from) {
      case "image": {
        const buffer = bufferOf(dispatch.vectors.length + index)
        result[name] = kernelImage(parameter.argument, dispatch.images[index]!, buffer)
        break
      }
      case "sampler":
        result[name] = dispatch.samplers[index]!.options
        break
      case "scalar":
        result[name] = dispatch.scalars[index]!
        break
      case "length": {
        const { base, memory } = bufferOf(index)
        const length = numberOf(parameter, dispatch) as number
        const { dtype } = parameter.argument
        const { element } = partsOf(dtype)
        result[name] = DType.viewUnsafe(element, memory, base, length * elementBytes(dtype) / DType.byteSize(element))
        break
      }
      case "offset":
        result[`${name}_offset`] = dispatch.vectors[index]!.offset
        break
      case "local":
        result[name] = localMemory(parameter.argument)
    }
  }
  return result
}

/** The host's compiler: it translates nothing. */
export const compiler: KernelCompiler<HostKernel> = {
  writer: Effect.succeed(writer),
  compile: (kernel, { body }) => Effect.succeed(new HostKernel(kernel, body as HostKernel["body"])),
  release: () => {}
}
