/**
 * Memory that may not exist: a block of a deferred allocator may fail at its first use.
 *
 * @see pyopencl.tools.DeferredAllocator
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import type { DeviceImage } from "./DeviceImage.ts"

/**
 * Whether a failed command may mean that the memory does not exist. A failure for another reason, as a limit, does not.
 */
const isAboutMemory = (reason: Cause.Reason<GpuError>): boolean =>
  Cause.isFailReason(reason) &&
  (reason.error.reason._tag === "OutOfMemory" || reason.error.reason._tag === "DriverError")

/** Marks the memory of a failed command, so that no pool leases it again. */
export const distrustUnverified = <A>(
  exit: Exit.Exit<A, GpuError>,
  ...memory: ReadonlyArray<DeviceBuffer | DeviceImage>
): Exit.Exit<A, GpuError> => {
  if (Exit.isSuccess(exit) || !exit.cause.reasons.some(isAboutMemory)) return exit
  for (const used of memory) used.distrust()
  return exit
}
