/**
 * The step of an operation in which it looks at what the program gave and acts on it.
 *
 * Programs without types give anything: options whose members throw when they are read, proxies that throw whatever is
 * asked of them. Looking at such a value is the caller's mistake, and told as one: an effect never dies of an argument.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { readValues } from "../../domain/ArgumentProblem.ts"
import type { GpuError } from "../../domain/GpuError.ts"

/**
 * Suspends `step`, which checks arguments and acts on them in one synchronous step. What it throws, because a value
 * that it looked at throws, is an InvalidRequest of the operation.
 *
 * @internal
 */
export const checkedStep = <A, E, R>(
  operation: string,
  step: (operation: string, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | GpuError, R> => readValues(operation, () => step(operation, fiber)))
