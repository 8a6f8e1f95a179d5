/**
 * How pools find the queues of their device. A device with a single queue has no entry, so its programs never load the
 * code that orders queues.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { DeviceQueues } from "./QueueOrder.ts"

export type { QueueReuse } from "./QueueOrder.ts"

const known = new WeakMap<DeviceInfo, DeviceQueues>()

/** Makes the queues of a device known to its pools. */
export const add = (info: DeviceInfo, queues: DeviceQueues): DeviceQueues => {
  known.set(info, queues)
  return queues
}

export const of = (info: DeviceInfo): DeviceQueues | undefined => known.get(info)
