/** Events, recordings, exports and replays of pools that split slabs. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual, throws } from "@effect/vitest/utils"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as ArenaCore from "effect-gpu-pool/ArenaCore"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { limitExceeded } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Lease from "effect-gpu-pool/Lease"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { leased, released } from "../../../../test/support/anyRecording.ts"
import { runs } from "../../../../test/support/explore.ts"
import { decorated } from "../../../../test/support/hostPool.ts"
import { Ledger } from "../../../../test/support/ledger.ts"
import { run, steps } from "../../../../test/support/poolPrograms.ts"
import * as MemoryHook from "../../src/events/MemoryHook.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as ChromeTrace from "../../src/formats/ChromeTrace.ts"
import * as CupyLog from "../../src/formats/CupyLog.ts"
import * as RmmLog from "../../src/formats/RmmLog.ts"
import * as TorchSnapshot from "../../src/formats/TorchSnapshot.ts"
import { BlockLedger } from "../../src/recording/BlockLedger.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { BlockPictures } from "../../src/viewer/page/model/BlockPicture.ts"
import { Moments } from "../../src/viewer/page/model/Moment.ts"
import { Run } from "../../src/viewer/page/model/Run.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"
import { exactly } from "../replay/exactly.ts"

const arena = PoolStrategy.arena({ unitBytes: 16, slabBytes: 256 })

const gpuOf = (pool: BufferPool.BufferPoolOptions, faults = Host.makeFaults()) =>
  BufferPool.layer({ strategy: arena, deadlockTimeout: Infinity, ...pool }).pipe(
    Layer.provideMerge(Host.layer({ faults })),
    Layer.provideMerge(Recording.layer({ capacity: 100_000 })),
    Layer.provideMerge(PoolEvents.layer)
  )

/** Leases of 100, 50 and 20 bytes in one slab, of which the second one has ended. */
const three = Effect.gen(function*() {
  yield* BufferPool.allocate(100, { label: "a" })
  const second = yield* BufferPool.allocate(50, { label: "b" })
  yield* BufferPool.allocate(20, { label: "c" })
  yield* Lease.release(second)
})

const recordedThree = Effect.scoped(Effect.andThen(three, Recording.snapshot)).pipe(
  Effect.provide(gpuOf({ label: "tested" })),
  Effect.provide(TestClock.layer())
)

const places = (recording: Recording.Recording) =>
  Array.from(Recording.events(recording), (event) =>
    event._tag === "Leased" || event._tag === "Released"
      ? [event._tag, event.size, event.capacity, event.offset, event.partBytes]
      : [event._tag])

const textOf = <E>(stream: Stream.Stream<string, E>) => Effect.runSync(Stream.mkString(stream))

