/**
 * The commands that map ranges of shared virtual memory, with one event for all ranges of a mapping.
 *
 * @internal
 */
import { CL_NON_BLOCKING } from "../commands/Recorder.ts"
import type { OpenClApi, Pointer } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import type { SvmRange } from "./SvmRanges.ts"

/** Maps all of the ranges or none, after all commands before. Returns the driver's code. */
export const map = (
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
export const unmap = (api: OpenClApi, queue: bigint, ranges: ReadonlyArray<SvmRange>, event: Pointer): number =>
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
