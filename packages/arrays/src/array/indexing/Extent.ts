/**
 * What positions count along: an axis, or the whole array in row-major order.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import { dense, DeviceArray } from "../ArrayValue.ts"
import type { ArrayServices } from "../fusion/Evaluation.ts"
import * as Shape from "../layout/Shape.ts"
import type { NestedNumbers } from "../transfer/NestedNumbers.ts"
import * as HostIndices from "./HostIndices.ts"

/** Whether an argument is the options of a call, and neither an array nor positions. */
export const isOptions = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value) &&
  !(value instanceof DeviceArray) && !Effect.isEffect(value)

/** The options of a call with positions. */
interface Options {
  readonly axis?: number | undefined
  readonly mode?: HostIndices.Mode | undefined
}

const known = KnownOptions.of<Options>({ axis: true, mode: true })

const modeProblem = (operation: string, mode: HostIndices.Mode | undefined): GpuError | undefined =>
  mode === undefined || mode === "clip" || mode === "wrap"
    ? undefined
    : invalidRequest(operation, `the mode is ${formatted(mode)}`, "Use clip or wrap, or leave it out.")

/** The axis that positions count along; `undefined` for the whole array. */
export const axisIn = (
  operation: string,
  self: DeviceArray,
  options: Options | undefined
): number | GpuError | undefined =>
  KnownOptions.problem(operation, options, known) ?? modeProblem(operation, options?.mode) ??
    (options?.axis === undefined ? undefined : Shape.axisOf(operation, options.axis, self.shape))

/** Positions on the device. */
export type DeviceIndices = DeviceArray<"i32" | "u32">

/** Positions that the program has. */
export type ListedIndices = NestedNumbers | Int32Array | Uint32Array

/** The number of positions, and the axis as errors name it. */
const extent = (self: DeviceArray, axis: number | undefined): { readonly length: number; readonly where: string } =>
  axis === undefined
    ? { length: self.size, where: `the ${self.size} elements of the shape ${Shape.format(self.shape)}` }
    : { length: self.shape[axis]!, where: `axis ${axis} of the shape ${Shape.format(self.shape)}` }

/** The shape of the elements at some positions: the axes of the positions replace the axis. */
export const shapeAt = (self: DeviceArray, axis: number | undefined, indices: Shape.Shape): Shape.Shape =>
  axis === undefined ? indices : [...self.shape.slice(0, axis), ...indices, ...self.shape.slice(axis + 1)]

/** Why there are no elements at positions of a shape, or `undefined`. */
export const problem = (
  operation: string,
  self: DeviceArray,
  axis: number | undefined,
  indices: Shape.Shape
): GpuError | undefined => {
  const { length, where } = extent(self, axis)
  if (length > 0x7fffffff) {
    return invalidRequest(operation, `indices cannot count to ${length}, along ${where}`, "Slice the array first.")
  }
  if (length === 0 && Shape.size(indices) > 0) {
    return invalidRequest(
      operation,
      `there are no elements along ${where} for indices of the shape ${Shape.format(indices)}`,
      "An axis without elements has no positions."
    )
  }
  return Shape.problem(operation, shapeAt(self, axis, indices))
}

/** Why an array has no positions, or `undefined`; `name` says what they are. */
export const typeProblem = (operation: string, { dtype }: DeviceArray, name = "indices"): GpuError | undefined =>
  dtype === "i32" || dtype === "u32" ? undefined : invalidRequest(
    operation,
    `the ${name} are ${dtype}`,
    `Cast them: DeviceArray.astype(${name}, "i32").`
  )

/** The positions that a program gave as numbers, checked. */
export const listed = (
  operation: string,
  self: DeviceArray,
  indices: ListedIndices,
  axis: number | undefined,
  mode: HostIndices.Mode | undefined
): HostIndices.Positions | GpuError => {
  const { length, where } = extent(self, axis)
  return HostIndices.positions(operation, indices, length, length === 0 ? undefined : mode, where)
}

/** Runs `use` with positions on the device, which are released when its commands are recorded. */
export const uploaded = <A, R>(
  operation: string,
  { data, shape }: HostIndices.Positions,
  use: (indices: DeviceIndices) => Effect.Effect<A, GpuError, R>
): Effect.Effect<A, GpuError, R | ArrayServices> =>
  BufferPool.use(
    data.byteLength,
    (lease) => Effect.andThen(CommandQueue.write(lease, data), Effect.suspend(() => use(dense("u32", shape, lease)))),
    { label: operation }
  )
