/**
 * A recording as a web page: memory over time, blocks and the gaps between them, and who has how much at any moment.
 *
 * @since 0.1.0
 */
import type * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import type { Recording } from "../recording/RecordingModel.ts"
import { compressed, pack } from "./Packing.ts"
import { script, scriptHash, style, styleHash } from "./PageText.ts"
import { readTimeline } from "./ReadTimeline.ts"
import type { Timeline } from "./Timeline.ts"

/**
 * How a page follows running programs.
 *
 * @category models
 * @since 0.1.0
 */
export interface LiveOptions {
  /**
   * The address at which the page fetches the recording again, to show a running program: an address of the server that serves the
   * page, which answers with {@link data}. Such a page does not work from a file.
   */
  readonly live?: string | undefined
  /** How long the page waits after an answer before it asks at `live` again. Default: 1 second. */
  readonly refresh?: Duration.Input | undefined
}

/**
 * Options of {@link html}.
 *
 * @category models
 * @since 0.1.0
 */
export interface HtmlOptions extends LiveOptions {
  /** The heading of the page. Default: what made the recording. */
  readonly title?: string | undefined
  /** Another run, drawn over the first one: both begin at their first event. */
  readonly compareWith?: Recording | undefined
  /** The heading of the other run. */
  readonly compareTitle?: string | undefined
}

/** Milliseconds between an answer and the next request, as a timer can wait. */
const refreshOf = ({ refresh = "1 second" }: LiveOptions): number =>
  Math.min(2 ** 31 - 1, Math.max(1, Duration.toMillis(Duration.fromInputUnsafe(refresh))))

const titleOf = ({ reason, source }: Recording): string =>
  `${source}: ${reason === "outOfMemory" ? "out of memory" : "a recording of memory"}`

const embedded = (timeline: Timeline): Promise<string> => compressed(pack(timeline)).then(Base64.encode)

/** The timelines of the recording, and of the other one. */
const timelinesOf = (recording: Recording, title: string, options: HtmlOptions): ReadonlyArray<Timeline> => {
  const { compareTitle, compareWith } = options
  const first = readTimeline(recording, title)
  return compareWith === undefined ? [first] : [first, readTimeline(compareWith, compareTitle ?? titleOf(compareWith))]
}

const named: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;" }

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => named[character]!)

/** The address at which the page asks for newer data, and how many milliseconds after an answer it asks again. */
interface Live {
  readonly address: string
  readonly refresh: number
}

const liveOf = (options: LiveOptions): Live | undefined =>
  options.live === undefined ? undefined : { address: options.live, refresh: refreshOf(options) }

const attributesOf = ({ live, shows }: Page): string =>
  (shows === "hosts" ? " data-fleet" : "") +
  (live === undefined ? "" : ` data-live="${escaped(live.address)}" data-refresh="${live.refresh}"`)

/** What a page shows: runs over each other, or hosts beside each other. */
interface Page {
  readonly title: string
  readonly shows: "runs" | "hosts"
  /** Their data, as base64, which has no character that ends an element. */
  readonly recordings: ReadonlyArray<string>
  readonly live: Live | undefined
}

/** Allows the script and the styles of this file alone, whatever a recording contains, and nothing from elsewhere. */
const policyOf = (live: Live | undefined): string =>
  `default-src 'none'; script-src '${scriptHash}'; style-src '${styleHash}'; img-src data:; ` +
  `base-uri 'none'; form-action 'none'${live === undefined ? "" : "; connect-src 'self'"}`

