/** Files of other programs in each form that their sources write, and files with mistakes. */
import { assert, describe, it } from "@effect/vitest"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type * as GpuError from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import * as MemoryHook from "../../src/events/MemoryHook.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as CupyLog from "../../src/formats/CupyLog.ts"
import * as RmmLog from "../../src/formats/RmmLog.ts"
import * as TorchSnapshot from "../../src/formats/TorchSnapshot.ts"
import * as Recording from "../../src/recording/Recording.ts"
import { checkLedger } from "./importedLedger.ts"
import { randomRecordings } from "./RandomRecordings.ts"

type Import = (text: string | Stream.Stream<string>) => Effect.Effect<Recording.Recording, GpuError.GpuError>

/** The events of a recording, each in a few words. */
const described = (recording: Recording.Recording): ReadonlyArray<string> =>
  Array.from(Recording.events(recording), (event) => {
    switch (event._tag) {
      case "Leased":
        return `Leased ${event.size} of ${event.capacity}, block ${event.block}, ${event.from}`
      case "Released":
        return `Released ${event.size} of ${event.capacity}, block ${event.block}`
      case "Kept":
      case "Freed":
        return `${event._tag} ${event.capacity}, block ${event.block}`
      case "RanOut":
        return `RanOut ${event.size}, ${event.activeBytes} active, ${event.heldBytes} held`
      default:
        return event._tag
    }
  })

const eventsOf = (recording: Recording.Recording): ReadonlyArray<PoolEvent> => Array.from(Recording.events(recording))

/** The result of an effect, and the warnings that it logs. */
const withWarnings = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const warnings: Array<string> = []
    const logger = Logger.make(({ message }) => void warnings.push(String(message)))
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (answer) => ({ answer, warnings }))
  })

const problemOf = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual(error.reason._tag, "InvalidRequest")
    return error.message
  })

