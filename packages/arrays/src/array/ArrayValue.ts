/**
 * A device array as a value: shape, element type, and where its elements are or how they will be computed.
 *
 * @since 0.1.0
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import { LeaseHolder } from "effect-gpu-pool/LeaseHolder"
import * as Pipeable from "effect/Pipeable"
import type * as Scope from "effect/Scope"
import { printed } from "../kernels/Printed.ts"
import { type ArrayOperation, weightOf } from "./elementwise/ArrayOperation.ts"
import type { Region } from "./fusion/Recording.ts"
import * as Layout from "./layout/Layout.ts"
import type { Scalar } from "./layout/Scalar.ts"
import * as Shape from "./layout/Shape.ts"

/**
 * An array of elements on a device. Views share the memory of the array that they were made from; every other array has
 * memory of its own, a lease of the pool. An array is a value, which operations read and do not change, except those that
 * write in place: `assign`, `fill`, `setSlice`, `put` and `update`.
 *
 * **Example** (What an array says of itself)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.zeros([2, 3])
 *   return [x.dtype, x.shape, x.strides, String(x)]
 * }) // => ["f32", [2, 3], [3, 1], "DeviceArray(f32 [2, 3])"]
 * ```
 *
 * @see pyopencl.array.Array
 * @category models
 * @since 0.1.0
 */
export class DeviceArray<out D extends DType = DType> extends Pipeable.Class implements LeaseHolder {
  readonly dtype: D
  /** The length of each axis, in elements; an array of no axes has one element. */
  readonly shape: ReadonlyArray<number>
  /** How many elements apart neighbours along each axis are in memory; 0 along an axis that repeats. */
  readonly strides: ReadonlyArray<number>
  /** Where the first element is in the lease, in elements. */
  readonly offset: number
  /** Number of elements. */
  readonly size: number
  /** The memory, `undefined` while the array is only recorded. */
  #lease: PooledBuffer | undefined
  #pending: Pending | undefined

  /** @internal */
  constructor(dtype: D, layout: Layout.Layout, source: PooledBuffer | Pending) {
    super()
    this.dtype = dtype
    this.shape = layout.shape
    this.strides = layout.strides
    this.offset = layout.offset
    this.size = Shape.size(layout.shape)
    if ("operation" in source) this.#pending = source
    else this.#lease = source
  }

  /** The lease with the elements; `undefined` while the array is only recorded, inside `DeviceArray.lazy`. */
  get lease(): PooledBuffer | undefined {
    return this.#lease
  }

  /** How the elements will be computed; `undefined` once they are. @internal */
  get pending(): Pending | undefined {
    return this.#pending
  }

  /** Gives a recorded array its memory. If two fibers have computed it, the first memory stays. @internal */
  settle(lease: PooledBuffer): void {
    if (this.#pending === undefined) return
    this.#pending = undefined
    this.#lease = lease
  }

  /** Whether the elements follow each other in memory, the last axis fastest. */
  get isContiguous(): boolean {
    return Layout.isContiguous(this)
  }

  [LeaseHolder](): Iterable<PooledBuffer> {
    return this.#lease === undefined ? [] : [this.#lease]
  }
}

const endings = {
  released: "released",
  scopeClosed: "released: its scope closed",
  poolClosed: "released: its pool closed",
  parentReleased: "released: the memory under it ended"
}

printed(DeviceArray.prototype, ({ dtype, lease, pending, shape }) => {
  const state = pending !== undefined ? ", recorded" : lease?.ended === undefined ? "" : `, ${endings[lease.ended]}`
  return `DeviceArray(${dtype} ${Shape.format(shape)}${state})`
})

/** Where the matrices of an operand are in its memory, in elements. @internal */
export interface Operand {
  /** The array that has the memory; it may still be recorded. */
  readonly array: DeviceArray
  readonly dtype: DType
  readonly offset: number
  /** The stride from row to row of the first operand, or those along each axis of the columns of the second. */
  readonly lines: ReadonlyArray<number>
  /** The strides along each axis of the depth. */
  readonly depth: ReadonlyArray<number>
  /** The strides from matrix to matrix, along each axis of the batch. */
  readonly batch: ReadonlyArray<number>
}

/**
 * `rows` times `depth` by `depth` times `columns`, for each matrix of the batch. The depth and the columns may have
 * several axes, which are counted like one, the last axis fastest: so the windows of an array are the columns of a
 * matrix that is nowhere in memory.
 *
 * @internal
 */
export interface MatrixProduct {
  readonly dtype: DType
  /** The shape of the result. */
  readonly shape: Shape.Shape
  readonly rows: number
  /** The lengths of the axes of the columns, of the depth and of the batch, as few as possible. */
  readonly columns: Shape.Shape
  readonly depth: Shape.Shape
  readonly batch: Shape.Shape
  readonly a: Operand
  readonly b: Operand
  /** Where the result is stored. The elements of a row follow each other. */
  readonly y: { readonly row: number; readonly batch: ReadonlyArray<number> }
}

/** @internal */
export interface Recorded {
  readonly region: Region
  /** After how many writes in place: memory that is written later no longer has its operands. */
  readonly at: number
}

/** An elementwise operation, or a product of matrices, that is recorded and not yet computed. @internal */
export class Pending {
  readonly operation: ArrayOperation
  readonly operands: ReadonlyArray<DeviceArray | Scalar>
  /** The type to which each operand is cast before the operation, and that of a number. */
  readonly operandTypes: ReadonlyArray<DType>
  /** What it adds to its kernel. */
  readonly weight: number
  /**
   * The scope in which the operation was recorded. The array is valid as long as that is open, so its memory belongs
   * to it, whichever inner scope needs the elements first.
   */
  readonly scope: Scope.Scope | undefined
  /** The depth of the tree of recorded operations, by their weights. */
  readonly depth: number
  /** Where and when it was recorded; `undefined` for an operation that is computed at once. */
  readonly recorded: Recorded | undefined
  /** The product of which the array has the elements; its operands have memory. */
  readonly product: MatrixProduct | undefined
  /** Whether the array is a product, or was made of one when it was recorded. */
  readonly hasProduct: boolean
  /** By how many recorded operations the array is an operand, if it has a product. */
  uses = 0

  constructor(
    operation: ArrayOperation,
    operands: ReadonlyArray<DeviceArray | Scalar>,
    operandTypes: ReadonlyArray<DType>,
    dtype: DType,
    scope?: Scope.Scope,
    recorded?: Recorded,
    product?: MatrixProduct
  ) {
    this.product = product
    this.recorded = recorded
    this.operation = operation
    this.operands = operands
    this.operandTypes = operandTypes
    this.weight = weightOf(operation, operandTypes, dtype)
    this.scope = scope
    let deepest = 0
    let hasProduct = product !== undefined
    for (let at = 0; at < operands.length; at++) {
      const operand = operands[at]!
      const pending = typeof operand === "object" ? operand.pending : undefined
      if (pending === undefined) continue
      if (pending.depth > deepest) deepest = pending.depth
      if (pending.hasProduct) {
        hasProduct = true
        pending.uses += 1
      }
    }
    this.hasProduct = hasProduct
    this.depth = deepest + this.weight
  }
}

/**
 * An array over the whole of a fresh lease.
 *
 * @internal
 */
export const dense = <D extends DType>(dtype: D, shape: Shape.Shape, source: PooledBuffer | Pending): DeviceArray<D> =>
  new DeviceArray(dtype, { shape, strides: Layout.rowMajor(shape), offset: 0 }, source)
