/**
 * The end of a queue that the program has opened.
 *
 * @internal
 */
import { type GpuError, released } from "../../../domain/GpuError.ts"

/** The error of operations on a closed queue. */
export const queueClosed = (label: string): GpuError =>
  released("CommandQueue.make", { label, size: 0, ended: "scopeClosed", what: "queue" })