describe("RmmLog.fromText", () => {
  const log = `Thread,Time,Action,Pointer,Size,Stream
140,23:59:59.999875,allocate,0x7f0000000000,1024,0x0
141,00:00:00.000125,allocate,0x7f0000000400,256,0x55d0
140,00:00:00.500000,free,0x7f0000000000,1024,0x0
140,00:00:01.000000,allocate failure,(nil),99999,0x0
140,00:00:02.000000,free,0x7f0000000400,256,0x55d0
`

  it.effect("reads allocations, frees and failures, over midnight", () =>
    Effect.gen(function*() {
      const recording = yield* RmmLog.fromText(log)
      assert.deepStrictEqual(described(recording), [
        "Leased 1024 of 1024, block 1, driver",
        "Leased 256 of 256, block 2, driver",
        "Released 1024 of 1024, block 1",
        "Freed 1024, block 1",
        "RanOut 99999, 256 active, 0 held",
        "Released 256 of 256, block 2",
        "Freed 256, block 2"
      ])
      const [first, second] = eventsOf(recording)
      assert.strictEqual(first?.at, 86_399_999.875)
      assert.strictEqual(second?.at, 86_400_000.125)
      assert.deepStrictEqual(eventsOf(recording).flatMap((event) => "queue" in event ? [event.queue] : []), [
        undefined,
        "0x55d0",
        undefined
      ])
      assert.deepStrictEqual(recording.families, [{
        memory: 1,
        pool: "BufferPool",
        family: "imported",
        clears: false,
        sizes: [[1024, 1024, 1024, 1024], [256, 256, 256, 256]]
      }])
    }))

  it.effect("reads what older versions wrote: no threads, a colon before the microseconds", () =>
    Effect.gen(function*() {
      const recording = yield* RmmLog.fromText(
        "Time,Action,Pointer,Size,Stream\r\n10:00:00:250000,allocate,0x10,8,0\r\n10:00:00:750000,free,0x10,8,0\r\n"
      )
      assert.deepStrictEqual(eventsOf(recording).map(({ at }) => at), [36_000_250, 36_000_750, 36_000_750])
    }))

  it.effect("has a block for what was allocated before the log", () =>
    Effect.gen(function*() {
      const { blocks } = yield* RmmLog.fromText("Action,Pointer,Size\nfree,0x10,64")
      assert.deepStrictEqual(blocks.map(({ capacity, lease }) => [capacity, lease?.size]), [[64, 64]])
    }))

  it.effect("keeps pointers apart that no number holds", () =>
    Effect.gen(function*() {
      const recording = yield* RmmLog.fromText(
        "Action,Pointer,Size\nallocate,0xfffffffffffffffe,1\nallocate,0xffffffffffffffff,2\nfree,0xfffffffffffffffe,1"
      )
      assert.deepStrictEqual(described(recording).slice(2), ["Released 1 of 1, block 1", "Freed 1, block 1"])
    }))

  it.effect("warns in text that steers no terminal", () =>
    Effect.gen(function*() {
      const { warnings } = yield* withWarnings(RmmLog.fromText("Action,Pointer,Size\n\u009b2J\u202e\u2028x,0x1,4"))
      assert.include(warnings[0], "rows with the action \"\\u009b2J\\u202e\\u2028x\"")
    }))

  it.effect("warns of columns, actions and rows that it leaves out", () =>
    Effect.gen(function*() {
      const { answer, warnings } = yield* withWarnings(RmmLog.fromText(
        "Action,Pointer,Size,Color\nallocate,(nil),0,red\nmap,0x1,4,red\nmap,0x2,4,red\nallocate,0x3,4,red\n" +
          "allocate,0x3,5,red\nfree,0x3,5,red\nfree,0x3,5,red"
      ))
      assert.strictEqual(answer.length, 6)
      assert.deepStrictEqual(warnings, [
        "RmmLog.fromText has left out what a recording cannot keep.\n" +
        "column \"Color\": 1 times, first in line 1\n" +
        "rows of 0 bytes: 1 times, first in line 2\n" +
        "rows with the action \"map\": 2 times, first in line 3\n" +
        "allocations of what was not freed, which end the one before: 1 times, first in line 6\n" +
        "frees of what is not allocated: 1 times, first in line 8"
      ])
    }))

  it.effect("says where a malformed log is wrong", () =>
    Effect.gen(function*() {
      const header = "Thread,Time,Action,Pointer,Size,Stream\n"
      assert.include(yield* problemOf(RmmLog.fromText("")), "the text is empty")
      assert.include(yield* problemOf(RmmLog.fromText("a,b")), "line 1: the header \"a,b\" has no column Action")
      assert.include(
        yield* problemOf(RmmLog.fromText(`${header}\n1,2`)),
        "line 3: the row has 2 cells, and the header 6"
      )
      const row = (time: string, pointer: string, size: string) =>
        problemOf(RmmLog.fromText(`${header}1,${time},allocate,${pointer},${size},0`))
      for (const time of ["yesterday", "25:99:99", "24:00:00", "12:60:00", "12:00:60"]) {
        assert.include(yield* row(time, "0x1", "1"), `line 2: the Time "${time}" is no time of day`)
      }
      assert.include(yield* row("10:00:00.1", "here", "1"), "line 2: the Pointer \"here\" is no address")
      assert.include(yield* row("10:00:00.1", "0x1", "-1"), "line 2: the Size \"-1\" is no whole number of bytes")
      assert.include(yield* row("10:00:00.1", "0x1", "99999999999999999"), "line 2: the Size")
    }))
})

/** The members of an event that lines of hooks contain. */
const kept = (event: PoolEvent) =>
  event._tag === "Leased"
    ? `Leased ${event.size} of ${event.capacity}, ${event.from}, ${event.pool}, ${event.device}`
    : event._tag === "Released"
    ? `Released ${event.size}`
    : event._tag

/** A line of DebugPrintHook. */
const line = (hook: string, mem_ptr: number, mem_size: number, size?: number) =>
  JSON.stringify({ hook, device_id: 0, ...(size === undefined ? {} : { size }), mem_size, mem_ptr })

