/**
 * A miss asks the driver for a block, whose bytes are reserved. The call runs on a fiber of its own: when the
 * requesting fiber is interrupted meanwhile, a valid block is kept as held.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { GpuError } from "../../domain/GpuError.ts"
import { onOwnFiber } from "../calls/DriverFiber.ts"
import type { Leasable, Lease } from "../lease/Lease.ts"
import type { Memory } from "./Memory.ts"
import { type LeaseRequest, unavailable, undraw } from "./waiting/LeaseRequest.ts"

/** The result of the call: a lease, or `undefined`, after which the pool should be searched again. */
type Answer = Effect.Effect<Effect.Effect<Lease, GpuError> | undefined, GpuError>

/** Turns the bytes that are reserved for a request into a lease, or gives the reservation back. */
export const askDriver = (memory: Memory, request: LeaseRequest): Answer =>
  Effect.withFiber((fiber) => {
    const { callSite, label, reserved: capacity, source, wanted } = request
    const { news, refusals } = memory.blocks
    request.callsAtNews = request.newsAtCall === news ? request.callsAtNews + 1 : 1
    request.newsAtCall = news
    // From this step on the call owns the reserved bytes, and the request does not.
    request.reserved = 0
    request.calling = true
    memory.blocks.events?.driverAsked(request, capacity)
    const freed = memory.blocks.freeOutgrown(request, capacity)
    const call = Effect.andThen(freed, () => source.create(wanted, capacity, label, callSite))
    return onOwnFiber(fiber, call, source.inFlight, (exit, awaited) => {
      request.calling = false
      const answer = Exit.isSuccess(exit)
        ? keep(memory, request, exit.value, capacity, awaited)
        : refuse(memory, request, exit, capacity, refusals)
      if (request.isOver) undraw(request)
      // Requests of its reservation may wait in any line for what comes back to that.
      if (request.from === undefined) memory.line.serve()
      else memory.lines.serve()
      // A block that nobody waits for is held now.
      memory.tellOthers()
      return answer
    })
  })

/** The driver created a block: it becomes a lease, or held when no fiber waits for it, or it is freed. */
const keep = (
  memory: Memory,
  request: LeaseRequest,
  value: Leasable,
  capacity: number,
  awaited: boolean
): Answer => {
  const { blocks, core } = memory
  const { source } = request
  const family = source.family(request.wanted)
  value.pooledBy = source
  // Where the policy borrows, other requests can have a block of an exact size too.
  const isExact = capacity !== request.blockSize && !source.borrows
  const wanted = awaited && !source.closed && !request.list.closed
  if (wanted) {
    const block = isExact
      ? core.addActiveUnbinned(capacity, value, request.size)
      : core.addActive(family, capacity, value, request.size)
    return Exit.succeed(blocks.handOut(request, block, "driver"))
  }
  blocks.unuse(request)
  const block = isExact || source.closed
    ? core.addDetached(capacity, value, request.size)
    : core.addHeld(family, capacity, value, request.size)
  blocks.events?.kept(request, block)
  if (block.state !== "held") return Effect.as(blocks.free(block, "notKept") ?? Exit.void, undefined)
  return Effect.as(memory.trimming?.trimExcess() ?? Exit.void, undefined)
}

const refuse = (
  memory: Memory,
  request: LeaseRequest,
  exit: Exit.Failure<Leasable, GpuError>,
  capacity: number,
  refusals: number
): Effect.Effect<never, GpuError> => {
  const { blocks } = memory
  blocks.core.unreserve(capacity, request.size)
  blocks.unuse(request)
  blocks.refused(refusals, request)
  blocks.events?.refused(request, capacity, reasonOf(exit.cause))
  if (!Cause.hasInterruptsOnly(exit.cause)) return Exit.failCause(exit.cause)
  // The pool's close, or the loss of the device, interrupts the driver calls under way.
  return request.source.closed ? unavailable(request, "poolClosed") : memory.status.error ?? Exit.failCause(exit.cause)
}

const reasonOf = (cause: Cause.Cause<GpuError>): string => {
  const error = Cause.findErrorOption(cause)
  return Option.isSome(error) ? error.value.reason._tag : Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect"
}
