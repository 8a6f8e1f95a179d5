/**
 * The known names of options. Without this check a misspelled name would be ignored: `maxByte` would be a pool
 * without a limit. Packages that extend the library check their own options with it.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { formatted } from "./Format.ts"

/**
 * The names of an options object, in the order in which messages list them.
 *
 * **Example** (Names from elsewhere)
 *
 * ```ts
 * import type { KnownOptions } from "effect-gpu-pool/backend"
 *
 * const known: KnownOptions.KnownOptions = new Set(["shape", "dtype"])
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type KnownOptions = ReadonlySet<string>

/**
 * The names of the members of a type, each of which must be listed: a member that is added to the type later and not here does not
 * compile.
 *
 * **Example** (The options of a function)
 *
 * ```ts
 * import { KnownOptions } from "effect-gpu-pool/backend"
 *
 * interface RollOptions {
 *   readonly axis?: number
 * }
 * const known = KnownOptions.of<RollOptions>({ axis: true })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = <Options extends object>(
  names: { readonly [K in keyof Options]-?: true }
): KnownOptions => new Set(Object.keys(names))

/**
 * InvalidRequest for options that are wrong, or `undefined`: they are left out, or an object with known names only, where a member that
 * is `undefined` counts as left out. The error names the option that was probably meant. It allocates nothing, so that operations can run
 * it on each call. It throws when reading the value throws. `where` says where in the arguments the object is, as `" in padding"`.
 *
 * **Example** (A misspelled option)
 *
 * ```ts
 * import { KnownOptions } from "effect-gpu-pool/backend"
 *
 * const known = KnownOptions.of<{ axis?: number; mode?: string }>({ axis: true, mode: true })
 * KnownOptions.problem("Rows.roll", { axes: 1 }, known)?.message
 * // => `Rows.roll: there is no option "axes". Did you mean axis? The options are axis and mode.`
 * KnownOptions.problem("Rows.roll", { axis: 1 }, known) // => undefined
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const problem = (
  operation: string,
  options: unknown,
  known: KnownOptions,
  where = ""
): GpuError | undefined => {
  if (options === undefined) return undefined
  if (typeof options !== "object" || options === null || Array.isArray(options) || ArrayBuffer.isView(options)) {
    return invalidRequest(
      operation,
      `${formatted(options)} was given for options${where}`,
      `Pass an object with ${[...known].join(", ")}, or leave it out.`
    )
  }
  const unknown = unknownName(options, known)
  return unknown === undefined
    ? undefined
    : invalidRequest(
      operation,
      `there is no option ${formatted(unknown)}${where}`,
      hintFor(unknown, known)
    )
}

const unknownName = (options: object, known: KnownOptions): string | undefined => {
  for (const name in options) {
    if (!known.has(name) && Object.hasOwn(options, name) && Reflect.get(options, name) !== undefined) return name
  }
  return undefined
}

const hintFor = (unknown: string, known: KnownOptions): string => {
  const names = [...known]
  const near = nearest(unknown, names)
  const options = names.length === 1
    ? `The only option is ${names[0]}.`
    : `The options are ${names.slice(0, -1).join(", ")} and ${names.at(-1)}.`
  return near === undefined ? options : `Did you mean ${near}? ${options}`
}

/** Longer names are no typing mistakes. */
const longest = 40

/**
 * The name that was probably meant: one that differs in a third of its letters at most, whatever their case, or that
 * begins or ends with what was written, as `capacityBytes` for `capacity`.
 *
 * **Example** (The nearest name)
 *
 * ```ts
 * import { KnownOptions } from "effect-gpu-pool/backend"
 *
 * KnownOptions.nearest("flaot", ["int", "float"]) // => "float"
 * ```
 *
 * @category checks
 * @since 0.1.0
 */
export const nearest = (written: string, names: ReadonlyArray<string>): string | undefined => {
  const word = written.toLowerCase()
  if (word.length > longest) return undefined
  const near = names.flatMap((name) => {
    const other = name.toLowerCase()
    const edits = distance(word, other)
    return edits <= allowed(other) || isPartOf(word, other) ? [{ name, edits }] : []
  })
  return near.sort((a, b) => a.edits - b.edits)[0]?.name
}

/** Any two names of one or two letters differ by one or two edits. */
const allowed = ({ length }: string): number => length < 3 ? 0 : Math.max(1, Math.floor(length / 3))

const isPartOf = (word: string, other: string): boolean =>
  word.length >= 3 && (other.startsWith(word) || other.endsWith(word) || (other.length >= 3 && word.startsWith(other)))

/**
 * How many letters must be inserted, removed, changed or swapped with the next one: the Damerau-Levenshtein distance.
 */
const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : Infinity
      next.push(Math.min(changed, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    before = row
    row = next
  }
  return row[b.length]!
}
