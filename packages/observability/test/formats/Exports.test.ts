/** Exported files, read by the rules of the programs that read them, and imported again. */
import { assert, describe, it } from "@effect/vitest"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"
import { isFailure } from "../../src/events/Failure.ts"
import * as ChromeTrace from "../../src/formats/ChromeTrace.ts"
import * as CupyLog from "../../src/formats/CupyLog.ts"
import * as RmmLog from "../../src/formats/RmmLog.ts"
import * as TorchSnapshot from "../../src/formats/TorchSnapshot.ts"
import * as Recording from "../../src/recording/Recording.ts"
import { readMemoryViz } from "./MemoryVizReader.ts"
import { deviceNames, deviceOfMemory, type RandomRecording, randomRecordings } from "./RandomRecordings.ts"
import { readTrace } from "./TraceReader.ts"

const runs = { numRuns: 300 }

/** A law of random recordings. */
const law = (title: string, holds: (random: RandomRecording) => Effect.Effect<void, unknown>) =>
  it.effect(
    title,
    () =>
      Effect.promise(() =>
        fc.assert(fc.asyncProperty(randomRecordings, (random) => Effect.runPromise(holds(random))), runs)
      )
  )

const textOf = Stream.mkString

/** The bytes of some memories after each change of them. */
const bytesAfter = (
  recording: Recording.Recording,
  isOf: (memory: number) => boolean,
  tags: ReadonlyArray<string> = ["Leased", "Kept", "Released", "Freed"]
): ReadonlyArray<string> => {
  const blocks = new Map<string, { readonly capacity: number; readonly isLeased: boolean }>()
  for (const { block, capacity, lease, memory } of recording.blocks) {
    if (isOf(memory)) blocks.set(`${memory} ${block}`, { capacity, isLeased: lease !== undefined })
  }
  const bytes = (ofLeases: boolean) =>
    Array.from(blocks.values()).reduce((sum, { capacity, isLeased }) => isLeased === ofLeases ? sum + capacity : sum, 0)
  const all = [`first ${bytes(true)} ${bytes(false)}`]
  for (const event of Recording.events(recording)) {
    if (!isOf(event.memoryNumber)) continue
    const key = "block" in event ? `${event.memoryNumber} ${event.block}` : ""
    if (event._tag === "Freed") blocks.delete(key)
    else if ("block" in event) blocks.set(key, { capacity: event.capacity, isLeased: event._tag === "Leased" })
    if (tags.includes(event._tag)) all.push(`${event._tag} ${bytes(true)} ${bytes(false)}`)
  }
  return all
}

/** The requested bytes, and those of all blocks, after each lease, end of a lease and freed block. */
const requestedAfter = (recording: Recording.Recording, isOf: (memory: number) => boolean): ReadonlyArray<string> => {
  const blocks = new Map<string, { readonly capacity: number; readonly size: number }>()
  for (const { block, capacity, lease, memory } of recording.blocks) {
    if (isOf(memory)) blocks.set(`${memory} ${block}`, { capacity, size: lease?.size ?? 0 })
  }
  const all: Array<string> = []
  for (const event of Recording.events(recording)) {
    if (!isOf(event.memoryNumber) || !("block" in event)) continue
    const key = `${event.memoryNumber} ${event.block}`
    if (event._tag === "Freed") blocks.delete(key)
    else blocks.set(key, { capacity: event.capacity, size: event._tag === "Leased" ? event.size : 0 })
    const sum = (f: (block: { readonly capacity: number; readonly size: number }) => number) =>
      Array.from(blocks.values()).reduce((sum, block) => sum + f(block), 0)
    if (event._tag !== "Kept") all.push(`${sum(({ size }) => size)} ${sum(({ capacity }) => capacity)}`)
  }
  return all
}

