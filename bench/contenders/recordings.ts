/** What recordings cost by the event: written to a file, read from it, read as events, and replayed. */
import { PoolEvents, Recording, Replay } from "@effect-gpu-pool/observability"
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem, Layer, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import * as Rounds from "../Rounds.ts"

export const events = 250_000
const leasesOfJob = 8

/** Leases of 200 sizes and 30 labels in a scope of their own. */
const job = (at: number) =>
  Effect.scoped(Effect.gen(function*() {
    for (let lease = 0; lease < leasesOfJob; lease++) {
      const size = 1024 * (1 + (at * 7 + lease * 13) % 200)
      yield* BufferPool.allocate(size, { label: `layer ${(at + lease) % 30}` })
    }
    yield* Effect.yieldNow
  }))

/** The events of four jobs at a time: hits and releases, apart from the first misses and some evictions. */
const recorded = Effect.gen(function*() {
  const jobs = Array.from({ length: events / leasesOfJob / 2 }, (_, at) => at)
  yield* Effect.forEach(jobs, job, { concurrency: 4, discard: true })
  return yield* Recording.snapshot
}).pipe(
  Effect.provide(BufferPool.layer({ maxBytes: 8_000_000, onExhausted: "wait" }).pipe(Layer.provide(Host.layer()))),
  Effect.provide(Recording.layer({ capacity: 2 * events }).pipe(Layer.provideMerge(PoolEvents.layer)))
)

const countEvents = (recording: Recording.Recording): number => {
  let count = 0
  for (const { _tag } of Recording.events(recording)) count += _tag.length > 0 ? 1 : 0
  return count
}

const parseLines = (text: string): number => {
  let values = 0
  for (const line of text.trimEnd().split("\n")) values += (JSON.parse(line) as ReadonlyArray<unknown>).length
  return values
}

/** The replay does what was recorded. */
const replay = (recording: Recording.Recording) =>
  Effect.map(Replay.run(recording), ({ differsAt }) => {
    if (differsAt !== undefined) throw new Error(`the replay differs at event ${differsAt}`)
  })

export const names = {
  parse: "JSON.parse of its lines",
  save: "Recording.save",
  load: "Recording.load",
  events: "Recording.events",
  replay: "Replay.run"
}

const measure = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const path = `${yield* files.makeTempDirectoryScoped()}/recording.jsonl`
  const recording = yield* recorded
  yield* Recording.save(recording, path)
  const text = yield* files.readFileString(path)
  const loaded = yield* Recording.load(path)
  const each = { calls: 1, each: loaded.length }
  return yield* Rounds.interleave({
    [names.parse]: { effect: Effect.sync(() => parseLines(text)), ...each },
    [names.save]: { effect: Recording.save(recording, path), ...each },
    [names.load]: { effect: Recording.load(path), ...each },
    [names.events]: { effect: Effect.sync(() => countEvents(loaded)), ...each },
    [names.replay]: { effect: replay(loaded), ...each }
  }, { warmUp: 3, measured: 11 })
}).pipe(Effect.scoped, Effect.catchTag("PlatformError", Effect.die), Effect.provide(NodeServices.layer))

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({}),
  figures: Rounds.Nanos,
  measure: () => measure
})

if (import.meta.main) Contender.main(contender)
