/**
 * Copies between buffers, on whichever devices they are.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { attempt, valid } from "../../../domain/arguments/ArgumentProblem.ts"
import * as BufferRange from "../../../domain/data/BufferRange.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as BufferLike from "../../buffers/BufferLike.ts"
import { CommandQueue, type CopyOptions as RangeOptions } from "../../queue/CommandQueue.ts"
import { type ChunkOptions, cutOf } from "../../staging/TransferOptions.ts"
import * as Transfers from "../../staging/Transfers.ts"
import { kept, nearest, type OpenDevices } from "./OpenDevices.ts"
import { type Place, placeOf } from "./Place.ts"

/**
 * Which bytes go from one buffer to another, and how much of them is under way at a time between two devices.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyOptions extends RangeOptions, ChunkOptions {}

/** For code in `attempt`. @internal */
export const copied = <I>(
  devices: OpenDevices<I | Transfers.Services>,
  operation: string,
  source: BufferLike.BufferLike,
  target: BufferLike.BufferLike,
  given: CopyOptions | undefined
): Effect.Effect<void, GpuError> => {
  const [from, to] = [placeOf(operation, source), placeOf(operation, target)]
  return Effect.scoped(Effect.gen(function*() {
    // Where the program runs on a further queue of one of the two devices, the copy uses that queue.
    const ambient = yield* Effect.context<never>()
    const ofSource = nearest(yield* kept(devices.ofOwner(from.device, from.missing)), ambient)
    const ofTarget = nearest(yield* kept(devices.ofOwner(to.device, to.missing)), ambient)
    const plan = attempt(() => planOf(operation, { buffer: source, ...from }, { buffer: target, ...to }, given))
    if (isGpuError(plan)) return yield* plan
    const { size, sourceOffset, targetOffset } = plan
    if (from.device === to.device) {
      return yield* Context.get(ofSource, CommandQueue).copy(source, target, { sourceOffset, targetOffset, size })
    }
    // Read a chunk before requesting staging memory of the target: else two copies in opposite directions can deadlock.
    const chunks = { chunkSize: given?.chunkSize, inFlight: given?.inFlight }
    const read = Stream.provideContext(Transfers.download(source, { offset: sourceOffset, size, ...chunks }), ofSource)
    const written = Transfers.upload(read, target, { offset: targetOffset, ...chunks })
    yield* Effect.provideContext(written, ofTarget)
  }))
}

type Side = Place & { readonly buffer: BufferLike.BufferLike }

/** Checks the rules that hold for all pairs of devices. */
const planOf = (operation: string, source: Side, target: Side, options: CopyOptions | undefined) => {
  valid(BufferLike.problem(operation, source.buffer, source.device))
  valid(BufferLike.problem(operation, target.buffer, target.device))
  const { portableAlignment: alignment } = BufferRange
  const { sourceOffset = 0, targetOffset = 0 } = options ?? {}
  valid(BufferRange.offsetProblem(operation, source.buffer, sourceOffset, alignment, "sourceOffset", "source"))
  valid(BufferRange.offsetProblem(operation, target.buffer, targetOffset, alignment, "targetOffset", "target"))
  const size = options?.size ?? source.buffer.size - sourceOffset
  valid(BufferRange.lengthProblem(operation, source.buffer, sourceOffset, size, alignment, "source"))
  valid(BufferRange.lengthProblem(operation, target.buffer, targetOffset, size, alignment, "target"))
  cutOf(operation, options, { device: source.device, most: Infinity })
  return { sourceOffset, targetOffset, size }
}
