/**
 * What follows from the usage of a buffer, and what is wrong with one.
 *
 * @internal
 */
import * as BufferUsage from "./BufferUsage.ts"
import * as UsageFlags from "./UsageFlags.ts"

/** Whether memory of this usage is staging memory, which every backend that can map in place maps in place. */
export const isStaging = (usage: BufferUsage.BufferUsage): boolean =>
  usage === BufferUsage.download || usage === BufferUsage.upload

const rules = UsageFlags.of("buffer", BufferUsage.flags)

export const lackProblem: UsageFlags.UsageFlags["lackProblem"] = rules.lackProblem

/**
 * What the program itself does with a buffer's bytes: a read, a write, or both, as a mapping may.
 */
export type HostAccess = "read" | "write" | "readwrite"

const forbidding: { readonly [A in HostAccess]: number } = {
  read: BufferUsage.hostWriteOnly | BufferUsage.hostNoAccess,
  write: BufferUsage.hostReadOnly | BufferUsage.hostNoAccess,
  readwrite: BufferUsage.hostReadOnly | BufferUsage.hostWriteOnly | BufferUsage.hostNoAccess
}

/**
 * Whether the program may access a buffer of this usage in that way.
 */
export const allowsHost = (usage: BufferUsage.BufferUsage, access: HostAccess): boolean =>
  (usage & forbidding[access]) === 0

/**
 * The flags that limit what the program itself may do; 0 where it may do all.
 */
export const hostAccess = (usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage => usage & forbidding.readwrite

const kernelRestrictions = BufferUsage.kernelReadOnly | BufferUsage.kernelWriteOnly

/**
 * Whether a sub-region of a buffer of usage `whole` can have `usage`: the same or less.
 */
export const isWithin = (usage: BufferUsage.BufferUsage, whole: BufferUsage.BufferUsage): boolean =>
  typeof usage === "number" && typeof whole === "number" &&
  (usage & ~(whole | kernelRestrictions | forbidding.readwrite)) === 0 &&
  BufferUsage.has(usage, whole & kernelRestrictions) &&
  (["read", "write"] as const).every((access) => allowsHost(whole, access) || !allowsHost(usage, access))

const { copyDst, copySrc, index, indirect, storage, uniform, vertex } = BufferUsage.flags

/** The flags of which a buffer needs one. */
const purposes = storage | uniform | copySrc | copyDst | index | vertex | indirect

/**
 * What is wrong with a usage, or `undefined` for a good one: it needs a known flag that gives the buffer a purpose, and
 * nothing unknown or contradictory.
 */
export const problem = (usage: BufferUsage.BufferUsage): string | undefined => {
  const unknown = rules.unknown(usage)
  if (unknown !== undefined) return unknown
  if ((usage & purposes) === 0) return `the usage ${BufferUsage.format(usage)} allows no operation`
  if (BufferUsage.has(usage, kernelRestrictions)) return "kernelReadOnly and kernelWriteOnly exclude each other"
  const host = hostAccess(usage)
  // More than one flag: a power of two has no bit in common with the number before it.
  return (host & (host - 1)) === 0
    ? undefined
    : `${BufferUsage.format(host).replaceAll(" |", " and")} exclude each other`
}
