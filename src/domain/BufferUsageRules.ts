/**
 * What follows from the usage of a buffer, and what is wrong with one.
 *
 * @internal
 */
import {
  type BufferUsage,
  copyDst,
  copySrc,
  download,
  flags,
  format,
  has,
  hostNoAccess,
  hostReadOnly,
  hostWriteOnly,
  index,
  indirect,
  kernelReadOnly,
  kernelWriteOnly,
  storage,
  uniform,
  upload,
  vertex
} from "./BufferUsage.ts"
import * as UsageFlags from "./UsageFlags.ts"

/** Whether memory of this usage is staging memory, which every backend that can map in place maps in place. */
export const isStaging = (usage: BufferUsage): boolean => usage === download || usage === upload

const rules = UsageFlags.of("buffer", flags)

export const lackProblem: UsageFlags.UsageFlags["lackProblem"] = rules.lackProblem

/**
 * What the program itself does with a buffer's bytes: a read, a write, or both, as a mapping may.
 */
export type HostAccess = "read" | "write" | "readwrite"

const forbidding: { readonly [A in HostAccess]: number } = {
  read: hostWriteOnly | hostNoAccess,
  write: hostReadOnly | hostNoAccess,
  readwrite: hostReadOnly | hostWriteOnly | hostNoAccess
}

/**
 * Whether the program may access a buffer of this usage in that way.
 */
export const allowsHost = (usage: BufferUsage, access: HostAccess): boolean => (usage & forbidding[access]) === 0

/**
 * The flags that limit what the program itself may do; 0 where it may do all.
 */
export const hostAccess = (usage: BufferUsage): BufferUsage => usage & forbidding.readwrite

const kernelRestrictions = kernelReadOnly | kernelWriteOnly

/**
 * Whether a sub-region of a buffer of usage `whole` can have `usage`: the same or less.
 */
export const isWithin = (usage: BufferUsage, whole: BufferUsage): boolean =>
  typeof usage === "number" && typeof whole === "number" &&
  (usage & ~(whole | kernelRestrictions | forbidding.readwrite)) === 0 && has(usage, whole & kernelRestrictions) &&
  (["read", "write"] as const).every((access) => allowsHost(whole, access) || !allowsHost(usage, access))

/**
 * What is wrong with a usage, or `undefined` for a good one: it needs a known flag that gives the buffer a purpose, and
 * nothing unknown or contradictory.
 */
export const problem = (usage: BufferUsage): string | undefined => {
  const unknown = rules.unknown(usage)
  if (unknown !== undefined) return unknown
  if ((usage & (storage | uniform | copySrc | copyDst | index | vertex | indirect)) === 0) {
    return `the usage ${format(usage)} allows no operation`
  }
  if (has(usage, kernelReadOnly | kernelWriteOnly)) return "kernelReadOnly and kernelWriteOnly exclude each other"
  const host = hostAccess(usage)
  // More than one flag: a power of two has no bit in common with the number before it.
  return (host & (host - 1)) === 0 ? undefined : `${format(host).replaceAll(" |", " and")} exclude each other`
}
