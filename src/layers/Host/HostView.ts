/**
 * A view of a buffer's memory in place.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../services/buffers/BufferMemory.ts"
import { leaseOf } from "../../services/buffers/LeaseUnder.ts"
import type { PooledBuffer } from "../../services/buffers/PooledBuffer.ts"
import { validated } from "../../services/calls/Validated.ts"
import * as Attachments from "../../services/lease/Attachments.ts"
import type { HostDevice } from "./HostDevice.ts"
import type { HostBuffer } from "./HostMemory.ts"

const operation = "Host.bytes"

/** The requested bytes, until the buffer is destroyed or the lease that it is or belongs to ends. */
export const bytes = (
  device: HostDevice,
  buffer: BufferLike.BufferLike
): Effect.Effect<Uint8Array<ArrayBuffer>, GpuError> =>
  validated(operation, () => {
    const memory = BufferMemory.of(operation, buffer, device, { usage: 0, host: "readwrite" })
    if (isGpuError(memory)) return memory
    if (memory === undefined) return Effect.succeed(new Uint8Array(0))
    const own = memory as HostBuffer
    const taken = device.problem(operation, [own])
    if (taken !== undefined) return taken
    // Wait for the move: it detaches all views of the memory, one that is made now included.
    if (own.isMoving || device.waitsForOthers(own)) return Effect.andThen(device.turn, bytes(device, buffer))
    const lease = leaseOf(buffer)
    if (lease !== undefined && own.shownBy === undefined) show(device, own, lease)
    return Effect.succeed(new Uint8Array(own.memory, own.base, buffer.size))
  })

/** Ends the views with the lease. The bytes move only when submitted work no longer uses the memory. */
const show = (device: HostDevice, own: HostBuffer, lease: PooledBuffer): void => {
  own.show(lease)
  Attachments.attach(lease, {
    endUnsafe: () => {
      own.hide()
      device.afterUses(own, () => own.move())
      return Exit.void
    }
  })
}
