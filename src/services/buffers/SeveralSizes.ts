/**
 * The sizes of leases that a program asks for together: an array, or a record by name, with labels in the same shape.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

type Shape<A> = ReadonlyArray<A> | Readonly<Record<string, A>>

/** Each size with its label, or InvalidRequest for a label without a size. A size may be missing in an array: it is refused later. */
export const labelled = (
  sizes: Shape<number>,
  labels: Shape<string | undefined> = []
): ReadonlyArray<{ readonly size: number; readonly label: string | undefined }> | GpuError => {
  const unknown = Object.keys(labels).find((name) => !(name in sizes))
  if (unknown !== undefined) {
    return invalidRequest(
      "BufferPool.allocateAll",
      `the label of ${formatted(unknown)} has no size`,
      "Pass labels in the shape of the sizes."
    )
  }
  const names = Array.isArray(sizes) ? [...sizes.keys()] : Object.keys(sizes)
  return names.map((name) => ({ size: Reflect.get(sizes, name), label: Reflect.get(labels, name) }))
}

/** Leases in the order of the sizes, in their shape. */
export const inShape = <L>(sizes: Shape<number>, leases: ReadonlyArray<L>): Shape<L> =>
  Array.isArray(sizes)
    ? leases.slice()
    : Object.fromEntries(Object.keys(sizes).map((name, index) => [name, leases[index]!]))
