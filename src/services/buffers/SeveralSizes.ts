/**
 * The sizes of leases that a program asks for together: an array, or a record by name, with labels in the same shape.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

type Shape<A> = ReadonlyArray<A> | Readonly<Record<string, A>>

const isArray = <A>(shape: Shape<A>): shape is ReadonlyArray<A> => Array.isArray(shape)

/** Each size with its label, or InvalidRequest for labels of another shape. */
export const labelled = (
  operation: string,
  sizes: Shape<number>,
  labels: Shape<string | undefined> | undefined
): ReadonlyArray<{ readonly size: number; readonly label: string | undefined }> | GpuError => {
  const problem = labelsProblem(operation, sizes, labels)
  if (problem !== undefined) return problem
  // Sizes of an array may be left out of it; a request for such a size is refused.
  const names = isArray(sizes) ? [...sizes.keys()] : Object.keys(sizes)
  return names.map((name) => ({ size: Reflect.get(sizes, name), label: labels && Reflect.get(labels, name) }))
}

const labelsProblem = (
  operation: string,
  sizes: Shape<number>,
  labels: Shape<unknown> | undefined
): GpuError | undefined => {
  if (labels === undefined) return undefined
  if (!isArray(sizes)) return KnownOptions.problem(operation, labels, new Set(Object.keys(sizes)), "labels")
  if (Array.isArray(labels) && labels.length <= sizes.length) return undefined
  return invalidRequest(
    operation,
    Array.isArray(labels)
      ? `there are ${labels.length} labels for ${sizes.length} sizes`
      : `the labels ${formatted(labels)} are no array, as the sizes are`,
    "Pass an array with a label for each size, or undefined for a size without one."
  )
}

/** Leases in the order of the sizes, in their shape. */
export const inShape = <L>(sizes: Shape<number>, leases: ReadonlyArray<L>): Shape<L> =>
  isArray(sizes)
    ? leases.slice()
    : Object.fromEntries(Object.keys(sizes).map((name, index) => [name, leases[index]!]))