describe("events of a pool that splits slabs", () => {
  it.effect("name the slab, and the part of it that a lease has", () =>
    Effect.gen(function*() {
      const recording = yield* recordedThree
      deepStrictEqual(places(recording), [
        ["DriverAsked"],
        ["Leased", 100, 256, 0, 112],
        ["Leased", 50, 256, 112, 64],
        ["Leased", 20, 256, 176, 32],
        ["Released", 50, 256, 112, 64]
      ])
      const named = Array.from(Recording.events(recording)).filter((event) => "block" in event)
      strictEqual(new Set(named.map(({ block }) => block)).size, 1)
      deepStrictEqual(recording.memories[0]?.strategy, {
        name: "arena",
        unitBytes: 16,
        slabBytes: 256,
        growth: 1 / 32,
        borrow: 1,
        granularity: 1
      })
    }))

  it.effect("are the same in a file", () =>
    Effect.gen(function*() {
      const recording = yield* recordedThree
      const again = yield* Recording.fromLines(Recording.toLines(recording))
      deepStrictEqual(places(again), places(recording))
      exactly(again)
    }))

  it.effect("are replayed exactly where any slab may be borrowed, as in CuPy, also from a file", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(BufferPool.allocate(100_000))
      yield* Effect.scoped(BufferPool.allocate(500))
      strictEqual((yield* BufferPool.stats).driverAllocations, 1)
      const recording = yield* Recording.snapshot
      exactly(recording)
      const again = yield* Recording.fromLines(Recording.toLines(recording))
      strictEqual(again.memories[0]?.strategy?.borrow, Infinity)
      exactly(again)
    }).pipe(Effect.provide(gpuOf(PoolStrategy.cupyOptions)), Effect.provide(TestClock.layer())))

  it.effect("have no part for a lease that has its whole slab", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(BufferPool.allocate(300))
      deepStrictEqual(places(yield* Recording.snapshot), [
        ["DriverAsked"],
        ["Leased", 300, 304, undefined, undefined],
        ["Released", 300, 304, undefined, undefined]
      ])
    }).pipe(Effect.provide(gpuOf({}))))

  const programs = fc.tuple(steps, fc.constantFrom(Infinity, 300), fc.constantFrom(64, 256, 1024))

  it("have the counters of the pool after every step of any program", () =>
    fc.assert(
      fc.asyncProperty(programs, ([steps, maxHeldBytes, slabBytes]) => {
        const faults = Host.makeFaults()
        const program = Effect.gen(function*() {
          const ledger = new Ledger()
          yield* Effect.forkScoped(PoolEvents.listen((event) => ledger.add(event)), { startImmediately: true })
          const scopes: Array<Scope.Closeable> = []
          for (const step of steps) {
            yield* run(step, scopes, faults)
            ledger.expect(yield* BufferPool.stats)
          }
          yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
          exactly(yield* Recording.snapshot)
        })
        const strategy = PoolStrategy.arena({ unitBytes: 16, slabBytes })
        const gpu = gpuOf({ maxBytes: 1000, maxHeldBytes, strategy }, faults)
        return Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(gpu), Effect.provide(TestClock.layer())))
      }),
      { numRuns: runs(200) }
    ))

  it("are replayed exactly where leases ask to be apart, on WebGPU, also when an allocator has no room for another slab", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: -3, max: 9 }), fc.nat(20), fc.nat(20)), { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        (steps, slabs) => {
          const program = Effect.gen(function*() {
            const live: Array<BufferPool.PooledBuffer> = []
            for (const [units, x, y] of steps) {
              if (units <= 0) {
                const [lease] = live.splice(x % Math.max(1, live.length), 1)
                if (lease !== undefined) yield* Lease.release(lease)
                continue
              }
              const apart = live.length > 0 ? [live[x % live.length]!, live[y % live.length]!] : []
              const lease = yield* Effect.result(BufferPool.allocate(units * 256, { apart }))
              if (lease._tag === "Success") live.push(lease.success)
            }
            exactly(yield* Recording.snapshot)
          })
          let made = 0
          const limited = decorated((allocator) => ({
            ...allocator,
            allocate: (bytes, options) =>
              made++ < slabs
                ? allocator.allocate(bytes, options)
                : Effect.fail(limitExceeded({
                  operation: "Allocator.allocate",
                  requested: bytes,
                  limitName: "limit",
                  limit: slabs * 4096
                }))
          }))
          const strategy = PoolStrategy.arena({ slabBytes: 4096, growth: 0 })
          const gpu = BufferPool.layerNoDeps({ maxBytes: 5 * 4096, strategy }).pipe(
            Layer.provide(limited),
            Layer.provideMerge(WebGpu.layer({ flags: ["backend=null"] })),
            Layer.provideMerge(Recording.layer({ capacity: 10_000 })),
            Layer.provideMerge(PoolEvents.layer)
          )
          return Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(gpu), Effect.provide(TestClock.layer())))
        }
      ),
      { numRuns: runs(200) }
    ))

  it("begin anywhere in any program: what was before them is known", () =>
    fc.assert(
      fc.asyncProperty(programs, fc.integer({ min: 1, max: 40 }), ([steps, maxHeldBytes, slabBytes], capacity) => {
        const faults = Host.makeFaults()
        const program = Effect.gen(function*() {
          const scopes: Array<Scope.Closeable> = []
          for (const step of steps) yield* run(step, scopes, faults)
          const recording = yield* Recording.snapshot
          const ledger = new BlockLedger(recording)
          for (const event of Recording.events(recording)) assert.isTrue(ledger.take(event), event._tag)
          const { activeBytes, heldBytes, managedBytes } = yield* BufferPool.stats
          deepStrictEqual(
            { ...ledger.bytes, peakManagedBytes: 0 },
            { activeBytes, heldBytes, managedBytes, peakManagedBytes: 0 }
          )
          const report = yield* Replay.run(recording)
          deepStrictEqual(new BlockLedger(report.recording).bytes, new BlockLedger(recording).bytes)
          const replayed = new BlockLedger(report.recording)
          for (const event of Recording.events(report.recording)) assert.isTrue(replayed.take(event), event._tag)
          if (report.differsAt === undefined) deepStrictEqual(replayed.bytes, ledger.bytes)
          else assert.isAbove(recording.blocks.length, 0)
          const again = yield* Recording.fromLines(Recording.toLines(recording))
          deepStrictEqual(again.blocks, recording.blocks)
          yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
        })
        const strategy = PoolStrategy.arena({ unitBytes: 16, slabBytes })
        const gpu = BufferPool.layer({ maxBytes: 1000, maxHeldBytes, strategy }).pipe(
          Layer.provideMerge(Host.layer({ faults })),
          Layer.provideMerge(Recording.layer({ capacity })),
          Layer.provideMerge(PoolEvents.layer)
        )
        return Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(gpu), Effect.provide(TestClock.layer())))
      }),
      { numRuns: runs(200) }
    ))
})

