/**
 * How this backend's modules get at the open device of a program.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import type { GpuError } from "../../domain/GpuError.ts"
import { checkedStep } from "../../services/CheckedStep.ts"
import { type OpenCl, Own } from "./OpenCl.ts"
import type { Opened } from "./Opened.ts"

/**
 * What an operation looks at and does on the open device, in one step.
 *
 * @internal
 */
export const useOpened = <A, E, R>(
  operation: string,
  f: (opened: Opened) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | OpenCl> => Own.use((opened) => checkedStep(operation, () => f(opened)))
