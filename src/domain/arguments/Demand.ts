/**
 * Checks of the arguments of pure functions: they throw a TypeError that names the function, the argument and the
 * value.
 *
 * Operations on a device fail with a GpuError; pure functions throw, as those of JavaScript do. Where their types allow
 * a question without an answer, they return a Result.
 *
 * @since 0.1.0
 */
import { formatted, withArticle } from "./Format.ts"

/**
 * What an argument must be: its name in a message, and the check.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = "number" | "string" | "boolean" | "object" | "function" | "list"

const isOf = (kind: Kind, value: unknown): boolean => {
  if (kind === "list") return Array.isArray(value)
  return kind === "object" ? typeof value === "object" && value !== null : typeof value === kind
}

/**
 * Throws a TypeError for a value of another kind.
 *
 * @category functions
 * @since 0.1.0
 */
export const demand = (operation: string, name: string, value: unknown, kind: Kind): void => {
  if (isOf(kind, value)) return
  throw new TypeError(`${operation}: ${formatted(value)} was given for ${name}. Pass ${withArticle(kind)}.`)
}

/**
 * Throws a TypeError for a value that is no object, or has a member of another kind.
 *
 * @category functions
 * @since 0.1.0
 */
export const demandMembers = (
  operation: string,
  name: string,
  value: unknown,
  kinds: Readonly<Record<string, Kind>>
): void => {
  demand(operation, name, value, "object")
  for (const [member, kind] of Object.entries(kinds)) {
    demand(operation, `${name}.${member}`, Reflect.get(value as object, member), kind)
  }
}