/** A line of MemoryHook.debugPrint. */
const numbered = (hook: string, block: number) =>
  JSON.stringify({ hook, device_id: "host", pool: "BufferPool", size: 60, mem_size: 64, block })

describe("CupyLog.fromText", () => {
  it.effect("reads hits and misses of whole blocks", () =>
    Effect.gen(function*() {
      const recording = yield* CupyLog.fromText([
        line("alloc", 4096, 512),
        line("malloc", 4096, 512, 24),
        line("free", 4096, 512),
        line("malloc", 4096, 512, 500),
        line("free", 4096, 512)
      ].join("\n"))
      assert.deepStrictEqual(described(recording), [
        "Leased 24 of 512, block 1, driver",
        "Released 24 of 512, block 1",
        "Leased 500 of 512, block 1, held",
        "Released 500 of 512, block 1"
      ])
      assert.deepStrictEqual(recording.memories.map(({ device }) => device), ["CUDA device 0"])
    }))

  it.effect("makes a block of each part of a divided one", () =>
    Effect.gen(function*() {
      const recording = yield* CupyLog.fromText([
        line("alloc", 4096, 2048),
        line("malloc", 4096, 2048, 2048),
        line("free", 4096, 2048),
        line("malloc", 4096, 512, 512),
        line("malloc", 4608, 1024, 1000),
        line("free", 4096, 512)
      ].join("\n"))
      assert.deepStrictEqual(described(recording), [
        "Leased 2048 of 2048, block 1, driver",
        "Released 2048 of 2048, block 1",
        "Freed 2048, block 1",
        "Leased 512 of 512, block 2, driver",
        "Leased 1000 of 1024, block 3, driver",
        "Released 512 of 512, block 2",
        "Freed 512, block 2"
      ])
    }))

  it.effect("takes a block as freed in whose place there is a new one", () =>
    Effect.gen(function*() {
      const recording = yield* CupyLog.fromText([
        line("alloc", 4096, 512),
        line("malloc", 4096, 512, 512),
        line("free", 4096, 512),
        line("alloc", 4000, 1024),
        line("malloc", 4000, 1024, 1024)
      ].join("\n"))
      assert.deepStrictEqual(described(recording).slice(2), [
        "Freed 512, block 1",
        "Leased 1024 of 1024, block 2, driver"
      ])
    }))

  it.effect("reads the lines of MemoryHook.debugPrint as the pool's events have it", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const received: Array<PoolEvent> = []
      yield* Effect.forkScoped(PoolEvents.listen((event) => void received.push(event)), { startImmediately: true })
      const job = Effect.gen(function*() {
        yield* BufferPool.use(64, () => BufferPool.use(100, () => Effect.void))
        yield* BufferPool.use(64, () => Effect.void)
      })
      yield* MemoryHook.run(job, MemoryHook.debugPrint((line) => lines.push(line)))
      const recording = yield* CupyLog.fromText(lines.join("\n"))
      const known = received.filter(({ _tag }) => _tag === "Leased" || _tag === "Released")
      assert.strictEqual(known.length, 6)
      assert.deepStrictEqual(eventsOf(recording).map(kept), known.map(kept))
    }).pipe(Effect.scoped, Effect.provide(gpu)))

  it.effect("has a block from before the lines for one that is known by number and not made", () =>
    Effect.gen(function*() {
      const recording = yield* CupyLog.fromText(
        [numbered("malloc", 7), numbered("free", 7), numbered("free", 8)].join("\n")
      )
      assert.deepStrictEqual(recording.blocks.map(({ capacity, lease }) => [capacity, lease?.size]), [
        [64, 60],
        [64, undefined]
      ])
      assert.deepStrictEqual(described(recording), [
        "Leased 60 of 64, block 2, held",
        "Released 60 of 64, block 2",
        "Released 60 of 64, block 1"
      ])
    }))

  it.effect("warns of hooks and members that it leaves out", () =>
    Effect.gen(function*() {
      const { warnings } = yield* withWarnings(CupyLog.fromText(
        `{"hook":"trim","device_id":0}\n{"hook":"alloc","device_id":0,"mem_size":1,"mem_ptr":1,"why":"so"}`
      ))
      assert.deepStrictEqual(warnings, [
        "CupyLog.fromText has left out what a recording cannot keep.\n" +
        "lines of the hook \"trim\": 1 times, first in line 1\n" +
        "member \"why\": 1 times, first in line 2"
      ])
    }))

  it.effect("says where malformed lines are wrong", () =>
    Effect.gen(function*() {
      assert.include(yield* problemOf(CupyLog.fromText("\nepoch 1")), "line 2: \"epoch 1\" is no JSON object")
      assert.include(
        yield* problemOf(CupyLog.fromText(line("alloc", 1, -4))),
        "line 1: Expected a value greater than or equal to 0 at [\"mem_size\"]"
      )
      assert.include(
        yield* problemOf(CupyLog.fromText(`{"hook":"free","mem_size":4,"mem_ptr":1}`)),
        "line 1: Missing key at [\"device_id\"]"
      )
    }))
})

