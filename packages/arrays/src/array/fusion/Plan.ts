/**
 * What a kernel for some recorded arrays of one shape has to read and compute: each memory once, the layout of each array
 * in it, and the operations in order.
 *
 * Every operation of a program makes a plan, so planning takes few steps and few objects.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import type { DeviceArray, Pending } from "../ArrayValue.ts"
import * as Layout from "../layout/Layout.ts"
import { elementOf } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import type { MatrixProduct } from "../products/MatrixProduct.ts"
import * as Indexing from "./Indexing.ts"

/** Memory, and the type as which it is read. */
export interface Vector {
  readonly lease: PooledBuffer
  readonly dtype: DType
}

/** How an array with memory is read. */
export interface Leaf {
  /** The index of its vector in the plan. */
  readonly vector: number
  readonly offset: number
  /** One stride for each axis of the iteration, in elements. */
  readonly strides: ReadonlyArray<number>
  readonly access: Indexing.Access
}

/** A step of the computation; operands are steps before it. */
export type Step =
  | { readonly _tag: "Leaf"; readonly leaf: number; readonly dtype: DType }
  | { readonly _tag: "Number"; readonly dtype: DType }
  /** An element of the product at the same place. */
  | { readonly _tag: "Product"; readonly pending: Pending; readonly dtype: DType }
  | {
    readonly _tag: "Apply"
    readonly pending: Pending
    readonly operands: ReadonlyArray<number>
    readonly dtype: DType
  }

export interface Plan {
  readonly vectors: ReadonlyArray<Vector>
  readonly leaves: ReadonlyArray<Leaf>
  /** The numbers of the steps, in order. */
  readonly numbers: ReadonlyArray<Constant>
  readonly steps: ReadonlyArray<Step>
  /** The product that the kernel computes, whose elements it passes through the other steps. */
  readonly product: MatrixProduct | undefined
  /** Which steps are the results. */
  readonly results: ReadonlyArray<number>
  /** The lengths of the axes of the iteration, over which every leaf has strides. */
  readonly lengths: Shape.Shape
  /** The steps, by their weights. */
  readonly weight: number
}

/** Up to this many steps a search is faster than a map. */
const fewSteps = 12

/** Collects the steps of arrays, each array once. */
class Planner {
  readonly vectors: Array<Vector> = []
  readonly arrays: Array<DeviceArray> = []
  readonly vectorOf: Array<number> = []
  readonly numbers: Array<Constant> = []
  readonly steps: Array<Step> = []
  product: MatrixProduct | undefined
  weight = 0
  /** The array of each step. */
  readonly #made: Array<DeviceArray | undefined> = []
  #steps: Map<DeviceArray, number> | undefined

  visit(array: DeviceArray): number {
    const known = this.#stepOf(array)
    if (known !== undefined) return known
    const { pending } = array
    return this.#add(this.#step(array, pending), array)
  }

  plan(results: ReadonlyArray<number>, iteration: Layout.Iteration): Plan {
    const leaves: Array<Leaf> = []
    for (let leaf = 0; leaf < this.arrays.length; leaf++) {
      const strides = iteration.strides[leaf]!
      const { offset } = this.arrays[leaf]!
      leaves.push({ vector: this.vectorOf[leaf]!, offset, strides, access: Indexing.accessOf(offset, strides) })
    }
    const { numbers, product, steps, vectors, weight } = this
    return { vectors, leaves, numbers, steps, product, results, lengths: iteration.shape, weight }
  }

  #stepOf(array: DeviceArray): number | undefined {
    const made = this.#made
    if (made.length <= fewSteps) {
      const step = made.indexOf(array)
      return step === -1 ? undefined : step
    }
    this.#steps ??= new Map(made.flatMap((known, step) => known === undefined ? [] : [[known, step]]))
    return this.#steps.get(array)
  }

  #step(array: DeviceArray, pending: Pending | undefined): Step {
    if (pending === undefined) return this.#leaf(array)
    if (pending.product === undefined) return this.#apply(array, pending)
    this.product = pending.product
    return { _tag: "Product", pending, dtype: array.dtype }
  }

  #add(step: Step, array: DeviceArray | undefined): number {
    const index = this.steps.push(step) - 1
    this.#made.push(array)
    if (this.#steps !== undefined && array !== undefined) this.#steps.set(array, index)
    return index
  }

  #leaf(array: DeviceArray): Step {
    const { dtype } = array
    this.weight += 1
    this.vectorOf.push(this.#vectorOf(array.lease!, dtype))
    return { _tag: "Leaf", leaf: this.arrays.push(array) - 1, dtype }
  }

  #vectorOf(lease: PooledBuffer, dtype: DType): number {
    for (let vector = 0; vector < this.vectors.length; vector++) {
      const known = this.vectors[vector]!
      if (known.lease === lease && known.dtype === dtype) return vector
    }
    return this.vectors.push({ lease, dtype }) - 1
  }

  #apply({ dtype }: DeviceArray, pending: Pending): Step {
    const { operandTypes, operands: given, weight } = pending
    const operands: Array<number> = []
    for (let at = 0; at < given.length; at++) {
      const operand = given[at]!
      if (typeof operand === "object") {
        operands.push(this.visit(operand))
      } else {
        this.numbers.push(elementOf(operandTypes[at]!, operand)!)
        operands.push(this.#add({ _tag: "Number", dtype: operandTypes[at]! }, undefined))
      }
    }
    this.weight += weight
    return { _tag: "Apply", pending, operands, dtype }
  }
}

