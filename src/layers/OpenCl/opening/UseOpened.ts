/**
 * How this backend's modules find the open device of a program.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { GpuError } from "../../../domain/GpuError.ts"
import { checkedStep } from "../../../services/calls/CheckedStep.ts"
import type { OpenCl } from "../OpenCl.ts"
import { own } from "../OwnDevice.ts"
import type { Opened } from "./Opened.ts"

/** Runs the checks and the act of an operation on the open device, in one step. */
export const useOpened = <A, E, R>(
  operation: string,
  f: (opened: Opened) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | OpenCl> =>
  Effect.flatMap(own, (opened) => checkedStep(operation, () => f(opened)))