const gpu = BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(
  Layer.provideMerge(Host.layer()),
  Layer.provideMerge(PoolEvents.layer)
)

const frames = [{ name: "forward", filename: "/home/me/model.py", line: 12 }, {
  name: "main",
  filename: "m.py",
  line: 3
}]
const entry = (action: string, addr: number, size: number, more: object = {}) => ({
  action,
  addr,
  size,
  stream: 0,
  frames,
  ...more
})
const snapshot = (trace: ReadonlyArray<object>, segments: ReadonlyArray<object> = []) =>
  JSON.stringify({ segments, device_traces: [trace], allocator_settings: { a: [{}, "]"] }, external_annotations: [] })

const blocksOf = (size: number, state: string) => [{ size, requested_size: size - 24, state, frames }]

describe("TorchSnapshot.fromText", () => {
  it.effect("reads segments that are one block, with hits, places and running out", () =>
    Effect.gen(function*() {
      const recording = yield* TorchSnapshot.fromText(snapshot([
        entry("segment_alloc", 4096, 2048, { time_us: 1_700_000_000_000_000 }),
        entry("alloc", 4096, 1000, { time_us: 1_700_000_000_000_250, stream: 94 }),
        entry("free_requested", 4096, 1000),
        entry("free_completed", 4096, 1000),
        entry("alloc", 4096, 2000),
        entry("oom", 0, 5000, { device_free: 12 }),
        entry("free_completed", 4096, 2000),
        entry("segment_free", 4096, 2048),
        entry("snapshot", 0, 0)
      ]))
      assert.deepStrictEqual(described(recording), [
        "Leased 1000 of 2048, block 1, driver",
        "Released 1000 of 2048, block 1",
        "Leased 2000 of 2048, block 1, held",
        "RanOut 5000, 2048 active, 0 held",
        "Released 2000 of 2048, block 1",
        "Freed 2048, block 1"
      ])
      const [leased] = eventsOf(recording)
      assert.strictEqual(leased?.at, 1_700_000_000_000.25)
      if (leased?._tag !== "Leased") return assert.fail("no lease")
      assert.deepStrictEqual([leased.callSite, leased.label, leased.queue], ["/home/me/model.py:12", "forward", "94"])
    }))

  it.effect("makes a block of each part of a divided segment, and of an expandable one", () =>
    Effect.gen(function*() {
      const recording = yield* TorchSnapshot.fromText(snapshot([
        entry("segment_alloc", 4096, 2048),
        entry("alloc", 4096, 512),
        entry("alloc", 4608, 512),
        entry("free_completed", 4096, 512),
        entry("segment_map", 100_000, 2048),
        entry("alloc", 100_000, 100)
      ]))
      assert.deepStrictEqual(described(recording), [
        "Leased 512 of 512, block 1, driver",
        "Leased 512 of 512, block 2, driver",
        "Released 512 of 512, block 1",
        "Freed 512, block 1",
        "Leased 100 of 100, block 3, driver"
      ])
    }))

  it.effect("finds what was there before the trace in the segments and in what the trace ends", () =>
    Effect.gen(function*() {
      const recording = yield* TorchSnapshot.fromText(snapshot(
        [entry("free_completed", 8192, 100), entry("segment_free", 8192, 512)],
        [
          { device: 0, address: 4096, total_size: 1024, stream: 0, blocks: blocksOf(1024, "active_allocated") },
          { device: 0, address: 16_384, total_size: 2048, stream: 0, blocks: blocksOf(2048, "inactive") },
          {
            device: 0,
            address: 32_768,
            total_size: 2048,
            stream: 0,
            blocks: [...blocksOf(512, "inactive"), ...blocksOf(1536, "active_pending_free")]
          }
        ]
      ))
      assert.deepStrictEqual(recording.blocks.map(({ capacity, lease }) => [capacity, lease?.size]), [
        [512, 100],
        [1024, 1000],
        [1536, 1512],
        [2048, undefined]
      ])
      assert.deepStrictEqual(described(recording), ["Released 100 of 512, block 1", "Freed 512, block 1"])
    }))

  it.effect("puts the traces of several devices in the order of their times", () =>
    Effect.gen(function*() {
      const recording = yield* TorchSnapshot.fromText(JSON.stringify({
        device_traces: [
          [entry("alloc", 1, 10, { time_us: 1000 }), entry("free_completed", 1, 10, { time_us: 5000 })],
          [entry("alloc", 1, 20, { time_us: 2000 })]
        ],
        segments: []
      }))
      assert.deepStrictEqual(eventsOf(recording).map(({ at, device }) => [at, device]), [
        [1, "CUDA device 0"],
        [2, "CUDA device 1"],
        [5, "CUDA device 0"],
        [5, "CUDA device 0"]
      ])
    }))

  it.effect("says how to convert a pickle", () =>
    Effect.gen(function*() {
      const pickle = Stream.make(Uint8Array.of(0x80, 4, 0x95, 0, 1, 2)).pipe(Stream.decodeText())
      assert.include(yield* problemOf(TorchSnapshot.fromText(pickle)), "python3 -c \"import json, pickle, sys;")
    }))

  it.effect("says where a malformed snapshot is wrong", () =>
    Effect.gen(function*() {
      assert.include(yield* problemOf(TorchSnapshot.fromText("")), "the text is empty")
      assert.include(yield* problemOf(TorchSnapshot.fromText("[1]")), "line 1: \"[\" is not expected there")
      assert.include(yield* problemOf(TorchSnapshot.fromText("{}")), "the snapshot has no segments")
      assert.include(yield* problemOf(TorchSnapshot.fromText("{\"segments\":[]}")), "has no device_traces")
      assert.include(
        yield* problemOf(TorchSnapshot.fromText("{\"segments\":[\n1]}")),
        "line 2: segments has an element"
      )
      assert.include(
        yield* problemOf(TorchSnapshot.fromText(snapshot([{ action: "alloc", addr: "0x1", size: 1 }]))),
        "addr of device_traces[0][0] is \"0x1\", and no whole number"
      )
      assert.include(
        yield* problemOf(TorchSnapshot.fromText(snapshot([]).slice(0, -1))),
        "the text ends in the middle of its JSON object"
      )
      assert.include(
        yield* problemOf(TorchSnapshot.fromText(snapshot([], [{}]))),
        "address of segments[0] is undefined"
      )
    }))

  it.effect("warns of actions that it leaves out", () =>
    Effect.gen(function*() {
      const { warnings } = yield* withWarnings(TorchSnapshot.fromText(snapshot([entry("teleport", 1, 1)])))
      assert.deepStrictEqual(warnings, [
        "TorchSnapshot.fromText has left out what a recording cannot keep.\n" +
        "entries with the action \"teleport\": 1 times, first in device_traces[0][0]"
      ])
    }))
})

