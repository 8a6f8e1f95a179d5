/**
 * Memory of the program that a buffer or image uses, and that the program has given away.
 *
 * @internal
 */
import * as HostData from "../../domain/data/HostData.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

/**
 * Why the buffer or image over that memory cannot be used any more, or `undefined`: the program has transferred the
 * memory, and the driver still has its address.
 */
export const detachedProblem = (
  operation: string,
  what: "buffer" | "image",
  pinned: Uint8Array<ArrayBuffer> | undefined
): GpuError | undefined =>
  pinned === undefined || !HostData.isDetached(pinned.buffer) ? undefined : invalidRequest(
    operation,
    `the ArrayBuffer that the ${what} uses as its memory is detached`,
    `Transfer the data only after the scope of ${maker[what]} has closed, or let it be copied.`
  )

/** The functions that make such buffers and images. */
export const maker = { buffer: "MemoryObjects.fromHost", image: "Images.fromHost" } as const
