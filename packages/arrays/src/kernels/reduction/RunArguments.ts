/**
 * The arguments of a run of a reduction or a scan, as far as they are checked before its kernels are dispatched.
 *
 * @internal
 */
import { type BufferLike, isBufferLike } from "effect-gpu-pool/BufferLike"
import type { ArgumentValue, OffsetBuffer } from "effect-gpu-pool/DispatchArguments"
import { byteSize } from "effect-gpu-pool/DType"
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
  values: Readonly<Record<string, ArgumentValue>>,
  count: number
): GpuError | undefined => {
  if (!Number.isInteger(count) || count < 0 || count > 0xffffffff) {
    return invalidRequest(
      operation,
      `count ${count} is no whole number of elements from 0 to 2^32 - 1`,
      count > 0xffffffff ? "Do it in several parts." : "Pass how many elements it runs over, after its arguments."
    )
  }
  for (const argument of args) {
    if (argument._tag === "ScalarArg") continue
    const { dtype, name } = argument
    const value = own.has(name) ? values[name] as BufferLike | OffsetBuffer | undefined : undefined
    if (value === undefined) continue
    const { buffer, offset } = isBufferLike(value) ? { buffer: value, offset: 0 } : value
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
