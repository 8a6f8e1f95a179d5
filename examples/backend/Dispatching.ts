/** A dispatch in parts: ranges of items, some for each thread. */
import type { KernelArgument } from "effect-gpu-pool"
import { type QueueDriver, ValueType } from "effect-gpu-pool/backend"
import type { Task, Vector } from "./Task.ts"
import type { WorkersBuffer } from "./WorkersBuffer.ts"
import type { WorkersKernel } from "./WorkersKernel.ts"

/**
 * Parts for each thread. The threads get them in rotation, because items next to each other often take equally long.
 */
const partsOfAThread = 8

/** Fewer elements than this are faster on one thread than on several. */
const elementsWorthAPart = 4096

export const dispatchTasks = (dispatch: QueueDriver.Dispatch, threads: number): ReadonlyArray<Task> => {
  const { count } = dispatch
  const { id, kernel } = dispatch.compiled as WorkersKernel
  const given = argumentsOf(kernel.args, dispatch)
  const work = Math.max(1, Number(given.values[kernel.workPerItem ?? ""] ?? 1))
  const parts = Math.min(threads * partsOfAThread, count, Math.ceil(count * work / elementsWorthAPart))
  const ranges = Array.from({ length: parts + 1 }, (_, part) => Math.floor(count * part / parts))
  return ranges.slice(1).map((to, part) => ({ _tag: "run", kernel: id, from: ranges[part]!, to, ...given }))
}

/** The arguments of the body, by name. */
const argumentsOf = (
  args: ReadonlyArray<KernelArgument.KernelArgument>,
  dispatch: QueueDriver.Dispatch
) => {
  const vectors: Record<string, Vector> = {}
  const values: Record<string, unknown> = {}
  const bindings = dispatch.vectors.values()
  const scalars = dispatch.scalars.values()
  for (const argument of args) {
    const { name } = argument
    if (argument._tag === "ScalarArg") values[name] = scalars.next().value
    if (argument._tag !== "VectorArg") continue
    const { buffer, offset, size } = bindings.next().value!
    const { memory, origin } = buffer as WorkersBuffer
    const itemSize = ValueType.elementBytes(argument.dtype)
    const { element } = ValueType.partsOf(argument.dtype)
    vectors[name] = { element, memory, offset: origin, bytes: size - size % itemSize }
    if (argument.withOffset) values[`${name}_offset`] = offset
  }
  return { vectors, values }
}
