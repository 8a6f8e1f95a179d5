/**
 * The sizes of leases that a program asks for together: an array, or a record by name, with labels in the same shape.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

type Shape<A> = ReadonlyArray<A> | Readonly<Record<string, A>>

/**
 * Each size with its label, or InvalidRequest for a label without a size. A size may be missing in an array: it is refused later.
 * Only own members count, since a size may be called `keys` or `length`.
 */
export const labelled = (
  sizes: Shape<number>,
  labels: Shape<string | undefined> = {}
): ReadonlyArray<{ readonly size: number; readonly label: string | undefined }> | GpuError => {
  const wrong = shapeProblem("sizes", sizes) ?? shapeProblem("labels", labels)
  if (wrong !== undefined) return wrong
  const unknown = Object.keys(labels).find((name) => !isMember(sizes, name))
  if (unknown !== undefined) {
    return invalidRequest(
      "BufferPool.allocateAll",
      `the label of ${formatted(unknown)} has no size`,
      "Pass labels in the shape of the sizes."
    )
  }
  const names = Array.isArray(sizes) ? [...sizes.keys()] : Object.keys(sizes)
  return names.map((name) => ({
    size: Reflect.get(sizes, name),
    label: isMember(labels, name) ? Reflect.get(labels, name) : undefined
  }))
}

const isMember = (values: Shape<unknown>, name: PropertyKey): boolean =>
  Object.prototype.propertyIsEnumerable.call(values, name)

const shapeProblem = (name: string, values: unknown): GpuError | undefined =>
  typeof values === "object" && values !== null
    ? undefined
    : invalidRequest("BufferPool.allocateAll", `the ${name} are ${formatted(values)}`, "Pass an array or a record.")

/** Leases in the order of the sizes, in their shape. */
export const inShape = <L>(sizes: Shape<number>, leases: ReadonlyArray<L>): Shape<L> =>
  Array.isArray(sizes)
    ? leases.slice()
    : Object.fromEntries(Object.keys(sizes).map((name, index) => [name, leases[index]!]))
