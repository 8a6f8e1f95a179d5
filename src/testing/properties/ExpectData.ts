/**
 * Comparison of plain data, big integers among them.
 *
 * @internal
 */
import * as Equal from "effect/Equal"
import { fail } from "../Expect.ts"

export { fail } from "../Expect.ts"

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => typeof part === "bigint" ? `${part}n` : part) ?? String(value)

/** The same data in every part. @internal */
export const sameData = (what: string, actual: unknown, expected: unknown): void => {
  if (!Equal.equals(actual, expected)) fail(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}
