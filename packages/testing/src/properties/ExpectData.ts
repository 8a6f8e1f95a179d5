/**
 * Comparison of plain data with BigInt values.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import { fail, Mismatch } from "../Expect.ts"

export { fail } from "../Expect.ts"

const show = (value: unknown): string =>
  typeof value === "bigint"
    ? String(value)
    : JSON.stringify(value, (_, part: unknown) => typeof part === "bigint" ? `${part}n` : part) ?? String(value)

type Members = Readonly<Record<string, unknown>>

/** Checks that a pool has what its model has. A failure names only the members that differ. */
export const agree = (model: Members, pool: Members): void => {
  const different = Object.keys({ ...model, ...pool }).filter((name) => !Equal.equals(model[name], pool[name]))
  if (different.length === 0) return
  fail(different.map((name) => `${name}: model ${show(model[name])}, pool ${show(pool[name])}`).join("; "))
}

/** The counters that the model also has, as BigInt values. */
export const bigIntegers = (counters: object, names: Iterable<string>): Readonly<Record<string, bigint>> =>
  Object.fromEntries(Array.from(names, (name) => [name, BigInt(Reflect.get(counters, name) as number)]))

/** The values of a list as members, named by their index. */
export const byName = (name: string, values: ReadonlyArray<unknown>): Members =>
  Object.fromEntries(values.map((value, index) => [`${name} ${index}`, value]))

const mostCommands = 10

/** Adds to a mismatch the last commands before it, in order. */
export const after = <A, E, R>(
  commands: ReadonlyArray<string>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.catchDefect(effect, (defect) => {
    if (!(defect instanceof Mismatch)) return Effect.die(defect)
    const count = commands.length
    const last = [...count > mostCommands ? ["..."] : [], ...commands.slice(-mostCommands)].join(", ")
    const message = `${defect.message} (after ${count} command${count === 1 ? "" : "s"}${
      count === 0 ? "" : `: ${last}`
    })`
    return Effect.die(new Mismatch({ message }))
  })

/** Checks that both are the same data in every part. */
export const sameData = (what: string, actual: unknown, expected: unknown): void => {
  if (!Equal.equals(actual, expected)) fail(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}
