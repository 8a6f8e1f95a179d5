/**
 * Functions made by `dual` take their subject first or last, and may leave out options at the end. So they tell by the
 * type of the first argument whether a call begins with the subject, as Effect's functions with options do.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as CallSite from "../calls/CallPlaces.ts"
import { isBufferLike } from "./BufferLike.ts"

/** For functions on a buffer: whether the call is data-first. */
export const bufferFirst = (args: ArrayLike<unknown>): boolean => isBufferLike(args[0])

/** For functions from one buffer to another: a data-first call has two buffers. */
export const bothBuffers = (args: ArrayLike<unknown>): boolean => isBufferLike(args[1])

/** The last signature of a function, which takes the subject first. */
type SubjectFirst<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Result : never

/** A function that takes its subject first or last, from a body that takes it first, with the types of `F`. */
export const eitherWay = <F>(isSubjectFirst: (args: ArrayLike<unknown>) => boolean, body: SubjectFirst<F>): F =>
  dual(isSubjectFirst, body as (...args: Array<never>) => unknown) as F

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