/** What the format keeps of a recording: a name for each lease, its size, and its events. */
const rmmRowsOf = ({ blocks }: Recording.Recording, events: Iterable<PoolEvent>): ReadonlyArray<string> => {
  const leases = new Map<string, { readonly lease: number; readonly size: number }>()
  let last = 0
  const begin = (memory: number, block: number, size: number): string => {
    leases.set(`${memory} ${block}`, { lease: ++last, size })
    return `allocate ${last} ${size}`
  }
  const before = blocks.flatMap(({ block, lease, memory }) =>
    lease === undefined ? [] : [begin(memory, block, lease.size)]
  )
  return [
    ...before,
    ...Array.from(events).flatMap((event) => {
      if (event._tag === "Leased") return [begin(event.memoryNumber, event.block, event.size)]
      if (isFailure(event)) return [`allocate failure ${event.size}`]
      const ended = event._tag === "Released" ? leases.get(`${event.memoryNumber} ${event.block}`) : undefined
      return ended === undefined ? [] : [`free ${ended.lease} ${ended.size}`]
    })
  ]
}

/** A log of RMM without the thread numbers, which a recording does not keep. */
const withoutThreads = (text: string) => text.replaceAll(/^\d+,/gm, "").replaceAll(/0x[0-9a-f]{4,},/g, "")

