/**
 * The arguments of a run of a reduction or a scan, as far as they are checked before its kernels are dispatched.
 *
 * @internal
 */
import { isBufferLike } from "effect-gpu-pool/BufferLike"
import { countHint, namesHint } from "effect-gpu-pool/DispatchArguments"
import { byteSize } from "effect-gpu-pool/DType"
import { formatted, line } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"

/**
 * What is wrong with a run, as far as a dispatch of the inner kernels would not report it, or not in terms of the program.
 * `own` are the vectors that have an element for each of the `count`.
 */
export const runProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  own: ReadonlySet<string>,
  values: unknown,
  count: number
): GpuError | undefined => {
  if (!Number.isInteger(count) || count < 0 || count > 0xffffffff) {
    return invalidRequest(
      operation,
      `count ${formatted(count)} is no whole number of elements from 0 to 2^32 - 1`,
      countHint(count, "Pass how many elements it runs over, after its arguments.")
    )
  }
  if (typeof values !== "object" || values === null) {
    return invalidRequest(
      operation,
      `the arguments are ${formatted(values)}`,
      "Pass an object with the arguments by name."
    )
  }
  return namesProblem(operation, args, values) ?? lengthProblem(operation, args, own, values, count)
}

const namesProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  values: object
): GpuError | undefined => {
  const names = args.map(({ name }) => name)
  const missing = names.find((name) => !Object.hasOwn(values, name))
  if (missing !== undefined) {
    return invalidRequest(operation, `there is no value for the argument "${missing}"`, "Pass one by that name.")
  }
  const unknown = Object.keys(values).find((name) => !names.includes(name))
  return unknown === undefined ? undefined : invalidRequest(
    operation,
    `it has no argument "${line(unknown)}"`,
    namesHint(unknown, names)
  )
}

/** Values of another kind are left to the dispatch, which refuses them. */
const lengthProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  own: ReadonlySet<string>,
  values: object,
  count: number
): GpuError | undefined => {
  for (const argument of args) {
    if (argument._tag === "ScalarArg") continue
    const { dtype, name } = argument
    const value: unknown = own.has(name) ? Reflect.get(values, name) : undefined
    const [buffer, offset] = isView(value) ? [value.buffer, value.offset] : [value, 0]
    if (!isBufferLike(buffer) || typeof offset !== "number") continue
    const elements = Math.floor(buffer.size / byteSize(dtype))
    if (offset + count <= elements) continue
    return invalidRequest(
      operation,
      `${count} elements from offset ${offset} of argument "${name}" exceed its ${elements} elements`,
      `Run it over at most ${Math.max(0, elements - offset)} elements, or pass a larger buffer.`
    )
  }
  return undefined
}

const isView = (value: unknown): value is { readonly buffer: unknown; readonly offset: unknown } =>
  typeof value === "object" && value !== null && "buffer" in value && "offset" in value
