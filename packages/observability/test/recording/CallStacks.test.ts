/** Recordings of programs that keep several frames of each call: read, replayed and exported as any other. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CallSite from "effect-gpu-pool/CallSite"
import * as CallStack from "effect-gpu-pool/CallStack"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TorchSnapshot from "../../src/formats/TorchSnapshot.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"

const decode = Effect.fn("decode")(function*(size: number) {
  yield* Effect.yieldNow
  return yield* BufferPool.allocate(size, { label: "tile" })
})

const program = Effect.gen(function*() {
  yield* Effect.scoped(decode(64))
  yield* decode(64)
  yield* Effect.exit(BufferPool.allocate(1000, { label: "too much" }))
  return yield* Recording.snapshot
})

const gpu = BufferPool.layer({ maxBytes: 1024 }).pipe(
  Layer.provideMerge(Host.layer()),
  Layer.provideMerge(Recording.layer())
)

const recorded = Effect.scoped(CallSite.trackFrames(program, 4)).pipe(Effect.provide(gpu))

const sitesOf = (recording: Recording.Recording): ReadonlyArray<string | undefined> =>
  Array.from(Recording.events(recording)).flatMap((event) => event._tag === "Leased" ? [event.callSite] : [])

describe("a recording with call stacks", () => {
  it.effect("has the callers of each lease, also after it was saved and loaded, and replays exactly", () =>
    Effect.gen(function*() {
      const recording = yield* recorded
      const sites = sitesOf(recording)
      strictEqual(sites.length, 2)
      for (const site of sites) {
        const [callSite, ...callers] = CallStack.framesOf(site!)
        assert.match(callSite!, /CallStacks\.test\.ts:\d+:\d+$/)
        assert.match(callers[0]!, /^decode \(.*CallStacks\.test\.ts:\d+:\d+\)$/)
      }
      const loaded = yield* Recording.fromLines(Recording.toLines(recording))
      deepStrictEqual(Array.from(Recording.events(loaded)), Array.from(Recording.events(recording)))
      const replayed = yield* Replay.run(loaded)
      strictEqual(replayed.differsAt, undefined)
      deepStrictEqual(sitesOf(replayed.recording), sites)
    }))

  it.effect("becomes frames of PyTorch's snapshot", () =>
    Effect.gen(function*() {
      const recording = yield* recorded
      const { device_traces: [trace] } = JSON.parse(yield* Stream.mkString(TorchSnapshot.toText(recording)))
      const { frames } = trace.find(({ action }: { readonly action: string }) => action === "alloc")
      deepStrictEqual(
        frames.map(({ filename, name }: { readonly filename: string; readonly name: string }) => [
          name,
          filename.endsWith("CallStacks.test.ts")
        ]).slice(0, 2),
        [["tile", true], ["decode", true]]
      )
      assert.isTrue(frames.every(({ line }: { readonly line: number }) => line > 0))
    }))
})
