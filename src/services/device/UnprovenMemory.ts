/**
 * Memory that may not exist: a deferred block shows only at its first use that it has none.
 *
 * @see pyopencl.tools.DeferredAllocator
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import { DeviceBuffer } from "./DeviceBuffer.ts"
import type { DeviceImage } from "./DeviceImage.ts"

/**
 * Whether a refusal may mean that the memory does not exist. One that the memory has no part in, as one over a limit, says
 * nothing about it.
 */
const isAboutMemory = (reason: Cause.Reason<GpuError>): boolean =>
  Cause.isFailReason(reason) &&
  (reason.error.reason._tag === "OutOfMemory" || reason.error.reason._tag === "DriverError")

/**
 * Memory that a refused command was about is never leased again.
 *
 * @internal
 */
export const distrustUnproven = <A>(
  exit: Exit.Exit<A, GpuError>,
  ...memory: ReadonlyArray<DeviceBuffer | DeviceImage>
): Exit.Exit<A, GpuError> => {
  if (Exit.isSuccess(exit) || !exit.cause.reasons.some(isAboutMemory)) return exit
  for (const used of memory) {
    if (used instanceof DeviceBuffer) used.root.recyclable = false
    else used.distrust()
  }
  return exit
}
