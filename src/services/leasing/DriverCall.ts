/**
 * A miss asks the driver for a block, whose bytes are reserved. The call runs on a fiber of its own: when the requester
 * is interrupted meanwhile, a block that proves valid is kept as held.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import { onOwnFiber } from "../DriverFiber.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import { type LeaseRequest, unavailable, undraw } from "./LeaseRequest.ts"
import type { MemoryPool } from "./MemoryPool.ts"

/** What came of asking: a block handed out, or nothing, and then the pool should be searched again. */
type Answer = Effect.Effect<Effect.Effect<PooledBuffer, GpuError> | undefined, GpuError>

/**
 * Turns the bytes that are reserved for a request into a lease, or gives the reservation back.
 *
 * @internal
 */
export const askDriver = (pool: MemoryPool, request: LeaseRequest): Answer =>
  Effect.withFiber((fiber) => {
    const { callSite, label, reserved: capacity } = request
    const { refusals } = pool
    // From this step on it is the call that owns the reservation, and no more the request.
    request.reserved = 0
    request.calling = true
    const call = Effect.suspend(() =>
      pool.allocator.allocate(capacity, { usage: pool.blockUsage(request.usage), label, callSite })
    )
    return onOwnFiber(fiber, call, pool.inFlight, (exit, awaited) => {
      request.calling = false
      const answer = Exit.isSuccess(exit)
        ? keep(pool, request, exit.value, capacity, awaited)
        : refuse(pool, request, exit, capacity, refusals)
      if (request.isOver) undraw(request)
      // Requests of its reservation may wait in any line for what comes back to that.
      if (request.from === undefined) pool.serve()
      else pool.lines.serve()
      return answer
    })
  })

/** The driver gave a block: it becomes a lease, or held when nobody waits for it, or it goes back. */
const keep = (
  pool: MemoryPool,
  request: LeaseRequest,
  buffer: DeviceBuffer,
  capacity: number,
  awaited: boolean
): Answer => {
  const { core } = pool
  const family = pool.blockUsage(request.usage)
  const isExact = capacity !== request.blockSize
  const wanted = awaited && !pool.leases.closed && !request.list.closed
  if (wanted) {
    const block = isExact
      ? core.addActiveUnbinned(capacity, buffer, request.size)
      : core.addActive(family, capacity, buffer, request.size)
    return Exit.succeed(pool.handOut(request, block, "driver"))
  }
  pool.unuse(request)
  const block = isExact ? core.addDetached(capacity, buffer) : core.addHeld(family, capacity, buffer)
  if (block.state !== "held") return Effect.as(pool.leases.free(block) ?? Exit.void, undefined)
  return Effect.as(pool.trimming?.trimExcess() ?? Exit.void, undefined)
}

const refuse = (
  pool: MemoryPool,
  request: LeaseRequest,
  exit: Exit.Failure<DeviceBuffer, GpuError>,
  capacity: number,
  refusals: number
): Effect.Effect<never, GpuError> => {
  pool.core.unreserve(capacity)
  pool.unuse(request)
  pool.refused(refusals)
  if (!Cause.hasInterruptsOnly(exit.cause)) return Exit.failCause(exit.cause)
  // The pool's close, or the loss of the device, interrupts the driver calls under way.
  return pool.leases.closed ? unavailable(request, "poolClosed") : pool.status.error ?? Exit.failCause(exit.cause)
}
