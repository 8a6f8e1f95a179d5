/**
 * Functions made by `dual` take their subject first or last. This decides which of the two a call did, where options at
 * the end may be left out. Where possible, a wrong value of a program without types counts as the subject, so that its
 * error names it.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { KnownOptions } from "../../domain/arguments/KnownOptions.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import { isBufferLike } from "./BufferLike.ts"

/** Whether a call begins with the subject, for functions whose other arguments are only options, or a class and options. */
export const startsWithSubject = (args: ArrayLike<unknown>): boolean =>
  args.length > 0 && typeof args[0] !== "function" && (!isOptions(args[0]) || typeof args[1] === "function")

/**
 * The same for functions that need `required` arguments, the subject included. A call with so many arguments left out
 * the options, or the subject. If its first argument is a subject, it left out the options. One exception: the next
 * argument is also of the subject's kind, as the target of a copy. Then a last object with only names of `options` is
 * the options. If the first argument is no subject, any plain object counts as options.
 */
export const subjectFirst =
  (required: number, isSubject: (u: unknown) => boolean, options?: KnownOptions) =>
  (args: ArrayLike<unknown>): boolean => {
    if (args.length !== required) return args.length > required
    const last = args[required - 1]
    return isSubject(args[0])
      ? options === undefined || !isOptions(last, options)
      : last !== undefined && !isOptions(last)
  }

/** For functions with only one buffer among their arguments. */
export const bufferFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, isBufferLike)

/** Neither data nor a buffer has these members. The functions on images check the rest themselves. */
export const looksLikeImage = (u: unknown): boolean => {
  try {
    return typeof u === "object" && u !== null && "shape" in u && "format" in u
  } catch {
    return false
  }
}

/** For functions with only one image among their arguments. */
export const imageFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, looksLikeImage)

/** A proxy of the program may throw on any access. */
const isOptions = (u: unknown, known?: KnownOptions): boolean => {
  try {
    return typeof u === "object" && u !== null && Object.getPrototypeOf(u) === Object.prototype &&
      (known === undefined || Object.keys(u).every((name) => known.has(name)))
  } catch {
    return false
  }
}

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>

/** The methods of the service in context, as functions that take their subject first or last. */
export const methodsOf =
  <Self, Shape extends object>(service: Context.Service<Self, Shape>) =>
  <F>(name: keyof Shape & string, isSubjectFirst: (args: ArrayLike<unknown>) => boolean): F => {
    const operation = `${service.key.replace(/^.*\//, "")}.${name}`
    const method: Method = dual(
      isSubjectFirst,
      (...args: ReadonlyArray<unknown>) =>
        CallSite.framed(
          service.use((methods) => Reflect.apply(methods[name] as Method, methods, args)),
          operation,
          method
        )
    )
    return method as F
  }
