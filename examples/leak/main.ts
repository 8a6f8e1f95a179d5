/**
 * A program that runs out of memory, and the page that shows why: `npm run leak` writes `leak.html`. With a second run
 * beside it, which keeps no more than 32 previews, it shows what that changes.
 */
import { PoolEvents, Recording, Viewer } from "@effect-gpu-pool/observability"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Random } from "effect"
import { BufferPool, CallSite } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { writeFileSync } from "node:fs"
import { Previews, serve } from "./Previews.ts"

/** A pool of its own, and a recorder of that pool's events alone. */
const layer = () =>
  BufferPool.layer({ maxBytes: "32 MiB" }).pipe(
    Layer.provideMerge(Host.layer()),
    Layer.provideMerge(Recording.layer()),
    Layer.provideMerge(PoolEvents.layer)
  )

/** Runs the service, and returns the recording of its memory. */
export const recorded = (pictures: number, keep: number) =>
  Effect.gen(function*() {
    const ended = yield* Effect.result(serve(pictures, new Previews(keep)))
    yield* Console.log(ended._tag === "Success" ? `served ${pictures} pictures` : ended.failure.message)
    return yield* Recording.snapshot
  }).pipe(CallSite.track, Random.withSeed("pictures"), Effect.provide(layer(), { local: true }))

const program = Effect.gen(function*() {
  const leaking = yield* recorded(400, Infinity)
  const bounded = yield* recorded(400, 32)
  const alone = yield* Viewer.html(leaking, { title: "Previews, all of them kept" })
  const both = yield* Viewer.html(leaking, {
    title: "Previews, all of them kept",
    compareWith: bounded,
    compareTitle: "32 of them kept"
  })
  writeFileSync("leak.html", alone)
  writeFileSync("leaks.html", both)
  yield* Console.log("leak.html is the page of the run that failed, leaks.html has the other run with it")
})

if (import.meta.main) NodeRuntime.runMain(program)
