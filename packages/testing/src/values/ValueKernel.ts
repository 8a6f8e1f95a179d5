/**
 * Kernels that write their scalar arguments to a buffer, word by word, and the words that must arrive.
 *
 * @internal
 */
import * as Kernel from "effect-gpu-pool/Kernel"
import { type KernelArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { HeldValue, NumberType, ValueType, VectorLength } from "effect-gpu-pool/ValueType"

export interface Parameter {
  readonly element: NumberType
  readonly length: 1 | VectorLength
}

export const typeOf = ({ element, length }: Parameter): ValueType =>
  length === 1 ? element : `vec${length}<${element}>` as const

const nameOf = (index: number): string => `value${index}`

const isLong = (element: NumberType): boolean => element === "i64" || element === "u64" || element === "f64"

/** How many words one number has in the output. */
const wordsOfNumber = (element: NumberType): number => isLong(element) ? 2 : 1

export const wordCount = (parameters: ReadonlyArray<Parameter>): number =>
  parameters.reduce((sum, { element, length }) => sum + length * wordsOfNumber(element), 0)

/** A kernel with these parameters, with the output inserted at index `at`. */
export const make = (parameters: ReadonlyArray<Parameter>, at = parameters.length): Kernel.Kernel => {
  const args: Array<KernelArgument> = parameters.map((parameter, index) => ScalarArg(typeOf(parameter), nameOf(index)))
  args.splice(at, 0, VectorArg("u32", "y"))
  return Kernel.make({
    name: "values",
    args,
    body: {
      wgsl: stores(parameters, (name, { length }, lane) => length === 1 ? name : `${name}[${lane}]`, wgslWords),
      opencl: stores(
        parameters,
        (name, { length }, lane) => length === 1 ? name : `${name}.s${lane.toString(16)}`,
        openClWords
      ),
      host: Kernel.hostFunction(
        { elements: parameters.map(({ element }) => element), wordsOf, nameOf },
        ({ elements, nameOf, wordsOf }) => (_from: number, _to: number, given: Readonly<Record<string, unknown>>) => {
          const words = elements.flatMap((element, index) => wordsOf(element, given[nameOf(index)] as HeldValue))
          ;(given["y"] as Uint32Array).set(words)
        }
      )
    }
  })
}

/** The values under the names of the kernel's arguments. */
export const named = (values: ReadonlyArray<HeldValue>): Readonly<Record<string, HeldValue>> =>
  Object.fromEntries(values.map((value, index) => [nameOf(index), value]))

const stores = (
  parameters: ReadonlyArray<Parameter>,
  laneOf: (name: string, parameter: Parameter, lane: number) => string,
  words: (element: NumberType, value: string) => ReadonlyArray<string>
): string =>
  parameters.flatMap((parameter, index) =>
    Array.from(
      { length: parameter.length },
      (_, lane) => words(parameter.element, laneOf(nameOf(index), parameter, lane))
    ).flat()
  ).map((word, index) => `y[${index}] = ${word};`).join("\n")

/** In WGSL a 64-bit integer is a vector of its words. */
const wgslWords = (element: NumberType, value: string): ReadonlyArray<string> => {
  if (isLong(element)) return [`${value}.x`, `${value}.y`]
  if (element === "f16") return [`bitcast<u32>(f32(${value}))`]
  return [element.startsWith("u") ? value : `bitcast<u32>(${value})`]
}

const openClWords = (element: NumberType, value: string): ReadonlyArray<string> => {
  if (isLong(element)) return [`(uint) as_ulong(${value})`, `(uint) (as_ulong(${value}) >> 32)`]
  if (element === "f32") return [`as_uint(${value})`]
  if (element === "f16") return [`as_uint((float) ${value})`]
  return [element.startsWith("u") ? `(uint) ${value}` : `as_uint((int) ${value})`]
}

/**
 * The words of a value: integers of up to 32 bits and halves are widened to one word; 64 bits are two words, the low
 * one first. No language keeps the bits of a NaN, so all become one. Kernels call it, so it uses only its arguments.
 */
export const wordsOf = (element: NumberType, value: HeldValue): ReadonlyArray<number> => {
  const { f16round = Math.fround } = Math as { readonly f16round?: (value: number) => number }
  const bytesOf = (one: number | bigint | boolean): ArrayBuffer => {
    if (typeof one === "boolean") return Int32Array.of(one ? 1 : 0).buffer
    if (typeof one === "bigint") return BigInt64Array.of(BigInt.asIntN(64, one)).buffer
    switch (element) {
      case "f32":
        return Float32Array.of(one).buffer
      case "f16":
        return Float32Array.of(f16round(one)).buffer
      case "f64":
        return Float64Array.of(one).buffer
      default:
        return Int32Array.of(one).buffer
    }
  }
  return (typeof value === "object" ? value : [value]).flatMap((one) => [...new Uint32Array(bytesOf(one))])
}

/** The words of an output, with the same bits for all NaNs. */
export const withOneNaN = (parameters: ReadonlyArray<Parameter>, words: Uint32Array): ReadonlyArray<number> => {
  const numbers = parameters.flatMap(({ element, length }) => Array.from({ length }, () => element))
  let at = 0
  return numbers.flatMap((element) => {
    const own = Uint32Array.from(words.subarray(at, at + wordsOfNumber(element)))
    at += own.length
    if (element === "f32" || element === "f16") return wordsOf("f32", new Float32Array(own.buffer)[0]!)
    return element === "f64" ? wordsOf("f64", new Float64Array(own.buffer)[0]!) : [...own]
  })
}
