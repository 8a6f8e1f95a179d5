import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { outOfMemory } from "../../../src/domain/GpuError.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as TrackingAllocator from "../../../src/services/buffers/allocators/TrackingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CallSite from "../../../src/services/calls/CallPlaces.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import { here, stacksDuring } from "../../support/callSites.ts"
import { type HostServices, logsTo, tagOf } from "../../support/hostPool.ts"
import { interruptEverywhere } from "../../support/nullDevice.ts"

type Tracked = HostServices | Allocator.Allocator | TrackingAllocator.AllocationTracker

const tracked = (host?: Host.HostOptions) =>
  TrackingAllocator.layer.pipe(
    Layer.provide(Allocator.layerImmediate),
    Layer.provideMerge(Layer.fresh(Host.layer(host)))
  )

const labels = Effect.map(TrackingAllocator.outstanding, (left) => left.map(({ label }) => label))

/** A buffer in a scope that nothing closes. */
const leak = (bytes: number, label: string) => Scope.provide(Allocator.allocate(bytes, { label }), Scope.makeUnsafe())

/** Runs a program in a tracker of its own, and returns the lines logged when the tracker has closed. */
const reportOf = <E>(program: Effect.Effect<unknown, E, Tracked>, layer = tracked()) =>
  Effect.suspend(() => {
    const messages: Array<string> = []
    return program.pipe(
      Effect.provide(layer),
      Effect.provide(logsTo(messages)),
      Effect.map(() => messages.flatMap((message) => message.split("\n")))
    )
  })

describe("a tracking allocator", () => {
  it.effect("lists what was not freed, oldest first, with its age", () =>
    Effect.gen(function*() {
      const allocator = yield* Allocator.Allocator
      yield* allocator.allocate(100, { label: "a" })
      yield* TestClock.adjust("2 seconds")
      const second = yield* allocator.allocate(50)
      yield* Effect.scoped(Allocator.allocate(25, { label: "scratch" }))
      yield* TestClock.adjust("500 millis")
      deepStrictEqual(yield* TrackingAllocator.outstanding, [
        { label: "a", bytes: 100, ageMillis: 2500, callSite: undefined },
        { label: undefined, bytes: 50, ageMillis: 500, callSite: undefined }
      ])
      yield* allocator.freeUnsafe(second)
      deepStrictEqual(yield* labels, ["a"])
    }).pipe(Effect.provide(tracked())))

  it.effect("counts nothing that failed, and forgets what failed to be freed but is gone", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const allocator = yield* Allocator.Allocator
      strictEqual(yield* tagOf(allocator.allocate(0.5)), "InvalidRequest")
      strictEqual(yield* tagOf(allocator.allocate(1000)), "OutOfMemory")
      deepStrictEqual(yield* labels, [])
      const buffer = yield* allocator.allocate(64, { label: "stuck" })
      faults.failFrees()
      strictEqual(Exit.isFailure(allocator.freeUnsafe(buffer)), true)
      deepStrictEqual(yield* labels, [])
      strictEqual(Exit.isSuccess(allocator.freeUnsafe(buffer)), true)
    }).pipe(Effect.provide(tracked({ capacityBytes: 512 }))))

  it.effect("keeps what could not be freed", () =>
    Effect.gen(function*() {
      const [mine, theirs] = [yield* Layer.build(tracked()), yield* Layer.build(tracked())]
      const foreign = yield* Effect.provide(leak(64, "theirs"), theirs)
      strictEqual(Exit.isFailure(Context.get(mine, Allocator.Allocator).freeUnsafe(foreign)), true)
      deepStrictEqual(yield* Effect.provide(labels, theirs), ["theirs"])
      yield* Context.get(theirs, Allocator.Allocator).freeUnsafe(foreign)

      const stubborn = Layer.effect(
        Allocator.Allocator,
        Effect.map(Allocator.Allocator, (allocator) =>
          Allocator.Allocator.of({ ...allocator, freeUnsafe: () => Exit.fail(outOfMemory(0)) }))
      )
      const over = TrackingAllocator.layer.pipe(Layer.provide(stubborn))
      const left = Effect.andThen(Effect.scoped(Allocator.allocate(64, { label: "kept" })), labels)
      deepStrictEqual(yield* left.pipe(Effect.provide(over), Effect.provide(mine)), ["kept"])
    }).pipe(Effect.scoped, Effect.provide(logsTo([]))))

  it.effect("knows what was destroyed behind its back", () =>
    Effect.gen(function*() {
      const buffer = yield* leak(64, "x")
      const device = yield* DeviceContext
      yield* device.destroyBufferUnsafe(buffer)
      deepStrictEqual(yield* labels, [])
    }).pipe(Effect.provide(tracked())))

  it.effect("is immediate or deferred as what it decorates, and reclaims through it", () =>
    Effect.gen(function*() {
      const immediate = Effect.map(Allocator.Allocator, (allocator) => allocator.immediate)
      strictEqual(yield* Effect.provide(immediate, tracked()), true)
      const deferred = TrackingAllocator.layer.pipe(Layer.provide(Allocator.layerDeferred))
      strictEqual(yield* immediate.pipe(Effect.provide(deferred), Effect.provide(Host.layer())), false)
      const reclaimed = Effect.gen(function*() {
        yield* Effect.scoped(Allocator.allocate(64))
        strictEqual(yield* Host.usedBytes, 64)
        yield* Allocator.reclaim
        return yield* Host.usedBytes
      })
      strictEqual(yield* Effect.provide(reclaimed, tracked({ lateFree: true })), 0)
    }))

  it.effect("belongs to the device in its context, also when one layer value stands on two", () =>
    Effect.gen(function*() {
      const layer = TrackingAllocator.layer
      const on = (effect: Effect.Effect<unknown, unknown, Tracked>) =>
        Effect.andThen(effect, labels).pipe(
          Effect.provide(layer.pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(Host.layer())))
        )
      let inner: ReadonlyArray<string | undefined> = []
      const nested = Effect.map(on(leak(1, "inner")), (labels) => {
        inner = labels
      })
      deepStrictEqual(yield* on(Effect.andThen(leak(2, "outer"), nested)), ["outer"])
      deepStrictEqual(inner, ["inner"])
    }).pipe(Effect.provide(logsTo([]))))

  it.effect("count their own allocations when they are nested", () =>
    Effect.gen(function*() {
      const inner = yield* Layer.build(tracked())
      const outer = yield* Layer.build(TrackingAllocator.layer).pipe(Effect.provide(inner))
      yield* Effect.provide(leak(10, "below"), inner)
      const both = yield* Effect.provide(leak(20, "through both"), outer)
      deepStrictEqual(yield* Effect.provide(labels, inner), ["below", "through both"])
      deepStrictEqual(yield* Effect.provide(labels, outer), ["through both"])
      yield* Context.get(outer, Allocator.Allocator).freeUnsafe(both)
      deepStrictEqual(yield* Effect.provide(labels, inner), ["below"])
      deepStrictEqual(yield* Effect.provide(labels, outer), [])
    }).pipe(Effect.scoped))

  it.live("loses no buffer's record wherever the fiber is interrupted", () =>
    Effect.gen(function*() {
      const { driverObjects } = yield* DeviceContext
      const tracker = yield* TrackingAllocator.AllocationTracker
      const allocator = yield* Allocator.Allocator
      const steps = yield* interruptEverywhere(allocator.allocate(64), () => {
        strictEqual(Effect.runSync(tracker.outstanding).length, driverObjects.liveByKind["buffer"] ?? 0)
      })
      assert.isAbove(steps, 3)
    }).pipe(Effect.provide(tracked()), Effect.provide(logsTo([]))))
})

