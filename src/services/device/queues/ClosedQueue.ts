/**
 * The end of a queue that the program has opened.
 *
 * @internal
 */
import { type GpuError, make as makeError, Released } from "../../../domain/GpuError.ts"

/** The error of operations on a closed queue. */
export const queueClosed = (label: string): GpuError =>
  makeError(new Released({ operation: "CommandQueue.make", label, size: 0, why: "scopeClosed", what: "queue" }))
