/**
 * What buffers and images may be used for, as flags with names.
 *
 * @since 0.1.0
 */
import { formatted } from "./arguments/Format.ts"
import { type GpuError, invalidRequest } from "./GpuError.ts"

/**
 * Whether `usage` has every flag of `flags`.
 *
 * @category functions
 * @since 0.1.0
 */
export const has = (usage: number, flags: number): boolean =>
  typeof usage === "number" && typeof flags === "number" && (usage & flags) === flags

/**
 * A set of flags, with the names of each.
 *
 * @category models
 * @since 0.1.0
 */
export interface UsageFlags {
  /** The flags by name, for messages. */
  readonly format: (usage: number) => string
  /** What is wrong with a usage that is no set of these flags. */
  readonly unknown: (usage: number) => string | undefined
  /** The error of an operation that needs flags which the usage lacks, or `undefined`. */
  readonly lackProblem: (operation: string, usage: number, needed: number) => GpuError | undefined
}

/**
 * The flags of a kind of memory, which fill the bits up to the largest one.
 *
 * @category functions
 * @since 0.1.0
 */
export const of = (kind: "buffer" | "image", flags: Readonly<Record<string, number>>): UsageFlags => {
  const all = Object.values(flags).reduce((union, flag) => union | flag, 0)
  const format = (usage: number): string => {
    const set = Object.keys(flags).filter((name) => has(usage, flags[name]!))
    return set.length === 0 ? `none (${formatted(usage)})` : set.join(" | ")
  }
  return {
    format,
    // Bit masks ignore the bits from 2^32 on, so compare numbers.
    unknown: (usage) =>
      Number.isInteger(usage) && usage >= 0 && usage <= all
        ? undefined
        : `the usage ${formatted(usage)} has unknown flags`,
    lackProblem: (operation, usage, needed) =>
      has(usage, needed) ? undefined : invalidRequest(
        operation,
        `the ${kind}'s usage ${format(usage)} lacks ${format(needed & ~usage)}`,
        `Name that flag in the usage when you ask for the ${kind}.`
      )
  }
}
