/**
 * Downloads to an array whose memory no command can write to, as WebGPU's memory to upload: the device copies to other staging
 * memory, and the program from there to the elements.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { GpuError } from "../../domain/GpuError.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import * as Mapping from "../buffers/mapping/Mapping.ts"
import type { CommandQueue } from "../queue/CommandQueue.ts"
import type { StagedArray } from "./StagedArray.ts"

/** Its elements stay where they are, mapped. They are mapped first where an interrupted transfer has left none. */
export const download = <A extends Elements>(
  operation: string,
  queue: CommandQueue["Service"],
  source: BufferLike.BufferLike,
  staged: StagedArray<A>,
  sourceOffset: number | undefined
): Effect.Effect<void, GpuError> => {
  const { services, size, useOther } = staged
  const filled = useOther(size, (memory) =>
    Effect.andThen(
      queue.copy(source, memory, { sourceOffset, size }),
      Effect.scoped(Effect.provideContext(
        Effect.flatMap(Mapping.map(memory, Uint8Array, { access: "read" }), ({ data }) => staged.fill(operation, data)),
        services
      ))
    ))
  return staged.isMapped ? filled : Effect.andThen(staged.map(), filled)
}