describe("the report of a tracking allocator that closes", () => {
  it.effect("names exactly what was not freed: label, bytes, age, file and line", () =>
    Effect.gen(function*() {
      let places: ReadonlyArray<string> = []
      const lines = yield* reportOf(
        Effect.gen(function*() {
          const allocator = yield* Allocator.Allocator
          yield* Effect.scoped(Allocator.allocate(1, { label: "one" }))
          const [, two] = [yield* allocator.allocate(2, { label: "two" }), here()]
          yield* TestClock.adjust("1 minute")
          const three = yield* allocator.allocate(3, { label: "three" })
          const [, four] = [yield* Scope.provide(Allocator.allocate(4), Scope.makeUnsafe()), here()]
          const five = yield* leak(5, "five")
          yield* TestClock.adjust("1500 millis")
          for (const buffer of [five, three]) yield* allocator.freeUnsafe(buffer)
          places = [two, four]
        }).pipe(CallSite.track)
      )
      deepStrictEqual(lines.map((line) => line.replace(/:\d+$/, "")), [
        "Warn 2 buffers were allocated and not freed, 6 bytes together:",
        `  "two", 2 bytes, 1m 1s 500ms old, asked for at ${places[0]}`,
        `  (no label), 4 bytes, 1s 500ms old, asked for at ${places[1]}`,
        "Allocate in a scope that closes (Allocator.allocate), or call freeUnsafe once for each buffer."
      ])
      assert.match(lines[1] ?? "", /TrackingAllocator\.test\.ts:\d+:\d+$/)
    }))

  it.effect("is not there when everything was freed", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* reportOf(Effect.scoped(Allocator.allocate(64))), [])
    }))

  it.effect("says how to learn the places when they were not tracked", () =>
    Effect.gen(function*() {
      const lines = yield* reportOf(leak(8, "x"), tracked())
      strictEqual(lines[0], "Warn 1 buffer was allocated and not freed, 8 bytes together:")
      strictEqual(lines[1], `  "x", 8 bytes, 0ms old`)
      assert.include(lines[2] ?? "", "CallSite.track")
    }))

  it.effect("stays readable when a loop leaks", () =>
    Effect.gen(function*() {
      const lines = yield* reportOf(Effect.forEach(Array.from({ length: 250 }), () => leak(2, "x")), tracked())
      strictEqual(lines.length, 103)
      strictEqual(lines[0], "Warn 250 buffers were allocated and not freed, 500 bytes together:")
      strictEqual(lines[101], "  and 150 younger ones, 300 bytes together")
    }))

  it.effect("frees nothing: the device does, once", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      let used = 0
      const program = Effect.andThen(leak(64, "x"), DeviceContext)
      const lines = yield* reportOf(
        Effect.tap(program, (device) => Effect.sync(() => (used = device.driverObjects.liveByKind["buffer"] ?? 0))),
        tracked({ faults })
      )
      deepStrictEqual([lines.length, used, faults.frees], [3, 1, 0])
    }))
})

