/**
 * The sizes of leases that a program asks for together: an array, or a record by name, with labels in the same shape.
 *
 * @internal
 */
import { formatted } from "../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

type Shape<A> = ReadonlyArray<A> | Readonly<Record<string, A>>

/**
 * Calls `f` with each size and its label, and with a function that gives leases in that order the shape of the sizes; InvalidRequest for a
 * label without a size. A size may be missing in an array: it is refused later. Only own members count, since a size may be called `keys`
 * or `length`. Their names are read once, since a program may change the sizes while it waits for the leases.
 */
export const read = <A>(
  sizes: Shape<number>,
  labels: Shape<string | undefined> = {},
  f: (
    wants: ReadonlyArray<{ readonly size: number; readonly label: string | undefined }>,
    inShape: <L>(leases: ReadonlyArray<L>) => Shape<L>
  ) => A
): A | GpuError => {
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
  const isList = Array.isArray(sizes)
  const names = isList ? [...sizes.keys()] : Object.keys(sizes)
  return f(
    names.map((name) => ({
      size: Reflect.get(sizes, name),
      label: isMember(labels, name) ? Reflect.get(labels, name) : undefined
    })),
    (leases) => isList ? leases.slice() : Object.fromEntries(names.map((name, index) => [name, leases[index]!]))
  )
}

const isMember = (values: Shape<unknown>, name: PropertyKey): boolean =>
  Object.prototype.propertyIsEnumerable.call(values, name)

const shapeProblem = (name: string, values: unknown): GpuError | undefined =>
  typeof values === "object" && values !== null
    ? undefined
    : invalidRequest("BufferPool.allocateAll", `the ${name} are ${formatted(values)}`, "Pass an array or a record.")