const part = (event: PoolEvent, offset: number, partBytes: number): PoolEvent =>
  event._tag === "Leased" || event._tag === "Released" ? { ...event, offset, partBytes } : event

describe("a ledger of parts", () => {
  it("ends the leases in whose place another one begins, though that is not recorded", () => {
    const ended: Array<string> = []
    const ledger = new BlockLedger({ blocks: [] }, { released: ({ label }) => void ended.push(label ?? "") })
    const take = (label: string, from: "driver" | "held", offset: number, bytes: number) =>
      ledger.take(part(leased({ size: 10, label }, 1, from, 64), offset, bytes))
    take("a", "driver", 0, 32)
    take("b", "held", 32, 32)
    take("c", "held", 16, 32)
    deepStrictEqual(ended, ["a", "b"])
    strictEqual(ledger.bytes.heldBytes, 32)
    ledger.take(leased({ size: 64, label: "whole" }, 1, "held", 64))
    deepStrictEqual(ended, ["a", "b", "c"])
    strictEqual(ledger.bytes.heldBytes, 0)
    take("d", "held", 48, 16)
    deepStrictEqual(ended, ["a", "b", "c", "whole"])
    deepStrictEqual([ledger.take(part(released(0, 1, 10, 64), 0, 16)), ledger.bytes.heldBytes], [false, 48])
  })
})

const nothing = () => {}