/** With an address for `live` the page asks there for newer data. */
const documentOf = (page: Page): string =>
  [
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOf(page.live)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="effect-gpu-pool">
<title>${escaped(page.title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript>This page draws a recording of memory, for which it needs JavaScript.</noscript>
<main id="app"${attributesOf(page)}></main>
`,
    ...page.recordings.map((text) => `<script type="application/gzip" data-recording>${text}</script>\n`),
    `<script>${script}</script>\n</body>\n</html>\n`
  ].join("")

/**
 * A page about a recording, as the text of one self-contained HTML file, which loads nothing and opens from a disk. It draws
 * memory over time as the stacked leases of each label, call site or size, with the limit; blocks, what of them is leased, and
 * the gaps between them; each request that ran out of memory, with what was tried, or that was larger than a limit; requests that wait;
 * who has how many bytes at its cursor, and what was made since another moment; and the call stack and the life of the lease that one
 * chooses.
 *
 * The text has about 120 kB, and 5 to 10 bytes more for each event.
 *
 * **Example** (A page of what a program does)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recording, Viewer } from "@effect-gpu-pool/observability"
 *
 * const facts = {
 *   source: "example",
 *   reason: "asked",
 *   takenAt: 0,
 *   dropped: 0,
 *   memories: [],
 *   families: [],
 *   budgets: [],
 *   blocks: []
 * } as const
 *
 * Effect.gen(function*() {
 *   const page = yield* Viewer.html(Recording.make(facts, []), { title: "Nothing happened" })
 *   return page.includes("<title>Nothing happened</title>")
 * }) // => true
 * ```
 *
 * @category converters
 * @since 0.1.0
 */
export const html = (recording: Recording, options: HtmlOptions = {}): Effect.Effect<string> =>
  Effect.promise(async () => {
    const title = options.title ?? titleOf(recording)
    const recordings = await Promise.all(timelinesOf(recording, title, options).map(embedded))
    return documentOf({ title, shows: "runs", recordings, live: liveOf(options) })
  })

/**
 * Options of {@link fleetHtml}.
 *
 * @category models
 * @since 0.1.0
 */
export interface FleetHtmlOptions extends LiveOptions {
  /** The heading of the page. Default: "A fleet". */
  readonly title?: string | undefined
}

/** The names of the lanes: a number distinguishes those that are alike, such as a host that was started twice. */
const lanesOf = (recordings: ReadonlyArray<Recording>): ReadonlyArray<string> => {
  const names = recordings.map((recording) => recording.host ?? titleOf(recording))
  return names.map((name, at) => {
    const number = names.slice(0, at).filter((other) => other === name).length + 1
    return number === 1 ? name : `${name} ${number}`
  })
}

/**
 * A page about the recordings of several hosts, as {@link html} makes one of a single program. Each host has a lane with its memory over
 * time; a click on a lane shows its host as the page of `html` does, and marks the moment in all lanes, with the bytes that each host has
 * then. The keys `[` and `]` go from host to host. A lane has the name that the recorder of its host was given; see
 * `RecorderOptions.host`.
 *
 * All hosts are on one axis of time, which begins at the first event of all: events are where the clock of their own host had them, in
 * milliseconds since 1970. Nothing corrects clocks that differ, so an order of events of two hosts is only as certain as their clocks are
 * alike; on one machine they are the same. A lane is empty before the first event of its recording, and after it was taken.
 *
 * With `live`, the page asks for newer data of the host at index `n` at that address, with `/n` added.
 *
 * **Example** (A page of two hosts)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recording, Viewer } from "@effect-gpu-pool/observability"
 *
 * const recorded = (host: string) =>
 *   Recording.snapshot.pipe(Effect.provide(Recording.layer({ host })))
 *
 * Effect.gen(function*() {
 *   const page = yield* Viewer.fleetHtml([yield* recorded("a"), yield* recorded("b")], { title: "Two hosts" })
 *   return page.includes("<title>Two hosts</title>")
 * }) // => true
 * ```
 *
 * @category converters
 * @since 0.1.0
 */
export const fleetHtml = (
  recordings: Arr.NonEmptyReadonlyArray<Recording>,
  options: FleetHtmlOptions = {}
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const names = lanesOf(recordings)
    const timelines = recordings.map((recording, at) => readTimeline(recording, names[at]!))
    return documentOf({
      title: options.title ?? "A fleet",
      shows: "hosts",
      recordings: await Promise.all(timelines.map(embedded)),
      live: liveOf(options)
    })
  })

/**
 * What a page of {@link html} with `live` asks for: the data that it draws, compressed with gzip. The server sends these bytes
 * as they are, without `content-encoding`.
 *
 * **Example** (A server that shows its own memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recording, Viewer } from "@effect-gpu-pool/observability"
 * import { HttpRouter, HttpServerResponse } from "effect/http"
 *
 * const Page = HttpRouter.add("GET", "/memory", Effect.gen(function*() {
 *   const page = yield* Viewer.html(yield* Recording.snapshot, { live: "/memory/data" })
 *   return HttpServerResponse.text(page, { contentType: "text/html; charset=utf-8" })
 * }))
 * const Data = HttpRouter.add("GET", "/memory/data", Effect.gen(function*() {
 *   return HttpServerResponse.uint8Array(yield* Viewer.data(yield* Recording.snapshot))
 * }))
 * ```
 *
 * @category converters
 * @since 0.1.0
 */
export const data = (recording: Recording): Effect.Effect<Uint8Array<ArrayBuffer>> =>
  Effect.promise(async () => compressed(pack(readTimeline(recording, titleOf(recording)))))
