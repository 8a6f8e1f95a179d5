/** A replay of any recording ends, under the recorded policy and under others: with an answer, or with an error that says what is wrong. */
import { assert, describe, it } from "@effect/vitest"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as fc from "fast-check"
import { noFacts } from "../../../../test/support/anyRecording.ts"
import { runs } from "../../../../test/support/explore.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { changed, changedFile, changes, randomRecordings } from "./changedRecordings.ts"
import { crowds, hosts, paces, pools, programs, recordedFibers } from "./fibers.ts"

/** All functions that replay a recording. */
const replays = (recording: Recording.Recording): ReadonlyArray<Effect.Effect<unknown, GpuError>> => [
  Replay.run(recording),
  Replay.run(recording, { maxBytes: 4000, idleTimeToLive: 1 }),
  Replay.run(recording, { maxBytes: 120, sizePolicy: SizePolicy.sizeClasses(2, { borrow: 1 }) }),
  Replay.smallestLimit(recording),
  Replay.smallestLimit(recording, { mayWait: false, within: 16 })
]

/** A recording of a pool is replayed without an error. */
const ends = (recording: Recording.Recording): void => {
  for (const replay of replays(recording)) Effect.runSync(replay)
}

const silently = Effect.provideService(References.MinimumLogLevel, "None")

/** Any other recording is replayed too, or refused for a number that no recording has. A defect is thrown. */
const endsOrSaysWhy = (recording: Recording.Recording): void => {
  for (const replay of replays(recording)) Effect.runSync(silently(Effect.ignore(replay)))
}

const anything = programs(
  ["nested", "reserve", "budget", "exclusively", "interrupted", "handler", "failing"],
  ["all", "limit", "refuse", "sleep", "hold", "lose"]
)

describe("a replay ends", () => {
  it("where requests are interrupted while memory is on its way back", () =>
    fc.assert(
      fc.asyncProperty(crowds, paces, fc.constantFrom(undefined, 3000), async (fibers, pace, capacityBytes) => {
        const host = { lateFree: true, capacityBytes }
        ends(await Effect.runPromise(recordedFibers(fibers, { maxBytes: 3000, deadlockTimeout: 3 }, host, pace)))
      }),
      { numRuns: runs(300), endOnFailure: true }
    ))

  it("of whatever a program has done", () =>
    fc.assert(
      fc.asyncProperty(anything, pools, hosts, fc.boolean(), paces, async (fibers, pool, host, lateFree, pace) => {
        const options = { ...pool, deadlockTimeout: 3 }
        ends(await Effect.runPromise(recordedFibers(fibers, options, { ...host, lateFree }, pace)))
      }),
      { numRuns: runs(200) }
    ))

  it("where the pool closes in the middle of it", () =>
    fc.assert(
      fc.asyncProperty(
        anything,
        pools,
        fc.boolean(),
        paces,
        fc.nat(30),
        async (fibers, pool, lateFree, pace, yields) => {
          const options = { ...pool, deadlockTimeout: 3 }
          ends(await Effect.runPromise(recordedFibers(fibers, options, { lateFree }, pace, yields)))
        }
      ),
      { numRuns: runs(200) }
    ))

  it("of events that were left out, repeated, put elsewhere and changed", async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(anything, pools, fc.boolean(), changes, async (fibers, pool, lateFree, all) => {
        const options = { ...pool, deadlockTimeout: 3 }
        const recording = changed(await Effect.runPromise(recordedFibers(fibers, options, { lateFree })), all)
        if (recording === undefined) return
        taken++
        endsOrSaysWhy(recording)
      }),
      { numRuns: runs(300), endOnFailure: true }
    )
    assert.isAbove(taken, runs(300) / 3)
  })

  it("of lines of a file that were left out, repeated, put elsewhere and changed, among them inputs of the machine", async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(anything, pools, fc.boolean(), changes, async (fibers, pool, lateFree, all) => {
        const options = { ...pool, deadlockTimeout: 3 }
        const recording = await changedFile(await Effect.runPromise(recordedFibers(fibers, options, { lateFree })), all)
        if (recording === undefined) return
        taken++
        endsOrSaysWhy(recording)
      }),
      { numRuns: runs(300), endOnFailure: true }
    )
    assert.isAbove(taken, runs(300) / 3)
  })

  it("of random events", () => {
    let taken = 0
    fc.assert(
      fc.property(randomRecordings, (recording) => {
        if (recording === undefined) return
        taken++
        endsOrSaysWhy(recording)
      }),
      { numRuns: runs(3000) }
    )
    assert.isAbove(taken, runs(3000) / 3)
  })
})

const asked = (request: number, size: number): OfRequest => ({
  at: 0,
  memory: undefined,
  memoryNumber: 1,
  device: "",
  pool: "BufferPool",
  request,
  family: "1",
  size,
  label: undefined,
  budget: undefined,
  budgetNumber: undefined,
  queue: undefined,
  callSite: undefined,
  waitAtMost: Infinity,
  under: undefined
})

const { device, memory, memoryNumber } = asked(0, 0)
const happened = { at: 0, memory, memoryNumber, device }
const leaseOf = (request: number, size: number, block: number): ReadonlyArray<PoolEvent> => [
  { _tag: "DriverAsked", ...asked(request, size), capacity: size },
  { _tag: "Leased", ...asked(request, size), from: "driver", block, capacity: size }
]
const lease = { pool: "BufferPool", capacity: 60, size: 60, label: undefined, callSite: undefined }

/** Two requests wait, and for the first one a block is evicted that is freed late. */
const twoWait: ReadonlyArray<PoolEvent> = [
  ...leaseOf(1, 60, 1),
  { _tag: "Waiting", ...asked(2, 80) },
  { _tag: "Waiting", ...asked(3, 80) },
  { _tag: "Released", ...happened, ...lease, block: 1, why: "released" },
  { _tag: "RoomNeeded", ...asked(2, 80), missing: 40 },
  { _tag: "Freed", ...happened, pool: "BufferPool", block: 1, capacity: 60, why: "evicted" },
  { _tag: "Waited", ...asked(2, 80), served: true, waitedMillis: 0 },
  { _tag: "Reclaimed", ...happened }
]

const recordingOf = (events: ReadonlyArray<PoolEvent>): Recording.Recording =>
  Recording.make({
    ...noFacts,
    memories: [{ ...noFacts.memories[0]!, maxBytes: 100, maxBypasses: 16, deadlockTimeoutMillis: 1000 }],
    families: [{
      memory: 1,
      pool: "BufferPool",
      family: "1",
      clears: false,
      sizes: [[60, 60, 60, 60], [80, 80, 80, 80]]
    }]
  }, events)

describe("a replay, as memory is back and a request is interrupted in one step, ends", () => {
  it("where it is another one that waits", () => {
    const recording = recordingOf([
      ...twoWait,
      { _tag: "GaveUp", ...asked(3, 80), why: "interrupted" },
      { _tag: "Waited", ...asked(3, 80), served: false, waitedMillis: 0 },
      ...leaseOf(2, 80, 2)
    ])
    ends(recording)
    assert.isDefined(Effect.runSync(Replay.run(recording)).differsAt)
  })

  it("where it is the one whose memory is back", () => {
    const recording = recordingOf([
      ...twoWait,
      { _tag: "GaveUp", ...asked(2, 80), why: "interrupted" },
      { _tag: "Waited", ...asked(3, 80), served: true, waitedMillis: 0 },
      ...leaseOf(3, 80, 2)
    ])
    ends(recording)
    assert.isDefined(Effect.runSync(Replay.run(recording)).differsAt)
  })
})