describe("exports of a pool that splits slabs", () => {
  it.effect("have an address for each part", () =>
    Effect.gen(function*() {
      const recording = yield* recordedThree
      const rows = textOf(RmmLog.toText(recording)).trim().split("\n").slice(1).map((line) => line.split(","))
      const [first] = rows
      deepStrictEqual(
        rows.map(([, , action, pointer, size]) => [action, Number(pointer) - Number(first![3]), size]),
        [["allocate", 0, "100"], ["allocate", 112, "50"], ["allocate", 176, "20"], ["free", 112, "50"]]
      )
      const lines = textOf(CupyLog.toText(recording)).trim().split("\n").map((line) => JSON.parse(line))
      deepStrictEqual(
        lines.map(({ hook, mem_ptr, mem_size, size }) => [hook, mem_ptr - lines[0].mem_ptr, mem_size, size]),
        [["alloc", 0, 256, undefined], ["malloc", 0, 112, 100], ["malloc", 112, 64, 50], ["malloc", 176, 32, 20], [
          "free",
          112,
          64,
          undefined
        ]]
      )
    }))

  it.effect("have one segment for a slab, with its parts and what is free between them", () =>
    Effect.gen(function*() {
      const { segments } = JSON.parse(textOf(TorchSnapshot.toText(yield* recordedThree)))
      const sizes = segments.map(({ allocated_size, blocks, requested_size, total_size }: Record<string, unknown>) => [
        total_size,
        allocated_size,
        requested_size,
        (blocks as ReadonlyArray<Record<string, unknown>>).map(({ size, state }) => [size, state])
      ])
      deepStrictEqual(sizes, [[256, 144, 120, [
        [112, "active_allocated"],
        [64, "inactive"],
        [32, "active_allocated"],
        [48, "inactive"]
      ]]])
    }))

  it.effect("have the offset of a part in a trace", () =>
    Effect.gen(function*() {
      const { traceEvents } = JSON.parse(textOf(ChromeTrace.toText(yield* recordedThree)))
      const begun = traceEvents.filter(({ cat, ph }: { cat?: string; ph: string }) => cat === "lease" && ph === "b")
      deepStrictEqual(begun.map(({ args }: { args: { offset?: number } }) => args.offset), [0, 112, 176])
    }))

  it.effect("are drawn at their offsets in their slab", () =>
    Effect.gen(function*() {
      const timeline = readTimeline(yield* recordedThree, "test")
      const moments = new Moments(new Run(timeline))
      const last = timeline.times.length
      const shared = `block of 256 B (BufferPool, ${timeline.texts.at(timeline.blocks.family[0]!)}), of which`
      deepStrictEqual([0, 112, 200].map((offset) => moments.blockText(0, last, offset).replace(/, at .*/, "")), [
        `${shared} 2 leases have 144 B: 100 B for a`,
        `${shared} 2 leases have 144 B: held`,
        `${shared} 2 leases have 144 B: 20 B for c`
      ])
      const drawn: Array<readonly [number, number]> = []
      const note = (_from: number, _to: number, bottom: number, top: number) => void drawn.push([bottom, top])
      const pictures = new BlockPictures(new Run(timeline), "events")
      pictures.picture({ axis: "events", from: 0, to: last + 1 }, 0, 0).draw({
        held: nothing,
        busy: nothing,
        slack: nothing,
        lease: () => note
      })
      deepStrictEqual(drawn.sort(([one], [other]) => one - other), [[0, 100], [112, 162], [176, 196]])
      const { blocks, leases } = timeline
      deepStrictEqual(Array.from(blocks.capacity), [256])
      deepStrictEqual(Array.from(leases.block), [0, 0, 0])
      deepStrictEqual([Array.from(leases.offset), Array.from(leases.bytes)], [[0, 112, 176], [112, 64, 32]])
    }))
})

/** Many small leases of sizes that hardly recur. */
const varied = Effect.forEach(
  Array.from({ length: 40 }, (_, at) => 1000 + 37 * at),
  (bytes) => BufferPool.use(bytes, () => BufferPool.use(bytes + 300, () => Effect.void)),
  { discard: true }
)

const recorded = (pool: BufferPool.BufferPoolOptions) =>
  Effect.andThen(varied, Recording.snapshot).pipe(Effect.provide(gpuOf(pool)), Effect.provide(TestClock.layer()))

