/**
 * The one synchronous step in which an operation checks its arguments and acts on them.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Fiber from "effect/Fiber"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"

type Step<A, E, R> = (operation: string, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E, R>

/** Suspends `step`. The effect fails with the error that `step` returns, or that one of its checks throws. */
export const validated = <A, E, R>(operation: string, step: Step<A, E, R>): Effect.Effect<A, E | GpuError, R> =>
  new Validated(operation, step)

/** One object instead of the closures of `Effect.withFiber`, since each command is one. */
class Validated<A, E, R> extends Effectable.Class<A, E | GpuError, R> {
  declare readonly operation: string
  declare readonly step: Step<A, E, R>

  constructor(operation: string, step: Step<A, E, R>) {
    super()
    this.operation = operation
    this.step = step
  }

  override asEffect(): Effect.Effect<A, E | GpuError, R> {
    try {
      return this.step(this.operation, Fiber.getCurrent()!)
    } catch (thrown) {
      if (isGpuError(thrown)) return thrown
      throw thrown
    }
  }
}