const written = (recording: Recording.Recording) =>
  Effect.all([Stream.mkString(RmmLog.toText(recording)), Stream.mkString(TorchSnapshot.toText(recording))])

/** An allocator like CuPy's: it divides its segments, and frees unused ones without an event. */
class DividingAllocator {
  readonly lines: Array<string> = []
  #segments: Array<{ readonly from: number; readonly size: number }> = []
  readonly #leases = new Map<number, number>()

  get bytes(): number {
    return Array.from(this.#leases.values()).reduce((sum, size) => sum + size, 0)
  }

  #isFree(from: number, size: number): boolean {
    return Array.from(this.#leases).every(([address, length]) => from + size <= address || address + length <= from)
  }

  #write(hook: string, mem_ptr: number, mem_size: number): void {
    this.lines.push(JSON.stringify({ hook, device_id: 0, mem_size, mem_ptr }))
  }

  malloc(size: number, which: number): void {
    for (const segment of this.#segments) {
      for (let from = segment.from; from + size <= segment.from + segment.size; from++) {
        if (this.#isFree(from, size)) return this.#lease(from, size)
      }
    }
    this.#grow(size + which % 3, which % 40)
    this.malloc(size, which)
  }

  #lease(from: number, size: number): void {
    this.#leases.set(from, size)
    this.#write("malloc", from, size)
  }