/** The call site of what an effect allocates last. */
const siteOf = <E, R>(effect: Effect.Effect<unknown, E, R>) =>
  Effect.map(Effect.andThen(effect, TrackingAllocator.outstanding), (left) => left.at(-1)?.callSite)

describe("call sites", () => {
  it.effect("cost no stack unless they are asked for", () =>
    Effect.gen(function*() {
      const run = Effect.map(
        stacksDuring(Effect.provide(Effect.suspend(() => Effect.scoped(Allocator.allocate(64))), tracked())),
        ([stacks]) => stacks
      )
      strictEqual(yield* run, 0)
      assert.isAbove(yield* CallSite.track(run), 0)
      strictEqual(yield* run, 0)
    }))

  it.effect("are where the accessor or the service was called, also over other decorators", () =>
    Effect.gen(function*() {
      const allocator = yield* Allocator.Allocator
      const [direct, directLine] = [yield* siteOf(allocator.allocate(1)), here()]
      const [accessor, accessorLine] = [yield* siteOf(Allocator.allocate(1)), here()]
      const over = Effect.provide(TrackingAllocator.layer)
      const [outer, outerLine] = [yield* over(siteOf(Allocator.allocate(1))), here()]
      const found = [direct, accessor, outer].map((callSite) => callSite?.replace(/:\d+$/, ""))
      deepStrictEqual(found, [directLine, accessorLine, outerLine])
    }).pipe(Effect.scoped, CallSite.track, Effect.provide(tracked())))

  it.effect("of a pool's block are those of the lease for which it was allocated", () =>
    Effect.gen(function*() {
      const { allocate } = yield* BufferPool.BufferPool
      const [first, firstLine] = [yield* Effect.scoped(siteOf(BufferPool.allocate(1024))), here()]
      const again = yield* siteOf(BufferPool.allocate(1000))
      const [service, serviceLine] = [yield* siteOf(allocate(4096, { label: "x" })), here()]
      const [used, usedLine] = [yield* BufferPool.use(1 << 16, () => siteOf(Effect.void)), here()]
      const found = [first, again, service, used].map((callSite) => callSite?.replace(/:\d+$/, ""))
      deepStrictEqual(found, [firstLine, firstLine, serviceLine, usedLine])
    }).pipe(
      Effect.scoped,
      CallSite.track,
      Effect.provide(BufferPool.layerNoDeps().pipe(Layer.provideMerge(tracked())))
    ))

  it.effect("are what the caller says they are", () =>
    Effect.gen(function*() {
      strictEqual(yield* siteOf(Allocator.allocate(1, { callSite: "model.onnx:7" })), "model.onnx:7")
    }).pipe(Effect.scoped, Effect.provide(tracked())))

  it.effect("are unknown for an effect from before", () => {
    const early = siteOf(Allocator.allocate(1))
    return Effect.gen(function*() {
      strictEqual(yield* early, undefined)
    }).pipe(Effect.scoped, CallSite.track, Effect.provide(tracked()))
  })

  it("are found in a bundle, where the file is one for all", async () => {
    const program = `
      import * as Effect from "effect/Effect"
      import * as Layer from "effect/Layer"
      import { TrackingAllocator } from "./src/allocators.ts"
      import { Allocator, CallSite } from "./src/index.ts"
      import { Host } from "./src/host.ts"
      const layer = TrackingAllocator.layer.pipe(
        Layer.provide(Allocator.layerImmediate), Layer.provide(Host.layer()))
      const mine = Effect.gen(function*() {
        yield* Allocator.allocate(12321)
        return (yield* TrackingAllocator.outstanding)[0].callSite
      })
      process.stdout.write(await Effect.runPromise(mine.pipe(
        Effect.scoped, CallSite.track, Effect.provide(layer))))`
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "effect-gpu-pool-")))
    try {
      const outfile = join(folder, "bundle.mjs")
      const resolveDir = join(import.meta.dirname, "../../..")
      await build({
        stdin: { contents: program, resolveDir, loader: "ts" },
        bundle: true,
        minify: true,
        format: "esm",
        platform: "node",
        outfile
      })
      const callSite = execFileSync(process.execPath, [outfile], { encoding: "utf8" })
      const [, file, line, column] = /^(.*):(\d+):(\d+)$/.exec(callSite) ?? []
      strictEqual(file, outfile)
      const code = readFileSync(outfile, "utf8").split("\n")[Number(line) - 1]?.slice(Number(column) - 1)
      assert.match(code ?? "", /^[\w$.]+\(12321\)/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
