/**
 * The one synchronous step in which an operation checks its arguments and acts on them.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { attempt } from "../../domain/arguments/ArgumentProblem.ts"
import type { GpuError } from "../../domain/GpuError.ts"

/** Suspends `step`. The effect fails with the error that `step` returns, or that one of its checks throws. */
export const validated = <A, E, R>(
  operation: string,
  step: (operation: string, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | GpuError, R> => attempt(() => step(operation, fiber)))
