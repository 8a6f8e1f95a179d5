/**
 * What each thread runs: it runs one task after the other and answers each. It imports nothing of the library, so that
 * threads start quickly.
 */
import { parentPort } from "node:worker_threads"
import type { Answer, Element, Rows, Task, Vector } from "./Task.ts"

type Body = (from: number, to: number, args: Readonly<Record<string, unknown>>) => void

interface TypedArray {
  readonly BYTES_PER_ELEMENT: number
  new(memory: SharedArrayBuffer, offset: number, length: number): ArrayBufferView
}

const typedArrays: Readonly<Record<Element, TypedArray>> = {
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  f64: Float64Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  bool: Uint8Array,
  // `Float16Array` is newer than the types of this program.
  f16: (globalThis as unknown as { readonly Float16Array: TypedArray }).Float16Array
}

const bodies = new Map<number, Body>()

/** Whole elements only: a buffer may end in the middle of one. */
const view = ({ bytes, element, memory, offset }: Vector): ArrayBufferView => {
  const Elements = typedArrays[element]
  return new Elements(memory, offset, Math.floor(bytes / Elements.BYTES_PER_ELEMENT))
}

const copy = ([bytes, rows, slices]: readonly [number, number, number], from: Rows, to: Rows): void => {
  for (let slice = 0; slice < slices; slice++) {
    for (let row = 0; row < rows; row++) {
      const source = from.offset + slice * from.slicePitch + row * from.rowPitch
      const target = to.offset + slice * to.slicePitch + row * to.rowPitch
      new Uint8Array(to.memory, target, bytes).set(new Uint8Array(from.memory, source, bytes))
    }
  }
}

/** Doubles the filled part, which costs less than a step for each pattern. */
const fill = (target: Uint8Array, pattern: Uint8Array): void => {
  target.set(pattern.subarray(0, target.length))
  for (let done = pattern.length; done < target.length; done *= 2) target.copyWithin(done, 0, done)
}

const perform = (task: Task): void => {
  switch (task._tag) {
    case "define":
      bodies.set(task.kernel, new Function(`return ${task.source}`)() as Body)
      return
    case "forget":
      bodies.delete(task.kernel)
      return
    case "run": {
      const vectors = Object.entries(task.vectors).map(([name, vector]) => [name, view(vector)])
      return bodies.get(task.kernel)!(task.from, task.to, { ...task.values, ...Object.fromEntries(vectors) })
    }
    case "copy":
      return copy(task.extent, task.from, task.to)
    case "fill":
      return fill(new Uint8Array(task.memory, task.offset, task.bytes), task.pattern)
  }
}

const problemOf = (task: Task): string | undefined => {
  try {
    perform(task)
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.stack ?? cause.message : String(cause)
  }
}

const port = parentPort!

const answer = (problem: string | undefined, task?: Task): void => {
  const memory = task?._tag === "copy" && task.to.memory instanceof ArrayBuffer ? task.to.memory : undefined
  port.postMessage({ problem, memory } satisfies Answer, memory === undefined ? [] : [memory])
}

port.on("message", (task: Task) => answer(problemOf(task), task))

// The first answer, before any task, says that the thread has started.
answer(undefined)
