/**
 * Mapping a buffer: by the commands of memory objects, or by those of shared virtual memory for a buffer in it.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DriverMapping, MapAccess } from "../../../services/device/QueueDriver.ts"
import { allocationOf, keeperOf, ownOf } from "../memory/OpenClObject.ts"
import type { OpenClApi, Pointer } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type { SvmAllocation, SvmRange } from "../svm/SvmAllocation.ts"
import type { MapCall, OpenClMappings } from "./OpenClMapping.ts"
import { CL_NON_BLOCKING } from "./Recorder.ts"

export const map = (
  device: OpenDevice,
  mappings: OpenClMappings,
  buffer: DeviceBuffer,
  offset: number,
  bytes: number,
  access: MapAccess
): Exit.Exit<DriverMapping, GpuError> => {
  const flags = mappings.flagsOf(access)
  const allocation = allocationOf(buffer)
  if (allocation !== undefined) {
    const address = allocation.address + BigInt(buffer.origin + offset)
    const call = sharedCall(device.api, flags, allocation, address, bytes)
    return mappings.map({ ...call, memory: buffer, handle: keeperOf(buffer), bytes }, () => bytes)
  }
  const own = ownOf(buffer)
  if (isGpuError(own)) return Exit.fail(own)
  // Commands may use other parts of the same buffer meanwhile, but not the whole one.
  device.keepApart(buffer)
  const { handle } = own
  const call = plainCall(device.api, flags, handle, offset, bytes)
  return mappings.map({ ...call, memory: buffer, handle, bytes }, () => bytes)
}

type Call = Omit<MapCall, "memory" | "handle" | "bytes">

const plainCall = (api: OpenClApi, flags: number, memory: bigint, offset: number, bytes: number): Call => ({
  call: "clEnqueueMapBuffer",
  unmapCall: "clEnqueueUnmapMemObject",
  map: (queue, event, code) =>
    api.clEnqueueMapBuffer(queue, memory, CL_NON_BLOCKING, flags, offset, bytes, 0, null, event, code),
  unmap: (queue, event, address) => api.clEnqueueUnmapMemObject(queue, memory, address, 0, null, event)
})

/**
 * For a buffer in shared virtual memory, which has commands of its own for mapping. Bytes that are mapped already are not
 * mapped again.
 */
const sharedCall = (
  api: OpenClApi,
  flags: number,
  { mapped, shown }: SvmAllocation,
  address: bigint,
  bytes: number
): Call => {
  const ranges = mapped.covering(address, address + BigInt(bytes))
  const fresh = ranges.filter(({ mappings }) => mappings === 0)
  return {
    call: "clEnqueueSVMMap",
    unmapCall: "clEnqueueSVMUnmap",
    map: (queue, event, code) => {
      code[0] = mapRanges(api, queue, flags, fresh, event)
      if (code[0] !== OpenClCode.success) return null
      mapped.retain(ranges)
      return address
    },
    unmap: (queue, event) => unmapRanges(api, queue, mapped.release(ranges), event),
    failed: (code) => {
      for (const range of fresh) range.failure = code
    },
    failure: () => ranges.find(({ failure }) => failure !== undefined)?.failure,
    shown
  }
}

/** Maps all of the ranges or none, after all commands before. Returns the driver's code. */
const mapRanges = (
  api: OpenClApi,
  queue: bigint,
  flags: number,
  ranges: ReadonlyArray<SvmRange>,
  event: Pointer
): number => {
  const mapped: Array<SvmRange> = []
  const code = enqueueAll(api, queue, ranges, event, (range, event) => {
    const code = api.clEnqueueSVMMap(queue, CL_NON_BLOCKING, flags, range.start, range.bytes, 0, null, event)
    if (code === OpenClCode.success) mapped.push(range)
    return code
  })
  if (code !== OpenClCode.success) {
    for (const { start } of mapped) {
      api.clEnqueueSVMUnmap(queue, start, 0, null, null)
    }
  }
  return code
}

/** Unmaps the ranges. Returns the code of the first that the driver refused. */
const unmapRanges = (api: OpenClApi, queue: bigint, ranges: ReadonlyArray<SvmRange>, event: Pointer): number =>
  enqueueAll(api, queue, ranges, event, ({ start }, event) => api.clEnqueueSVMUnmap(queue, start, 0, null, event))

/**
 * Enqueues a command for each range. Unless there is exactly one, a marker has the event: it fails when one of them
 * does.
 */
const enqueueAll = (
  api: OpenClApi,
  queue: bigint,
  ranges: ReadonlyArray<SvmRange>,
  event: Pointer,
  enqueue: (range: SvmRange, event: Pointer) => number
): number => {
  if (ranges.length === 1) return enqueue(ranges[0]!, event)
  const out = new BigUint64Array(new ArrayBuffer(8))
  const events: Array<bigint> = []
  let failure: number = OpenClCode.success
  for (const range of ranges) {
    const code = enqueue(range, out)
    if (code === OpenClCode.success) events.push(out[0]!)
    else if (failure === OpenClCode.success) failure = code
  }
  const list = events.length === 0 ? null : BigUint64Array.from(events)
  const marked = failure === OpenClCode.success
    ? api.clEnqueueMarkerWithWaitList(queue, events.length, list, event)
    : failure
  for (const one of events) api.clReleaseEvent(one)
  return marked
}