describe("a replay under another strategy", () => {
  it.effect("says what an arena would have taken, and what blocks would have", () =>
    Effect.gen(function*() {
      const options = { sizePolicy: SizePolicy.exact, maxHeldBytes: Infinity }
      const ofBlocks = yield* recorded({ ...options, strategy: PoolStrategy.blocks })
      const ofArena = yield* recorded({ ...options, strategy: PoolStrategy.arena() })
      strictEqual(exactly(ofArena).driverAllocations, 1)
      const replayed = yield* Replay.run(ofBlocks, { strategy: PoolStrategy.arena() })
      strictEqual(replayed.driverAllocations, 1)
      deepStrictEqual(places(replayed.recording), places(ofArena))
      exactly(replayed.recording)
      const back = yield* Replay.run(ofArena, { strategy: PoolStrategy.blocks, sizePolicy: SizePolicy.exact })
      strictEqual(back.driverAllocations, exactly(ofBlocks).driverAllocations)
    }))

  it.effect("fails where the strategy is wrong, or is a program's own", () =>
    Effect.gen(function*() {
      const recording = yield* recorded({ strategy: { ...arena, name: "own", arena: undefined } })
      const own = yield* Effect.flip(Replay.run(recording))
      deepStrictEqual([own.reason._tag, own.message.includes("the strategy own")], ["Unsupported", true])
      strictEqual((yield* Replay.run(recording, { strategy: arena })).failed.length, 0)
      const wrong = yield* Effect.flip(Replay.run(recording, { strategy: PoolStrategy.arena({ unitBytes: 3 }) }))
      strictEqual(wrong.reason._tag, "InvalidRequest")
    }))
})

describe("the core of an arena that is made again", () => {
  it("has the parts that leases had, and what is free between them", () => {
    const core = new ArenaCore.ArenaCore<string>({ unit: 16, part: (slab, begin) => `${slab} from ${begin}` })
    core.addPending(256)
    const parts = [{ begin: 32, bytes: 16, request: 10 }, { begin: 48, bytes: 64, request: 64 }, {
      begin: 240,
      bytes: 16,
      request: 16
    }]
    const leases = core.addParts(0, 256, "slab", parts)
    deepStrictEqual(leases.map(({ begin, capacity, value }) => [begin, capacity, value]), [
      [32, 16, "slab from 32"],
      [48, 64, "slab from 48"],
      [240, 16, "slab from 240"]
    ])
    deepStrictEqual([core.activeBytes, core.heldBytes, core.heldBlocks, core.managedBytes], [90, 160, 2, 256])
    for (const lease of leases) core.release(lease)
    deepStrictEqual([core.activeBytes, core.heldBytes, core.heldBlocks, core.releases], [0, 256, 1, 3])
    strictEqual(core.acquireOwn(0, 256, 256)?.value, "slab")
    core.addPending(64)
    throws(() => core.addParts(0, 64, "other", [{ begin: 8, bytes: 16, request: 1 }]))
  })
})

describe("the lines of a hook", () => {
  it.effect("have the parts of a slab, of which an import makes leases at the same places", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      yield* MemoryHook.run(Effect.scoped(three), MemoryHook.debugPrint((line) => lines.push(line)))
      deepStrictEqual(
        lines.map((line) => JSON.parse(line)).map(({ hook, mem_size, offset }) => [hook, mem_size, offset]),
        [
          ["alloc", 256, undefined],
          ["malloc", 112, 0],
          ["malloc", 64, 112],
          ["malloc", 32, 176],
          ["free", 64, 112],
          ["free", 32, 176],
          ["free", 112, 0]
        ]
      )
      const imported = yield* CupyLog.fromText(lines.join("\n"))
      const sizes = Array.from(Recording.events(imported)).flatMap((event) =>
        event._tag === "Leased" ? [event.size] : []
      )
      deepStrictEqual(sizes, [100, 50, 20])
    }).pipe(Effect.provide(gpuOf({}))))
})