  /** A segment at the first address from `address` on without a lease; unused segments in its way are freed first. */
  #grow(size: number, address: number): void {
    const isInUse = (segment: { readonly from: number; readonly size: number }) =>
      !this.#isFree(segment.from, segment.size)
    this.#segments = this.#segments.filter(isInUse)
    const isClear = (from: number) =>
      this.#segments.every((segment) => from + size <= segment.from || segment.from + segment.size <= from)
    let from = address
    while (!isClear(from)) from++
    this.#segments.push({ from, size })
    this.#write("alloc", from, size)
  }

  free(which: number): void {
    const leases = Array.from(this.#leases)
    if (leases.length === 0) return
    const [address, size] = leases[which % leases.length]!
    this.#leases.delete(address)
    this.#write("free", address, size)
  }
}

describe("imports", () => {
  const imports: ReadonlyArray<readonly [string, Import]> = [
    ["RmmLog", (text) => RmmLog.fromText(text)],
    ["CupyLog", (text) => CupyLog.fromText(text)],
    ["TorchSnapshot", (text) => TorchSnapshot.fromText(text)]
  ]

  it.effect("read the same from pieces that are cut anywhere", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(randomRecordings, fc.integer({ min: 1, max: 200 }), ({ recording }, length) =>
          Effect.gen(function*() {
            const [rmm, torch] = yield* written(recording)
            for (const [text, read] of [[rmm, imports[0]![1]], [torch, imports[2]![1]]] as const) {
              const pieces = Array.from(
                { length: Math.ceil(text.length / length) },
                (_, index) => text.slice(index * length, (index + 1) * length)
              )
              assert.deepStrictEqual(
                eventsOf(yield* read(Stream.fromIterable(pieces))),
                eventsOf(yield* read(text))
              )
            }
          }).pipe(Effect.runPromise)),
        { numRuns: runs(100) }
      )
    ))

  it.effect("answer or fail with InvalidRequest, whatever the text", () => {
    const scraps = fc.array(
      fc.oneof(
        fc.constantFrom(
          "Action,Pointer,Size\n",
          "allocate,0x1,4\n",
          "free,0x1,4\n",
          "{\"segments\":[",
          "{\"action\":\"alloc\",\"addr\":1,\"size\":2}",
          "],\"device_traces\":[[",
          "]]}",
          "{\"hook\":\"malloc\",\"device_id\":0,\"mem_size\":4,\"mem_ptr\":1}\n",
          "{\"hook\":\"free\",\"device_id\":0,\"mem_size\":4,\"mem_ptr\":1}\n",
          "{",
          "}",
          "[",
          "]",
          "\"",
          ":",
          ",",
          "\\",
          "\n",
          "null",
          "1e999"
        ),
        fc.string({ unit: "binary", maxLength: 3 })
      ),
      { maxLength: 12 }
    )
    return Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(scraps, (pieces) =>
          Effect.gen(function*() {
            for (const [, read] of imports) {
              const result = yield* Effect.result(read(Stream.fromIterable(pieces)))
              if (result._tag === "Success") checkLedger(result.success)
              else assert.strictEqual(result.failure.reason._tag, "InvalidRequest")
            }
          }).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)),
        { numRuns: runs(1000) }
      )
    )
  })

  it.effect("make whole blocks of the logs of any allocator, also of one that lies", () => {
    const entry = fc.record({
      action: fc.constantFrom("alloc", "alloc", "alloc", "free", "free", "segment_alloc", "segment_free", "oom"),
      device: fc.nat(1),
      addr: fc.nat(12),
      size: fc.integer({ min: 1, max: 6 }),
      known: fc.boolean()
    })
    const hooks: Readonly<Record<string, string>> = { alloc: "malloc", segment_alloc: "alloc", free: "free" }
    return Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(entry, { maxLength: 30 }), ([...entries]) =>
          Effect.gen(function*() {
            const torch = {
              segments: entries.filter(({ known }) => known).map(({ addr, device, size }) => ({
                device,
                address: addr,
                total_size: size,
                stream: 0,
                blocks: [{ size, state: "active_allocated" }]
              })),
              device_traces: [0, 1].map((device) =>
                entries.filter((entry) => entry.device === device).map(({ action, addr, size }) => ({
                  action: action === "free" ? "free_completed" : action,
                  addr,
                  size
                }))
              )
            }
            checkLedger(yield* TorchSnapshot.fromText(JSON.stringify(torch)))
            const cupy = entries.flatMap(({ action, addr, device, known, size }) =>
              hooks[action] === undefined ? [] : [JSON.stringify({
                hook: hooks[action],
                device_id: device,
                mem_size: size,
                ...(known ? { mem_ptr: addr } : { block: addr })
              })]
            )
            checkLedger(yield* CupyLog.fromText(cupy.join("\n")))
            const rmm = entries.map(({ action, addr, size }) =>
              `${action === "free" ? "free" : action === "oom" ? "allocate failure" : "allocate"},${addr},${size}`
            )
            checkLedger(yield* RmmLog.fromText(["Action,Pointer,Size", ...rmm].join("\n")))
          }).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)),
        { numRuns: runs(1000) }
      )
    )
  })

  it.effect("have the bytes that are allocated, of an allocator that divides and frees its segments", () => {
    const step = fc.record({ grows: fc.boolean(), which: fc.nat(1000), size: fc.integer({ min: 1, max: 4 }) })
    return Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), (steps) =>
          Effect.gen(function*() {
            const allocator = new DividingAllocator()
            for (const { grows, size, which } of steps) {
              if (grows) allocator.malloc(size, which)
              else allocator.free(which)
            }
            const recording = yield* CupyLog.fromText(allocator.lines.join("\n"))
            assert.strictEqual(checkLedger(recording), allocator.bytes)
            const leases = eventsOf(recording).filter(({ _tag }) => _tag === "Leased")
            assert.strictEqual(leases.length, allocator.lines.filter((line) => line.includes("malloc")).length)
          }).pipe(
            // The log is consistent, so no event is left out.
            Effect.provide(Logger.layer([Logger.make(({ message }) => assert.fail(String(message)))])),
            Effect.runPromise
          )),
        { numRuns: runs(500) }
      )
    )
  })

  it.effect("fail with the errors of the stream", () =>
    Effect.gen(function*() {
      for (const read of [RmmLog.fromText, CupyLog.fromText, TorchSnapshot.fromText]) {
        assert.strictEqual(yield* Effect.flip(read(Stream.fail("no file" as const))), "no file")
      }
    }))
})
