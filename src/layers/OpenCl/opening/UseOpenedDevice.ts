/**
 * How this backend's modules find the open device of a program.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { GpuError } from "../../../domain/GpuError.ts"
import { validated } from "../../../services/calls/Validated.ts"
import type { OpenCl } from "../OpenCl.ts"
import { own } from "../OwnDevice.ts"
import type { OpenedDevice } from "./OpenedDevice.ts"

/** Runs the checks and the act of an operation on the open device, in one step. */
export const useOpenedDevice = <A, E, R>(
  operation: string,
  f: (opened: OpenedDevice) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | OpenCl> => Effect.flatMap(own, (opened) => validated(operation, () => f(opened)))
