/**
 * Mapping a buffer: by the commands of memory objects, or by those of shared virtual memory for a buffer in it.
 *
 * @internal
 */
import type * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DriverMapping, MapAccess } from "../../../services/device/QueueDriver.ts"
import { allocationOf, handleOf } from "../memory/OpenClObject.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import * as SvmMapping from "../svm/SvmMapping.ts"
import type { MapCall, OpenClMappings } from "./OpenClMapping.ts"
import { CL_NON_BLOCKING } from "./Recorder.ts"

export const map = (
  api: OpenClApi,
  mappings: OpenClMappings,
  buffer: DeviceBuffer,
  offset: number,
  bytes: number,
  access: MapAccess
): Exit.Exit<DriverMapping, GpuError> => {
  const flags = mappings.flagsOf(access)
  return mappings.map(
    sharedCall(api, buffer, offset, bytes, flags) ?? plainCall(api, buffer, offset, bytes, flags),
    () => bytes
  )
}

const plainCall = (
  api: OpenClApi,
  buffer: DeviceBuffer,
  offset: number,
  bytes: number,
  flags: number
): MapCall => {
  const memory = handleOf(buffer)
  return {
    memory: buffer,
    call: "clEnqueueMapBuffer",
    unmapCall: "clEnqueueUnmapMemObject",
    bytes,
    map: (queue, event, code) =>
      api.clEnqueueMapBuffer(queue, memory, CL_NON_BLOCKING, flags, offset, bytes, 0, null, event, code),
    unmap: (queue, event, address) => api.clEnqueueUnmapMemObject(queue, memory, address, 0, null, event)
  }
}

/**
 * For a buffer in shared virtual memory, which has commands of its own for mapping. Bytes that are mapped already are not
 * mapped again.
 */
const sharedCall = (
  api: OpenClApi,
  buffer: DeviceBuffer,
  offset: number,
  bytes: number,
  flags: number
): MapCall | undefined => {
  const allocation = allocationOf(buffer)
  if (allocation === undefined) return undefined
  const address = allocation.address + BigInt(buffer.origin + offset)
  const ranges = allocation.mapped.covering(address, address + BigInt(bytes))
  const fresh = ranges.filter(({ mappings }) => mappings === 0)
  return {
    memory: buffer,
    call: "clEnqueueSVMMap",
    unmapCall: "clEnqueueSVMUnmap",
    bytes,
    map: (queue, event, code) => {
      code[0] = SvmMapping.map(api, queue, flags, fresh, event)
      if (code[0] !== OpenClCode.success) return null
      allocation.mapped.retain(ranges)
      return address
    },
    unmap: (queue, event) => SvmMapping.unmap(api, queue, allocation.mapped.release(ranges), event),
    failed: (code) => {
      for (const range of fresh) range.failure = code
    },
    failure: () => ranges.find(({ failure }) => failure !== undefined)?.failure,
    shown: allocation.shown
  }
}
