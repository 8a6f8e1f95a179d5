/**
 * The one synchronous step in which an operation checks its arguments and acts on them.
 *
 * Programs without types can pass anything: options whose members throw when they are read, or proxies that always throw.
 * Such a value is the caller's mistake, so the operation fails with InvalidRequest. No argument makes an effect die.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { readValues } from "../../domain/arguments/ArgumentProblem.ts"
import type { GpuError } from "../../domain/GpuError.ts"

/**
 * Suspends `step`, which checks arguments and acts on them in one synchronous step. When a value throws while `step`
 * reads it, the operation fails with InvalidRequest.
 *
 * @category functions
 * @since 0.1.0
 */
export const checkedStep = <A, E, R>(
  operation: string,
  step: (operation: string, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | GpuError, R> => readValues(operation, () => step(operation, fiber)))
