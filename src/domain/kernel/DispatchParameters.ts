/**
 * What a dispatch passes to a kernel, parameter by parameter.
 *
 * @internal
 */
import * as DType from "../data/DType.ts"
import type { HeldValue, ValueType } from "../data/ValueType.ts"
import type { ImageArg, KernelArgument, SamplerArg, ScalarArg, VectorArg } from "./KernelArgument.ts"

/** The numbers of a dispatch. */
interface Dispatch {
  readonly count: number
  readonly scalars: ReadonlyArray<HeldValue>
  readonly vectors: ReadonlyArray<{ readonly size: number; readonly offset: number }>
}

interface Of<From extends string, Argument> {
  readonly from: From
  readonly argument: Argument
  /** Counts the scalars, vectors, images or samplers of the kernel. */
  readonly index: number
}

/** What is passed as numbers. */
export type NumberParameter = { readonly from: "count" } | Of<"scalar", ScalarArg> | Of<"length" | "offset", VectorArg>

/** What is passed by its handle. */
export type ObjectParameter = Of<"memory", VectorArg> | Of<"image", ImageArg> | Of<"sampler", SamplerArg>

export type Parameter = NumberParameter | ObjectParameter

/** What stands for an argument. */
export type ArgumentParameter = Exclude<Parameter, { readonly from: "count" }>

/** In the order of the arguments, without the count: of a vector its memory, its length in elements, and its offset. */
export const parametersOf = (args: ReadonlyArray<KernelArgument>): ReadonlyArray<ArgumentParameter> => {
  const seen = { ScalarArg: 0, VectorArg: 0, ImageArg: 0, SamplerArg: 0 }
  return args.flatMap((argument): ReadonlyArray<ArgumentParameter> => {
    const index = seen[argument._tag]++
    switch (argument._tag) {
      case "ScalarArg":
        return [{ from: "scalar", argument, index }]
      case "ImageArg":
        return [{ from: "image", argument, index }]
      case "SamplerArg":
        return [{ from: "sampler", argument, index }]
      case "VectorArg": {
        const parts = argument.withOffset ? ["length", "offset"] as const : ["length"] as const
        return [{ from: "memory", argument, index }, ...parts.map((from) => ({ from, argument, index }))]
      }
    }
  })
}

export const isNumber = (parameter: Parameter): parameter is NumberParameter =>
  parameter.from !== "memory" && parameter.from !== "image" && parameter.from !== "sampler"

/** The type of its numbers. */
export const typeOf = (parameter: NumberParameter): ValueType =>
  parameter.from === "scalar" ? parameter.argument.dtype : "u32"

export const numberOf = (parameter: NumberParameter, { count, scalars, vectors }: Dispatch): HeldValue => {
  switch (parameter.from) {
    case "count":
      return count
    case "scalar":
      return scalars[parameter.index]!
    case "length":
      return Math.floor(vectors[parameter.index]!.size / DType.byteSize(parameter.argument.dtype))
    case "offset":
      return vectors[parameter.index]!.offset
  }
}
