/**
 * Reads and writes snapshots of PyTorch's memory, as its viewer on https://pytorch.org/memory_viz shows them.
 *
 * @see torch.cuda.memory._snapshot, https://github.com/pytorch/pytorch
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Recording } from "../recording/Recording.ts"
import { Addresses } from "./Addresses.ts"
import { readText } from "./TextInput.ts"
import { textOf } from "./TextOutput.ts"
import { TorchReader } from "./TorchReader.ts"
import { writeSnapshot } from "./TorchWriter.ts"

/**
 * A recording of a snapshot of PyTorch's memory, as JSON: what `torch.cuda.memory._snapshot()` returns, written by Python's
 * `json.dump`. The text is a string, or a stream of its pieces, cut anywhere; its entries are read one by one. Only Python reads the
 * pickle that `torch.cuda.memory._dump_snapshot` writes: the error for one says how to convert it.
 *
 * Each allocation is a lease, from `alloc` to `free_completed`; `oom` is a `RanOut`; the innermost frame is the call site, and its function
 * the label; streams become queues, and each device a memory. A segment that PyTorch has not divided is a block, which it holds between
 * leases. Each part of a divided segment is a block of its own, made for its lease; what lies between the parts is lost. What existed
 * before the trace begins is among the `blocks` of the recording. Without `time_us`, entries are one millisecond apart.
 *
 * Unknown actions, and frees of what was not allocated, are left out, and one warning lists them. Fails with
 * InvalidRequest for malformed entries, with line and index, and with the errors of the stream.
 *
 * **Example** (What was allocated before the trace)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TorchSnapshot } from "@effect-gpu-pool/observability"
 *
 * const snapshot = JSON.stringify({
 *   segments: [],
 *   device_traces: [[
 *     { action: "free_completed", addr: 4096, size: 512, stream: 0, frames: [] },
 *     { action: "segment_free", addr: 4096, size: 2097152, stream: 0 }
 *   ]]
 * })
 * Effect.map(TorchSnapshot.fromText(snapshot), ({ blocks }) => blocks.map(({ capacity }) => capacity)) // => [2097152]
 * ```
 *
 * @see torch.cuda.memory._snapshot
 * @category imports
 * @since 0.1.0
 */
export const fromText = <E = never, R = never>(
  text: string | Stream.Stream<string, E, R>
): Effect.Effect<Recording, E | GpuError, R> => Effect.flatten(readText(text, () => new TorchReader()))

/**
 * A recording as a snapshot of PyTorch's memory, JSON in pieces: drop the file on https://pytorch.org/memory_viz, which uploads
 * nothing. Each block is a segment, and its lease the one block in that: `segment_alloc` and `segment_free` when the driver makes
 * and frees it, `alloc`, `free_requested` and `free_completed` for the lease, `oom` for a request that ran out or was larger than a
 * limit. The call site is the frame, and the label its function and the `user_metadata`; queues become streams, and times microseconds.
 * Memories of one device share its trace.
 *
 * Waits, refusals of the driver, reservations, limits and pools are lost. The viewer is slow from some 15,000 leases on.
 *
 * The stream fails with InvalidRequest where the blocks have more bytes than there are addresses (8 PiB).
 *
 * **Example** (To a file)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Recording, TorchSnapshot } from "@effect-gpu-pool/observability"
 *
 * const nothing = Recording.make(
 *   { source: "example", reason: "asked", takenAt: 0, dropped: 0, memories: [], families: [], budgets: [], blocks: [] },
 *   []
 * )
 * Effect.map(Stream.mkString(TorchSnapshot.toText(nothing)), (text) => JSON.parse(text).segments) // => []
 * ```
 *
 * @see torch.cuda._memory_viz
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string, GpuError> =>
  Addresses.checked(textOf(() => writeSnapshot(recording)))
