/**
 * What a dispatch passes to a kernel, parameter by parameter.
 *
 * @internal
 */
import { elementBytes, type HeldValue, type ValueType } from "../data/ValueType.ts"
import type { Kernel } from "./Kernel.ts"
import type { ImageArg, LocalArg, SamplerArg, ScalarArg, VectorArg } from "./KernelArgument.ts"
import type { Extents } from "./Workgroup.ts"

/** The numbers of a dispatch. */
interface Dispatch {
  readonly count: number
  readonly range?: Extents | undefined
  readonly scalars: ReadonlyArray<HeldValue>
  readonly vectors: ReadonlyArray<{ readonly size: number; readonly offset: number }>
}

interface Of<From extends string, Argument> {
  readonly from: From
  readonly argument: Argument
  /** Counts the scalars, vectors, images or samplers of the kernel. */
  readonly index: number
}

/** How much a dispatch runs: items, or those of each dimension. */
export type SizeParameter = { readonly from: "count" } | { readonly from: "range" }

/** What is passed as numbers. */
export type NumberParameter = SizeParameter | Of<"scalar", ScalarArg> | Of<"length" | "offset", VectorArg>

/** What is passed by its handle. */
export type ObjectParameter = Of<"memory", VectorArg> | Of<"image", ImageArg> | Of<"sampler", SamplerArg>

/** Memory of a workgroup, of which nothing is passed but its length. */
export type LocalParameter = Of<"local", LocalArg>

export type Parameter = NumberParameter | ObjectParameter | LocalParameter

/** What stands for an argument. */
export type ArgumentParameter = Exclude<Parameter, SizeParameter>

/** How a body learns how much runs. A source of the program's own learns it by its scalars. */
export const sizeParametersOf = ({ form }: Pick<Kernel, "form">): ReadonlyArray<SizeParameter> =>
  form === "source" ? [] : [{ from: form === "groups" ? "range" : "count" }]

/** In the order of the arguments, without the count: of a vector its memory, its length in elements, and its offset. */
export const parametersOf = ({ args }: Pick<Kernel, "args">): ReadonlyArray<ArgumentParameter> => {
  const seen = { ScalarArg: 0, VectorArg: 0, ImageArg: 0, SamplerArg: 0, LocalArg: 0 }
  return args.flatMap((argument): ReadonlyArray<ArgumentParameter> => {
    const index = seen[argument._tag]++
    switch (argument._tag) {
      case "ScalarArg":
        return [{ from: "scalar", argument, index }]
      case "ImageArg":
        return [{ from: "image", argument, index }]
      case "SamplerArg":
        return [{ from: "sampler", argument, index }]
      case "LocalArg":
        return [{ from: "local", argument, index }]
      case "VectorArg": {
        const parts = argument.withOffset ? ["length", "offset"] as const : ["length"] as const
        return [{ from: "memory", argument, index }, ...parts.map((from) => ({ from, argument, index }))]
      }
    }
  })
}

/** Those that are passed to code: a source of the program's own gets no lengths. */
export const passedTo = (kernel: Pick<Kernel, "args" | "form">): ReadonlyArray<ArgumentParameter> =>
  parametersOf(kernel).filter(({ from }) => from !== "length" || kernel.form !== "source")

export const isNumber = (parameter: Parameter): parameter is NumberParameter =>
  parameter.from !== "memory" && parameter.from !== "image" && parameter.from !== "sampler" &&
  parameter.from !== "local"

/** The type of its numbers. */
export const typeOf = (parameter: NumberParameter): ValueType =>
  parameter.from === "scalar" ? parameter.argument.dtype : parameter.from === "range" ? "vec3<u32>" : "u32"

export const numberOf = (parameter: NumberParameter, { count, range, scalars, vectors }: Dispatch): HeldValue => {
  switch (parameter.from) {
    case "count":
      return count
    case "range":
      return range!
    case "scalar":
      return scalars[parameter.index]!
    case "length":
      return Math.floor(vectors[parameter.index]!.size / elementBytes(parameter.argument.dtype))
    case "offset":
      return vectors[parameter.index]!.offset
  }
}
