/**
 * A typed array over mapped device memory, with a shape and strides.
 *
 * @since 0.1.0
 */
import { formatted } from "../../../domain/arguments/Format.ts"
import { inOneLine, showing, state } from "../../../domain/arguments/Showing.ts"
import type { DType } from "../../../domain/data/DType.ts"
import type { StridedShape } from "../../../domain/data/StridedShape.ts"
import { invalidRequest } from "../../../domain/GpuError.ts"
import type { ScopedMapping } from "./ScopedMapping.ts"

/**
 * What every typed array is: numbers, or big ones.
 *
 * @category models
 * @since 0.1.0
 */
export interface Elements extends ArrayBufferView {
  readonly length: number
  [index: number]: number | bigint
}

/** What a mapped array knows of its mapping. @internal */
export type LiveMapping = Pick<ScopedMapping, "label" | "ended" | "problem" | "endUnsafe">

const dtypes: Readonly<Record<string, DType>> = {
  Float32Array: "f32",
  Int32Array: "i32",
  Uint32Array: "u32",
  Float16Array: "f16",
  Float64Array: "f64",
  Int8Array: "i8",
  Uint8Array: "u8",
  Int16Array: "i16",
  Uint16Array: "u16",
  BigInt64Array: "i64",
  BigUint64Array: "u64"
}

/**
 * Mapped memory as an array. `data` has all the mapped elements; `getUnsafe` and `setUnsafe` find one by its indices.
 *
 * **Details**
 *
 * It is valid until the mapping ends. Then `data` is detached (its length is 0, and what is stored into it goes
 * nowhere), and `getUnsafe` and `setUnsafe` throw a `GpuError` with the reason Released. They throw InvalidRequest for
 * an index outside the shape.
 *
 * **Gotchas**
 *
 * Do not transfer the ArrayBuffer of `data`: its own methods refuse, and if it is transferred in another way, unmapping
 * fails with InvalidRequest, unless it was a copy to read. Where it is the driver's memory, as on OpenCL, that memory
 * is never used or freed again. Copy with `slice()`, and transfer the copy.
 *
 * **Example** (Rows and columns)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, Mapping } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(24)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4, 5, 6))
 *   const rows = yield* Mapping.map(x, Float32Array, { access: "read", shape: [2, 3] })
 *   return [rows.getUnsafe(1, 0), rows.shape, rows.strides]
 * }) // => [4, [2, 3], [3, 1]]
 * ```
 *
 * @see pyopencl.enqueue_map_buffer
 * @category models
 * @since 0.1.0
 */
export class MappedArray<A extends Elements> {
  /** All mapped elements, in memory order; where strides leave some out, these are included. */
  readonly data: A
  /** Elements along each axis. */
  readonly shape: ReadonlyArray<number>
  /** Elements from one to the next along each axis. */
  readonly strides: ReadonlyArray<number>
  /** @internal */
  readonly mapping: LiveMapping

  /** @internal */
  constructor(data: A, { shape, strides }: Pick<StridedShape, "shape" | "strides">, mapping: LiveMapping) {
    this.data = data
    this.shape = shape
    this.strides = strides
    this.mapping = mapping
  }

  /** The element type as kernels name it; `undefined` for those that kernels do not have. */
  get dtype(): DType | undefined {
    return dtypes[this.data.constructor.name]
  }

  /** The element at these indices, one for each axis. */
  getUnsafe(...indices: ReadonlyArray<number>): A[number] {
    return this.data[this.#at("MappedArray.getUnsafe", indices)]!
  }

  /** Stores an element at these indices, one for each axis. */
  setUnsafe(value: A[number], ...indices: ReadonlyArray<number>): void {
    const at = this.#at("MappedArray.setUnsafe", indices)
    this.data[at] = value
  }

  #at(operation: string, indices: ReadonlyArray<number>): number {
    const ended = this.mapping.problem(operation)
    if (ended !== undefined) throw ended
    if (indices.length !== this.shape.length || !indices.every((index, axis) => isIndex(index, this.shape[axis]!))) {
      throw invalidRequest(
        operation,
        `[${indices.map(formatted).join(", ")}] is no element of an array of shape [${this.shape.join(", ")}]`,
        "Pass one whole number for each axis, from 0 up to its length less one."
      )
    }
    return indices.reduce((at, index, axis) => at + index * this.strides[axis]!, 0)
  }
}

/**
 * The one-line text of a mapping; `place` adds where it is.
 *
 * @internal
 */
export const mappedInOneLine = (
  kind: string,
  { data, dtype, mapping, shape }: MappedArray<Elements>,
  place: ReadonlyArray<string>
): string =>
  inOneLine(kind, mapping.label, [
    `${dtype ?? data.constructor.name} [${shape.join(", ")}]`,
    ...place,
    mapping.ended === undefined ? "mapped" : state(mapping.ended, undefined)
  ])

// Without its elements: they are device memory, and cannot be read after the mapping has ended.
showing<MappedArray<Elements>>((mapped) => mappedInOneLine("MappedArray", mapped, []))(MappedArray.prototype)

const isIndex = (index: number, length: number): boolean => Number.isInteger(index) && index >= 0 && index < length
