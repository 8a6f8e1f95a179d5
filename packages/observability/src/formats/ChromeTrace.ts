/**
 * Writes recordings in the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing show.
 *
 * @see Trace Event Format, https://github.com/google/perfetto
 * @since 0.1.0
 */
import type * as Stream from "effect/Stream"
import type { Recording } from "../recording/Recording.ts"
import { writeTrace } from "./ChromeWriter.ts"
import { textOf } from "./TextOutput.ts"

/**
 * A recording in the Trace Event Format, JSON in pieces: open the file on https://ui.perfetto.dev, which uploads nothing, or in
 * chrome://tracing. Each memory is a process. It has
 *
 * - counters, in bytes: `bytes in use`, of which some are active and some held, `managed bytes`, and the `limit` where there is one;
 * - slices, which may overlap: each lease under its label, and what requests wait for: `waiting` in the wait queue, `reservation`, and
 *   `driver`, from `DriverAsked` to its answer;
 * - instants, with the members of the event: `RanOut`, `Refused`, `HandlersAsked`, `LimitChanged`, `Lost`, `Closed`, and `GaveUp` for a
 *   request that is larger than a limit.
 *
 * A slice without an end was not over when the recording was taken; a lease from before the first event begins with that event. Times
 * are microseconds since 1970. A trace has some 250 bytes for each event. Perfetto's page has trouble above about 256 MB.
 *
 * **Example** (To a file)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { ChromeTrace, Recording } from "@effect-gpu-pool/observability"
 *
 * const nothing = Recording.make(
 *   { source: "example", reason: "asked", takenAt: 0, dropped: 0, memories: [], families: [], budgets: [], blocks: [] },
 *   []
 * )
 * Effect.map(Stream.mkString(ChromeTrace.toText(nothing)), (text) => JSON.parse(text).traceEvents) // => []
 * ```
 *
 * @category exports
 * @since 0.1.0
 */
export const toText = (recording: Recording): Stream.Stream<string> => textOf(() => writeTrace(recording))
