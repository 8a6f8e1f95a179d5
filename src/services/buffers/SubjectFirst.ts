/**
 * Functions made by `dual` take their subject first or last, and may leave out options at the end: as those of Effect that have options,
 * they know by its type whether a call begins with the subject.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as CallSite from "../calls/CallPlaces.ts"
import { isBufferLike } from "./BufferLike.ts"

/** For functions on a buffer: without it a call begins with something else. */
export const bufferFirst = (args: ArrayLike<unknown>): boolean => isBufferLike(args[0])

/** For functions from one buffer to another: a call that leaves out the first one has no second one. */
export const bothBuffers = (args: ArrayLike<unknown>): boolean => isBufferLike(args[1])

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
