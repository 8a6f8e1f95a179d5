/**
 * How functions that take their subject first or last, by `dual`, tell which of the two a call did, where options at the
 * end may be left out. What is no subject, as programs without types pass, counts as one where it can, for its error.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { KnownOptions } from "../../domain/arguments/KnownOptions.ts"
import { isBufferLike } from "./BufferLike.ts"

/** Whether a call of a function begins with its subject that has nothing but options, or a class and options, besides. */
export const startsWithSubject = (args: ArrayLike<unknown>): boolean =>
  args.length > 0 && typeof args[0] !== "function" && (!isOptions(args[0]) || typeof args[1] === "function")

/**
 * The same for functions that need `required` arguments, the subject among them. A call with that many has left out the
 * options, or the subject. Where the first argument is a subject, nothing is left out but options; only where what comes
 * next is of the subject's kind as well, as a target to copy to, an object with nothing but names of `options` is that
 * function's options. Where the first argument is no subject, any object that is none of a class counts as options.
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

/** Of functions on a buffer and nothing else that is one. */
export const bufferFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, isBufferLike)

/** No data and no buffer looks like it. What it really is the functions on images check themselves. */
export const looksLikeImage = (u: unknown): boolean => {
  try {
    return typeof u === "object" && u !== null && "shape" in u && "format" in u
  } catch {
    return false
  }
}

/** Of functions on an image and nothing else that is one. */
export const imageFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, looksLikeImage)

/** A proxy of the program may throw when it is looked at. */
const isOptions = (u: unknown, known?: KnownOptions): boolean => {
  try {
    return typeof u === "object" && u !== null && Object.getPrototypeOf(u) === Object.prototype &&
      (known === undefined || Object.keys(u).every((name) => known.has(name)))
  } catch {
    return false
  }
}

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>

/** The methods of a service in context as functions, which take their subject first or last. */
export const methodsOf =
  <Self, Shape extends object>(service: Context.Service<Self, Shape>) =>
  <F>(name: keyof Shape, isSubjectFirst: (args: ArrayLike<unknown>) => boolean): F =>
    dual(
      isSubjectFirst,
      (...args: ReadonlyArray<unknown>) =>
        service.use((methods) => Reflect.apply(methods[name] as Method, methods, args))
    ) as F
