/**
 * What an image pool does when it holds no such image: the byte limit, the driver, and the out-of-memory ladder between
 * them. Reclaim, evict the largest, ask again; the pool is searched again after every rung, since releases go on
 * meanwhile.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { GpuError, Rung } from "../../../domain/GpuError.ts"
import { onOwnFiber } from "../../DriverFiber.ts"
import type { DeviceImage } from "../DeviceImage.ts"
import type { PooledImage } from "../PooledImage.ts"
import type { ImageMemory } from "./ImageMemory.ts"
import { type ImageRequest, operation, unavailable } from "./ImageRequest.ts"

/**
 * The whole way to a lease but the hit in one step. Whoever starts it also calls {@link ImageMemory.letGo}.
 *
 * @internal
 */
export const climb = Effect.fnUntraced(function*(
  memory: ImageMemory,
  request: ImageRequest
): Effect.fn.Return<PooledImage, GpuError> {
  const { core } = memory
  const rungs = new Set<Rung>(["bin"])
  let refused = false
  let reclaimedAt: number | undefined
  while (true) {
    const problem = memory.problem(request)
    if (problem !== undefined) return yield* problem
    const found = memory.search(request)
    if (found !== undefined) return yield* found
    if (refused && reclaimedAt !== core.driverFrees) {
      // What anybody freed since the last reclaim may not be back yet.
      reclaimedAt = core.driverFrees
      refused = false
      rungs.add("reclaim")
      yield* memory.reclaim
    } else if (refused) {
      const evicted = memory.evictLargest(request.size)
      if (evicted === undefined) return yield* memory.outOfMemory(request, rungs)
      rungs.add("evict")
      yield* evicted
    } else if (core.reserve(request.size)) {
      request.reserved = request.size
      rungs.add("driver")
      const answer = yield* Effect.result(askDriver(memory, request))
      if (Result.isFailure(answer)) {
        if (answer.failure.reason._tag !== "OutOfMemory") return yield* answer.failure
        refused = true
      } else if (answer.success !== undefined) {
        return yield* answer.success
      }
    } else {
      const room = memory.makeRoom(request.size)
      if (room === undefined) return yield* memory.outOfMemory(request, rungs)
      rungs.add("evict")
      yield* Effect.andThen(room, memory.reclaim)
    }
  }
})

/** What came of asking: an image handed out, or nothing, and then the pool should be searched again. */
type Answer = Effect.Effect<Effect.Effect<PooledImage, GpuError> | undefined, GpuError>

/**
 * Turns the bytes that are reserved for a request into a lease, or gives the reservation back. The call runs on a fiber
 * of its own: when the requester is interrupted meanwhile, an image that proves valid is kept as held.
 */
const askDriver = (memory: ImageMemory, request: ImageRequest): Answer =>
  Effect.withFiber((fiber) => {
    const { blockUsage, format, label, shape } = request
    // From this step on it is the call that owns the reservation, and no more the request.
    request.reserved = 0
    const call = Effect.suspend(() => memory.images.create(operation, shape, format, { usage: blockUsage, label }))
    return onOwnFiber(
      fiber,
      call,
      memory.inFlight,
      (exit, awaited) =>
        Exit.isSuccess(exit) ? keep(memory, request, exit.value, awaited) : refuse(memory, request, exit)
    )
  })

/** The driver gave an image: it becomes a lease, or held when nobody waits for it, or it goes back. */
const keep = (memory: ImageMemory, request: ImageRequest, image: DeviceImage, awaited: boolean): Answer => {
  const { core, leases } = memory
  const { key, list, size } = request
  if (awaited && !leases.closed && !list.closed) {
    return Exit.succeed(memory.handOut(request, core.addActive(key, size, image, size)))
  }
  const block = core.addHeld(key, size, image)
  return Effect.as(block.state === "held" ? leases.trimExcess() : leases.free(block) ?? Exit.void, undefined)
}

const refuse = (
  memory: ImageMemory,
  request: ImageRequest,
  exit: Exit.Failure<DeviceImage, GpuError>
): Effect.Effect<never, GpuError> => {
  memory.core.unreserve(request.size)
  if (!Cause.hasInterruptsOnly(exit.cause)) return Exit.failCause(exit.cause)
  // The pool's close, or the loss of the device, interrupts the driver calls under way.
  return memory.leases.closed
    ? unavailable(request, "poolClosed")
    : memory.device.status.error ?? Exit.failCause(exit.cause)
}