/**
 * Plans the computation of arrays that broadcast to a shape, for each of its elements. A result that has memory is read there: the
 * index of its element says where to store others.
 */
export const make = (results: ReadonlyArray<DeviceArray>, shape: Shape.Shape): Plan => {
  const planner = new Planner()
  const steps: Array<number> = []
  for (let result = 0; result < results.length; result++) steps.push(planner.visit(results[result]!))
  return planner.plan(steps, flat(planner.arrays, shape) ?? collapsed(planner.arrays, shape))
}

const oneByOne: ReadonlyArray<number> = [1]
const theSame: ReadonlyArray<number> = [0]
const none: ReadonlyArray<number> = []

/** The collapsed iteration over contiguous arrays, the usual case, for which nothing has to be computed. */
const flat = (arrays: ReadonlyArray<DeviceArray>, shape: Shape.Shape): Layout.Iteration | undefined => {
  const size = Shape.size(shape)
  const strides: Array<ReadonlyArray<number>> = []
  for (let leaf = 0; leaf < arrays.length; leaf++) {
    const array = arrays[leaf]!
    if (!isFlat(array, shape)) return undefined
    strides.push(size === 1 ? none : array.size === 1 ? theSame : oneByOne)
  }
  return { shape: size === 1 ? none : [size], strides }
}

/** Whether an array is contiguous in an iteration over a shape, or has one element. */
export const isFlat = (array: DeviceArray, shape: Shape.Shape): boolean =>
  array.size === 1 || (Shape.equals(array.shape, shape) && array.isContiguous)

const collapsed = (arrays: ReadonlyArray<DeviceArray>, shape: Shape.Shape): Layout.Iteration =>
  Layout.collapse(shape, arrays.map((array) => Layout.broadcastStrides(array, shape)))

/** A plan row by row: the last of its axes, `inner` of them, are those of a row, and the others come before them in their order. */
export interface RowPlan {
  readonly plan: Plan
  readonly inner: number
}

/** Plans the computation of arrays of one shape row by row, where a row has the elements along some axes, in ascending order. */
export const along = (
  results: ReadonlyArray<DeviceArray>,
  shape: Shape.Shape,
  axes: ReadonlyArray<number>
): RowPlan => {
  const planner = new Planner()
  const steps = results.map((result) => planner.visit(result))
  const strides = planner.arrays.map((leaf) => Layout.broadcastStrides(leaf, shape))
  const collapsedOf = (takes: (axis: number) => boolean): Layout.Iteration => {
    const among = (of: ReadonlyArray<number>) => of.filter((_, axis) => takes(axis))
    return Layout.collapse(among(shape), strides.map(among))
  }
  const outer = collapsedOf((axis) => !axes.includes(axis))
  const [only] = axes
  // A row keeps an axis, which says how its elements are found: of one element where all its axes have the length 1.
  const merged = axes.length === 1
    ? { shape: [shape[only!]!], strides: strides.map((of) => [of[only!]!]) }
    : collapsedOf((axis) => axes.includes(axis))
  const inner = merged.shape.length > 0 ? merged : { shape: oneByOne, strides: strides.map(() => theSame) }
  const plan = planner.plan(steps, {
    shape: [...outer.shape, ...inner.shape],
    strides: outer.strides.map((of, leaf) => [...of, ...inner.strides[leaf]!])
  })
  return { plan, inner: inner.shape.length }
}

/** The most steps of one kernel, by their weights: compilers take seconds for more. */
const maxWeight = 256

/** The most numbers that one kernel takes: every OpenCL device has room for 1,024 bytes of arguments. */
const maxScalars = 100

/** The size of a kernel. */
interface Extent {
  /** How many vectors it has, results included. */
  readonly vectors: number
  readonly leaves: number
  readonly axes: number
  readonly numbers: number
  readonly weight: number
}

/** Whether a kernel fits a device with that many vectors. */
export const isModest = ({ axes, leaves, numbers, vectors, weight }: Extent, maxVectorArguments: number): boolean =>
  vectors <= maxVectorArguments && weight <= maxWeight && numbers + leaves * (1 + axes) + axes <= maxScalars

/** Whether one kernel can have the plan, besides some vectors for its results. No kernel but its own has a product. */
export const fits = (plan: Plan, outputs: number, maxVectorArguments: number): boolean =>
  plan.product === undefined && areFew(plan, outputs, maxVectorArguments)

/** Whether the kernel of a product can have the plan, besides some vectors for its results and those of the product. */
export const fitsProduct = (plan: Plan, outputs: number, maxVectorArguments: number): boolean =>
  areFew(plan, outputs + vectorsOfProduct, maxVectorArguments)

const vectorsOfProduct = 2

const areFew = (
  { leaves, lengths, numbers, vectors, weight }: Plan,
  outputs: number,
  maxVectorArguments: number
): boolean =>
  isModest({
    vectors: vectors.length + outputs,
    leaves: leaves.length,
    axes: lengths.length,
    numbers: numbers.length,
    weight
  }, maxVectorArguments)
