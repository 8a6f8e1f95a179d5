/**
 * The check that no copy is between two buffers over the same memory: no backend allows it.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @internal
 */
import * as Equal from "effect/Equal"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"

/** Why `source` cannot be copied to `target`, or `undefined`: sub-regions of one buffer count as that buffer. */
export const sharedMemoryProblem = (
  operation: string,
  source: DeviceBuffer,
  target: DeviceBuffer
): GpuError | undefined =>
  source.sharesMemory(target)
    ? invalidRequest(
      operation,
      `source and target are ${Equal.equals(source, target) ? "the same buffer" : "sub-regions of one buffer"}`,
      "WebGPU forbids a copy within one buffer: go through a second one."
    )
    : undefined
