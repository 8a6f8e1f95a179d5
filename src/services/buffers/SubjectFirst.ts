/**
 * How functions that take their subject first or last, by `dual`, tell which of the two a call did, where options at the
 * end may be left out. What is no subject, as programs without types pass, counts as one where it can, for its error.
 *
 * @internal
 */
import { isBufferLike } from "./BufferLike.ts"

/** Whether a call of a function begins with its subject that has nothing but options, or a class and options, besides. */
export const startsWithSubject = (args: ArrayLike<unknown>): boolean =>
  args.length > 0 && typeof args[0] !== "function" && (!isOptions(args[0]) || typeof args[1] === "function")

/**
 * The same for functions that need `required` arguments, the subject among them. A call with that many has left out the
 * options, or the subject: the first argument tells where nothing else can be a subject, else the last.
 */
export const subjectFirst =
  (required: number, isSubject: (u: unknown) => boolean) => (args: ArrayLike<unknown>): boolean =>
    args.length > required || (args.length === required && (isSubject(args[0]) || !isOptions(args[required - 1])))

/** Of functions on a buffer and nothing else that is one. */
export const bufferFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, isBufferLike)

/** Of functions that go from one buffer or image to another. */
export const sourceFirst: (args: ArrayLike<unknown>) => boolean = subjectFirst(2, () => false)

/** A proxy of the program may throw when it is looked at. */
const isOptions = (u: unknown): boolean => {
  try {
    return typeof u === "object" && u !== null && Object.getPrototypeOf(u) === Object.prototype
  } catch {
    return false
  }
}