describe("RmmLog.toText", () => {
  law("keeps leases, their ends, sizes and failures, in order", ({ events, recording }) =>
    Effect.gen(function*() {
      const imported = yield* RmmLog.fromText(RmmLog.toText(recording))
      assert.deepStrictEqual(rmmRowsOf(imported, Recording.events(imported)), rmmRowsOf(recording, events))
      assert.deepStrictEqual(imported.blocks, [])
    }))

  law("writes rows that RMM's own reader takes", ({ recording }) =>
    Effect.gen(function*() {
      const [header, ...rows] = (yield* textOf(RmmLog.toText(recording))).trimEnd().split("\n")
      assert.strictEqual(header, "Thread,Time,Action,Pointer,Size,Stream")
      for (const row of rows) {
        assert.match(
          row,
          /^\d+,([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6},((allocate|free),0x[0-9a-f]+|allocate failure,\(nil\)),\d+,(0x)?[0-9a-f]+$/
        )
      }
    }))

  law("is the same after it was read and written again", ({ recording }) =>
    Effect.gen(function*() {
      const once = yield* textOf(RmmLog.toText(recording))
      const twice = yield* textOf(RmmLog.toText(yield* RmmLog.fromText(once)))
      assert.strictEqual(withoutThreads(twice), withoutThreads(once))
    }))
})

/**
 * What lines of CuPy keep of a recording: on which device each lease is, whether it is a hit, its bytes, and its end. Lines do not say for
 * whom a block was made, so the first lease of each block is a miss.
 */
const cupyRowsOf = (
  recording: Recording.Recording,
  numberOf: (device: string) => number
): ReadonlyArray<string> => {
  const rows: Array<string> = []
  const unused = new Set<string>()
  const make = (device: string, key: string): void => {
    numberOf(device)
    unused.add(key)
  }
  const add = (what: "malloc" | "free", device: string, key: string, size: number, capacity: number): void => {
    const kind = what === "free" ? "" : unused.delete(key) ? ": miss" : ": hit"
    rows.push(`${what} ${size} of ${capacity} on ${numberOf(device)}${kind}`)
  }
  for (const { block, capacity, lease, memory } of recording.blocks) {
    const { device } = recording.memories.find(({ number }) => number === memory)!
    make(device, `${memory} ${block}`)
    if (lease !== undefined) add("malloc", device, `${memory} ${block}`, lease.size, capacity)
  }
  for (const event of Recording.events(recording)) {
    if (!("block" in event)) continue
    const { block, capacity, device, memoryNumber } = event
    const key = `${memoryNumber} ${block}`
    if (event._tag === "Kept" || (event._tag === "Leased" && event.from === "driver")) make(device, key)
    if (event._tag === "Leased" || event._tag === "Released") {
      add(event._tag === "Leased" ? "malloc" : "free", device, key, event.size, capacity)
    }
  }
  return rows
}

describe("CupyLog.toText", () => {
  law("keeps leases, their ends, sizes, blocks, hits and devices, in order", ({ recording }) =>
    Effect.gen(function*() {
      const imported = yield* CupyLog.fromText(CupyLog.toText(recording))
      const devices: Array<string> = []
      const numberOf = (device: string): number =>
        devices.includes(device) ? devices.indexOf(device) : devices.push(device) - 1
      assert.deepStrictEqual(
        cupyRowsOf(imported, (device) => Number(device.replace("CUDA device ", ""))),
        cupyRowsOf(recording, numberOf)
      )
    }))

  law("writes lines with the members of CuPy's, in their order", ({ recording }) =>
    Effect.gen(function*() {
      const lines = (yield* textOf(CupyLog.toText(recording))).trimEnd().split("\n").filter((line) => line !== "")
      for (const line of lines) {
        assert.match(
          line,
          /^\{"hook":("alloc","device_id":\d,"mem_size":\d+,"mem_ptr":\d+|"malloc","device_id":\d,"size":\d+,"mem_size":\d+,"mem_ptr":\d+,"pmem_id":"0x[0-9a-f]+"|"free","device_id":\d,"mem_size":\d+,"mem_ptr":\d+,"pmem_id":"0x[0-9a-f]+")\}$/
        )
      }
    }))
})

/** What the format keeps of each lease and failure. */
const described = (recording: Recording.Recording, isOf: (memory: number) => boolean) =>
  Array.from(Recording.events(recording)).flatMap((event) => {
    if (!isOf(event.memoryNumber) || (event._tag !== "Leased" && !isFailure(event))) return []
    const { callSite, label, pool, size } = event
    // The format has one kind of failure.
    const _tag = event._tag === "Leased" ? event._tag : "RanOut"
    const known = label === undefined || label === "" ? pool : label.replaceAll(/[\ud800-\udfff]/gu, "\ufffd")
    const place = /^(.*?:\d+)(:\d+)?$/s.exec(callSite ?? "")?.[1]
    return [{ _tag, size, label: label === "" ? "" : known, place }]
  })

describe("TorchSnapshot.toText", () => {
  law(
    "passes a reader with the rules of memory_viz, which shows the bytes of the recording",
    ({ recording }) =>
      Effect.gen(function*() {
        const devices = readMemoryViz(yield* textOf(TorchSnapshot.toText(recording)))
        for (const [index, name] of deviceNames.entries()) {
          const shown = devices[index]!
            .filter(({ action }) => ["alloc", "free_completed", "segment_free"].includes(action))
            .map(({ allocated, reserved }) => `${allocated} ${reserved}`)
          assert.deepStrictEqual(shown, requestedAfter(recording, (memory) => deviceOfMemory(memory) === name))
        }
      })
  )

  law(
    "keeps leases, hits, labels, lines, blocks before the first event and failures",
    ({ recording }) =>
      Effect.gen(function*() {
        const imported = yield* TorchSnapshot.fromText(TorchSnapshot.toText(recording))
        for (const [index, name] of deviceNames.entries()) {
          const isOf = (memory: number) => deviceOfMemory(memory) === name
          const number = imported.memories.find(({ device }) => device === `CUDA device ${index}`)?.number
          assert.deepStrictEqual(
            bytesAfter(imported, (memory) => memory === number, ["Leased", "Released", "Freed"]),
            bytesAfter(recording, isOf, ["Leased", "Released", "Freed"])
          )
          assert.deepStrictEqual(
            described(imported, (memory) => memory === number),
            described(recording, isOf)
          )
        }
      })
  )
})

describe("a program that runs out of memory", () => {
  const gpu = BufferPool.layer({ label: "tested", sizePolicy: SizePolicy.exact, maxBytes: 256 }).pipe(
    Layer.provideMerge(Host.layer()),
    Layer.provideMerge(Recording.layer({ capacity: 1000 }))
  )

  const recorded = Effect.gen(function*() {
    yield* BufferPool.use(64, () => Effect.void, { label: "before" })
    yield* BufferPool.allocate(128, { label: "weights" })
    yield* Effect.flip(BufferPool.use(200, () => Effect.void, { label: "too much" }))
    yield* Effect.flip(BufferPool.use(300, () => Effect.void, { label: "larger than the limit" }))
    yield* BufferPool.use(128, () => Effect.void, { label: "after" })
    return yield* Recording.snapshot
  }).pipe(Effect.scoped, Effect.provide(gpu))

  it.effect("shows its leases, and who asked for too much, in each viewer", () =>
    Effect.gen(function*() {
      const recording = yield* recorded
      const [device] = readMemoryViz(yield* textOf(TorchSnapshot.toText(recording)))
      assert.deepStrictEqual(device?.filter(({ action }) => action === "oom"), [
        { action: "oom", allocated: 128, reserved: 192 },
        { action: "oom", allocated: 128, reserved: 192 }
      ])
      assert.deepStrictEqual(device?.at(-1), { action: "free_completed", allocated: 128, reserved: 256 })
      const trace = readTrace(yield* textOf(ChromeTrace.toText(recording)))
      assert.deepStrictEqual(Array.from(trace.processes.values()), ["tested, host process memory"])
      const leases = trace.slices.filter(({ category }) => category === "lease")
      assert.deepStrictEqual(leases.map(({ name, to }) => [name, to !== undefined]), [
        ["before", true],
        ["weights", false],
        ["after", true]
      ])
      const failures = trace.instants.map(({ args, name }) => [name, args["label"], args["size"], args["why"]])
      assert.deepStrictEqual(failures, [
        ["RanOut", "too much", 200, undefined],
        ["GaveUp", "larger than the limit", 300, "limitExceeded"]
      ])
    }))
})

describe("ChromeTrace.toText", () => {
  law("passes a reader with the rules of Perfetto's importer", ({ recording }) =>
    Effect.gen(function*() {
      const trace = readTrace(yield* textOf(ChromeTrace.toText(recording)))
      const leases = Array.from(Recording.events(recording)).filter(({ _tag }) => _tag === "Leased").length
      const before = recording.blocks.filter(({ lease }) => lease !== undefined).length
      assert.strictEqual(trace.slices.filter(({ category }) => category === "lease").length, leases + before)
    }))

  law("counts the bytes of each memory as the recording has them", ({ recording }) =>
    Effect.gen(function*() {
      const { counters } = readTrace(yield* textOf(ChromeTrace.toText(recording)))
      for (const memory of [1, 2, 3]) {
        const counted = counters
          .filter(({ name, pid }) => name === "bytes in use" && pid === memory)
          .map(({ args }) => `${String(args["active"])} ${String(args["held"])}`)
        const known = bytesAfter(recording, (number) => number === memory).map((line) => line.replace(/^\S+ /, ""))
        assert.deepStrictEqual(counted, known)
        const managed = counters.filter(({ name, pid }) => name === "managed bytes" && pid === memory).at(-1)
        const [active, held] = known.at(-1)!.split(" ")
        assert.strictEqual(managed?.args["bytes"], Number(active) + Number(held))
      }
    }))

  law("has an instant for each thing of a moment", ({ recording }) =>
    Effect.gen(function*() {
      const { instants } = readTrace(yield* textOf(ChromeTrace.toText(recording)))
      const moments = ["RanOut", "GaveUp", "Refused", "HandlersAsked", "LimitChanged", "Lost", "Closed"]
      const known = Array.from(Recording.events(recording), ({ _tag }) => _tag).filter((tag) => moments.includes(tag))
      assert.deepStrictEqual(instants.map(({ name }) => name), known)
    }))
})
