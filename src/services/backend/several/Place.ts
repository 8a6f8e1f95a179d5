/**
 * On which device something is.
 *
 * @since 0.1.0
 */
import { line } from "../../../domain/arguments/Format.ts"
import { type DeviceInfo, format } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, released } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../buffers/BufferLike.ts"
import { wrongArgument } from "../../calls/WrongArgument.ts"
import { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import { Lease } from "../../lease/Lease.ts"
import * as LeaseHolder from "../../lease/LeaseHolder.ts"

/**
 * What is on a device: a buffer, a lease, or a value with leases, as a device array.
 *
 * @category models
 * @since 0.1.0
 */
export type Located = BufferLike.BufferLike | Lease | LeaseHolder.LeaseHolder

/** A device, and the error where it is not open. @internal */
export interface Place {
  readonly device: DeviceInfo
  readonly missing: () => GpuError
}

/** Where something is; of several leases, the first one. For code in `attempt`. @internal */
export const placeOf = (operation: string, located: Located): Place => {
  if (located instanceof DeviceBuffer) return place(operation, located, located.owner)
  const lease = leaseOf(operation, located)
  if (lease.list === undefined) throw released(operation, lease)
  return place(operation, lease, lease.list.owner.deviceInfo)
}

const place = (operation: string, made: DeviceBuffer | Lease, device: DeviceInfo): Place => ({
  device,
  missing: () =>
    made instanceof Lease && made.list === undefined ? released(operation, made) : invalidRequest(
      operation,
      `${made.label === undefined ? "it" : `"${line(made.label)}"`} is on ${format(device)}, which is not open here`,
      "Allocate inside of BufferPools.on, in a scope that is still open."
    )
})

const leaseOf = (operation: string, located: unknown): Lease => {
  for (const lease of LeaseHolder.leases(located)) return lease
  throw wrongArgument(operation, located, "what is on a device", "Pass a lease, or an array that has memory.")
}
