/**
 * The buffers that results should be allocated apart from: those that one dispatch reads while it writes the results. On a
 * device whose dispatches may not read and write one slab, none needs a copy then.
 *
 * @internal
 */
import { type BufferLike, isBufferLike } from "effect-gpu-pool/BufferLike"
import type { ArgumentValue } from "effect-gpu-pool/DispatchArguments"

/** The buffers among arguments. */
export const buffersOf = (args: Readonly<Record<string, ArgumentValue>>): ReadonlyArray<BufferLike> => {
  const buffers: Array<BufferLike> = []
  for (const name in args) {
    const value: unknown = args[name]
    if (isBufferLike(value)) buffers.push(value)
    else if (typeof value === "object" && value !== null && "buffer" in value && isBufferLike(value.buffer)) {
      buffers.push(value.buffer)
    }
  }
  return buffers
}
