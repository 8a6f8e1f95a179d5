import * as Expr from "@effect-gpu-pool/arrays/Expr"
import * as ReductionKernel from "@effect-gpu-pool/arrays/ReductionKernel"
import * as ScanKernel from "@effect-gpu-pool/arrays/ScanKernel"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { turnsDuring } from "../../packages/testing/src/EventLoop.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type * as ValueType from "../../src/domain/data/ValueType.ts"
import type { DriverError, GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import { ImageFormat, Images, ImageShape } from "../../src/images.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { KernelCache } from "../../src/services/device/KernelCache.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"

const create = (bytes: number, label?: string) =>
  DeviceContext.use((device) => device.createBuffer(bytes, BufferUsage.defaultUsage, label))

const driverErrorOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<DriverError, A, R> =>
  Effect.map(Effect.flip(effect), ({ reason }) => {
    assert(reason._tag === "DriverError")
    return reason
  })

/** A kernel over no data that shows when it runs, and on which items. */
const probe = (onRange: (from: number, to: number) => void, name = "probe") =>
  Kernel.make({ name, args: [], body: { host: onRange } })

const nextTurn = Effect.callback<void>((resume) => {
  const timer = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(timer))
})

const scale = Kernel.make({
  name: "scale",
  args: [VectorArg("f32", "x"), ScalarArg("f32", "a")],
  body: {
    host: (from, to, { a, x }) => {
      for (let i = from; i < to; i++) x[i] = a * x[i]!
    }
  }
})

describe("queue order", () => {
  it.effect("holds between writes, fills, copies, kernels and reads", () =>
    Effect.gen(function*() {
      const x = yield* create(16)
      const y = yield* create(16)
      yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
      yield* CommandQueue.dispatch(scale, { x, a: 10 }, 4)
      yield* CommandQueue.copy(x, y)
      yield* CommandQueue.write(x, Float32Array.of(5), { offset: 4 })
      yield* CommandQueue.fill(x, 0, { size: 4 })
      yield* CommandQueue.dispatch(scale, { x, a: 2 }, 3)
      deepStrictEqual([...(yield* CommandQueue.read(x, Float32Array))], [0, 10, 60, 40])
      deepStrictEqual([...(yield* CommandQueue.read(y, Float32Array))], [10, 20, 30, 40])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("holds behind a kernel that takes many turns of the event loop", () =>
    Effect.gen(function*() {
      const x = yield* create(16)
      const data = Float32Array.of(1, 2, 3, 4)
      yield* CommandQueue.write(x, data)
      yield* CommandQueue.dispatch(scale, { x, a: 10 }, 4)
      yield* CommandQueue.flush
      yield* CommandQueue.write(x, data.subarray(0, 2), { offset: 8 })
      data.fill(0)
      const before = yield* Effect.forkChild(CommandQueue.read(x, Float32Array), { startImmediately: true })
      yield* CommandQueue.fill(x, 0)
      deepStrictEqual([...(yield* Fiber.join(before))], [10, 20, 1, 2])
      deepStrictEqual([...(yield* CommandQueue.read(x, Float32Array))], [0, 0, 0, 0])
    }).pipe(Effect.provide(Host.layer({ rangeItems: 1 }))))

  it.effect("fills up to the end with one byte", () =>
    Effect.gen(function*() {
      const x = yield* create(11)
      yield* CommandQueue.write(x, new Uint8Array(11))
      yield* CommandQueue.fill(x, Uint8Array.of(7), { offset: 4 })
      deepStrictEqual([...(yield* CommandQueue.read(x, Uint8Array))], [0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7])
    }).pipe(Effect.provide(Host.layer())))
})

const recordProbes = (count: number) =>
  Effect.gen(function*() {
    let runs = 0
    const kernel = probe(() => {
      runs += 1
    })
    const compiled = yield* KernelCache.use((cache) => cache.get(kernel))
    const driver = yield* QueueDriver
    const record = () =>
      driver.dispatchUnsafe({ compiled, vectors: [], scalars: [], images: [], samplers: [], count: 1 })
    const now = yield* Effect.sync(() => {
      for (let i = 0; i < count; i++) strictEqual(record(), Exit.void)
      return runs
    })
    return { now, later: Effect.sync(() => runs) }
  })

describe("submitting", () => {
  it.effect("happens at 64 commands, and for the rest at the end of the turn of the event loop", () =>
    Effect.gen(function*() {
      const { later, now } = yield* recordProbes(70)
      strictEqual(now, 64)
      yield* Effect.promise(() => Promise.resolve())
      strictEqual(yield* later, 70)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("happens no more once the layer is closed", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Host.layer(), scope)
      let runs = 0
      const kernel = probe(() => {
        runs += 1
      })
      const compiled = yield* Effect.provide(KernelCache.use((cache) => cache.get(kernel)), context)
      const closed = yield* Effect.provide(
        QueueDriver.use((driver) =>
          Effect.suspend(() => {
            driver.dispatchUnsafe({ compiled, vectors: [], scalars: [], images: [], samplers: [], count: 1 })
            return Scope.close(scope, Exit.void)
          })
        ),
        context
      ).pipe(Effect.andThen(nextTurn), Effect.andThen(Effect.sync(() => runs)))
      strictEqual(closed, 0)
    }))

  it.effect("fails as a whole when a command names a destroyed buffer, and only then", () =>
    Effect.gen(function*() {
      const driver = yield* QueueDriver
      const device = yield* DeviceContext
      const kept = yield* create(4, "kept")
      const gone = yield* create(4, "gone")
      yield* CommandQueue.write(kept, Uint32Array.of(1))
      yield* Effect.sync(() => {
        driver.fillUnsafe(kept, 0, 4, 2)
        driver.copyUnsafe(gone, 0, kept, 0, 4)
        device.destroyBufferUnsafe(gone)
        driver.flushUnsafe()
        driver.fillUnsafe(kept, 0, 4, driver.flushUnsafe()._tag === "Success" ? 3 : 4)
      })
      const error = yield* driverErrorOf(CommandQueue.finish)
      strictEqual(error.call, "submit")
      assert.include(error.log, "gone")
      deepStrictEqual(error.commands, ["fill 4 B -> kept", "copy 4 B gone -> kept"])
      yield* CommandQueue.finish
      deepStrictEqual([...(yield* CommandQueue.read(kept, Uint32Array))], [3])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fills on with the same pattern from piece to piece", () =>
    Effect.gen(function*() {
      const bytes = 9 * 1024 * 1024 + 128
      const x = yield* create(bytes)
      for (const width of [16, 128]) {
        const pattern = Uint8Array.from({ length: width }, (_, at) => at + 1)
        yield* CommandQueue.fill(x, pattern, { offset: width })
        const found = yield* CommandQueue.read(x, Uint8Array, { offset: width })
        assert.isTrue(found.every((byte, at) => byte === at % width + 1), `${width}`)
      }
    }).pipe(Effect.provide(Host.layer())))

  it.effect("comes before a free of the Allocator, so nobody else's work is harmed", () =>
    Effect.gen(function*() {
      const allocator = yield* Allocator.Allocator
      const driver = yield* QueueDriver
      const kept = yield* create(4)
      const gone = yield* create(4)
      yield* CommandQueue.write(gone, Uint32Array.of(7))
      yield* Effect.sync(() => {
        driver.copyUnsafe(gone, 0, kept, 0, 4)
        strictEqual(allocator.freeUnsafe(gone), Exit.void)
      })
      deepStrictEqual([...(yield* CommandQueue.read(kept, Uint32Array))], [7])
    }).pipe(Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))))
})

describe("a long kernel", () => {
  it.effect("lets other work run between its ranges", () =>
    Effect.gen(function*() {
      let turns = 0
      const count = (): void => {
        turns += 1
        timer = setImmediate(count)
      }
      let timer = setImmediate(count)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearImmediate(timer)))
      const seen: Array<readonly [from: number, to: number]> = []
      const turnOf: Array<number> = []
      yield* CommandQueue.dispatch(
        probe((from, to) => {
          seen.push([from, to])
          turnOf.push(turns)
        }),
        {},
        25
      )
      yield* CommandQueue.finish
      deepStrictEqual(seen, [[0, 10], [10, 20], [20, 25]])
      assert.isBelow(turnOf[0]!, turnOf[1]!)
      assert.isBelow(turnOf[1]!, turnOf[2]!)
    }).pipe(Effect.scoped, Effect.provide(Host.layer({ rangeItems: 10 }))))

  it.effect("counts what an item works through, where its kernel says so, and runs an item at least", () =>
    Effect.gen(function*() {
      const rangesWith = Effect.fnUntraced(function*(span: number | bigint, count: number) {
        const ranges: Array<number> = []
        const kernel = Kernel.make({
          name: "spans",
          args: [
            ScalarArg("u32", "other"),
            VectorArg("u32", "x"),
            ScalarArg((typeof span === "bigint" ? "u64" : "u32") as ValueType.NumberType, "span")
          ],
          body: { host: (from, to) => ranges.push(to - from) },
          workPerItem: "span"
        })
        const x = yield* create(4)
        yield* CommandQueue.dispatch(kernel, { other: 7, span, x }, count)
        yield* CommandQueue.finish
        return ranges
      })
      deepStrictEqual(yield* rangesWith(0, 25), [10, 10, 5])
      deepStrictEqual(yield* rangesWith(1, 25), [10, 10, 5])
      deepStrictEqual(yield* rangesWith(3, 7), [3, 3, 1])
      deepStrictEqual(yield* rangesWith(10, 3), [1, 1, 1])
      deepStrictEqual(yield* rangesWith(4_000_000_000, 2), [1, 1])
      deepStrictEqual(yield* rangesWith(3n, 7), [3, 3, 1])
    }).pipe(Effect.provide(Host.layer({ rangeItems: 10 }))))

  it.effect("yields as often in the elements of reductions and scans as in those of other kernels", () =>
    Effect.gen(function*() {
      const length = 2 ** 22
      const sum = {
        name: "sum",
        args: [],
        map: (_: object, index: Expr.Expr<"u32">) => index,
        combine: (a: Expr.Expr<"u32">, b: Expr.Expr<"u32">) => Expr.add(a, b),
        neutral: 0
      }
      for (const commutative of [false, true]) {
        const reduction = ReductionKernel.make({ ...sum, commutative })
        const total = yield* ReductionKernel.run(reduction, {}, length)
        assert.isAtLeast(yield* turnsDuring(CommandQueue.finish), length / 65_536)
        deepStrictEqual([...(yield* CommandQueue.read(total, Uint32Array))], [2 ** 21 * (2 ** 22 - 1) % 2 ** 32])
      }
      yield* ScanKernel.run(ScanKernel.make(sum), {}, length)
      assert.isAtLeast(yield* turnsDuring(CommandQueue.finish), 2 * length / 65_536)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))

  it.effect("keeps a destroyed buffer's memory until it is done", () =>
    Effect.gen(function*() {
      const device = yield* DeviceContext
      const x = yield* create(16)
      const y = yield* create(16)
      yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
      yield* CommandQueue.dispatch(scale, { x, a: 2 }, 4)
      yield* CommandQueue.copy(x, y)
      yield* CommandQueue.flush
      yield* device.destroyBufferUnsafe(x)
      strictEqual(yield* Host.usedBytes, 32)
      deepStrictEqual([...(yield* CommandQueue.read(y, Float32Array))], [2, 4, 6, 8])
      yield* CommandQueue.finish
      strictEqual(yield* Host.usedBytes, 16)
    }).pipe(Effect.provide(Host.layer({ rangeItems: 1 }))))

  it.effect("stops when the device is lost under it, and waiting effects fail", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      let ranges = 0
      yield* CommandQueue.dispatch(
        probe(() => {
          ranges += 1
          if (ranges === 2) faults.lose("unplugged")
        }),
        {},
        10
      )
      const error = yield* Effect.flip(CommandQueue.finish)
      strictEqual(error.reason._tag, "DeviceLost")
      yield* nextTurn
      strictEqual(ranges, 2)
    }).pipe(Effect.provide(Host.layer({ rangeItems: 1 }))))

  it.effect("stops when its layer closes, and leaves nothing", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Host.layer({ rangeItems: 1 }), scope)
      let ranges = 0
      const kernel = Kernel.make({
        name: "tally",
        args: [VectorArg("u32", "x")],
        body: {
          host: () => {
            ranges += 1
          }
        }
      })
      const waiting = yield* Effect.gen(function*() {
        const x = yield* create(16)
        yield* CommandQueue.dispatch(kernel, { x }, 1000)
        return yield* Effect.forkChild(Effect.flip(CommandQueue.finish), { startImmediately: true })
      }).pipe(Effect.provide(context))
      yield* Scope.close(scope, Exit.void)
      const atClose = ranges
      strictEqual((yield* Fiber.join(waiting)).reason._tag, "DeviceLost")
      yield* nextTurn
      strictEqual(ranges, atClose)
      strictEqual((yield* Effect.provide(DeviceContext, context)).driverObjects.live, 0)
    }))
})

describe("large transfers", () => {
  it.effect("go in pieces and come out whole", () =>
    Effect.gen(function*() {
      const bytes = 9 * 1024 * 1024 + 6
      const x = yield* create(bytes)
      const y = yield* create(bytes)
      let turns = 0
      const count = (): void => {
        turns += 1
        timer = setImmediate(count)
      }
      let timer = setImmediate(count)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearImmediate(timer)))
      yield* CommandQueue.fill(x, Uint8Array.of(13, 12))
      yield* CommandQueue.copy(x, y)
      const read = yield* CommandQueue.read(y, Uint8Array)
      assert.isAbove(turns, 4)
      strictEqual(read.byteLength, bytes)
      assert(read.every((byte, i) => byte === 13 - (i % 2)))
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))

  it.effect("of many short rows go in pieces, too", () =>
    Effect.gen(function*() {
      const [width, height, depth] = [3, 1024, 128]
      const image = yield* Images.make(ImageShape.image3d(width, height, depth), ImageFormat.make("rg", "uint8"))
      yield* Images.fill(image, 0)
      const turns = yield* turnsDuring(
        Effect.andThen(
          Images.fill(image, [7, 8], { origin: [1], extent: [2, height, depth] }),
          CommandQueue.finish
        )
      )
      assert.isAbove(turns, 4)
      const found = yield* Images.read(image, Uint8Array)
      assert(found.every((byte, at) => byte === [0, 0, 7, 8, 7, 8][at % 6]))
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))
})

const broken = (name: string, message: string) =>
  probe(() => {
    throw new Error(message)
  }, name)

describe("failures", () => {
  it.effect("of a body name the dispatch and carry what it threw; later commands still run", () =>
    Effect.gen(function*() {
      const x = yield* create(4)
      yield* CommandQueue.dispatch(broken("first", "no such luck"), {}, 5)
      yield* CommandQueue.fill(x, 1)
      yield* CommandQueue.dispatch(broken("second", "again"), {}, 6)
      const error = yield* driverErrorOf(CommandQueue.read(x, Uint32Array))
      deepStrictEqual(error.commands, ["dispatch first (5 items)", "dispatch second (6 items)"])
      assert.match(
        error.log,
        /^Error: no such luck, at \S*HostQueue\.test\.ts\S*:\d+:\d+; Error: again, at \S*HostQueue\.test\.ts\S*:\d+:\d+$/
      )
      deepStrictEqual([...(yield* CommandQueue.read(x, Uint32Array))], [1])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("are reported to those who come after, not to those before", () =>
    Effect.gen(function*() {
      const x = yield* create(4)
      yield* CommandQueue.dispatch(probe(() => {}), {}, 3)
      const before = yield* Effect.forkChild(CommandQueue.finish, { startImmediately: true })
      yield* CommandQueue.dispatch(broken("late", "late"), {}, 1)
      const after = yield* Effect.forkChild(driverErrorOf(CommandQueue.read(x, Uint32Array)), {
        startImmediately: true
      })
      yield* Fiber.join(before)
      deepStrictEqual((yield* Fiber.join(after)).commands, ["dispatch late (1 items)"])
    }).pipe(Effect.provide(Host.layer({ rangeItems: 1 }))))

  it.effect("do not get lost with an interrupted finish or read", () =>
    Effect.gen(function*() {
      const x = yield* create(4)
      yield* CommandQueue.dispatch(probe(() => {}), {}, 3)
      yield* CommandQueue.dispatch(broken("late", "late"), {}, 1)
      for (const wait of [CommandQueue.finish, CommandQueue.read(x, Uint32Array)]) {
        const waiting = yield* Effect.forkChild(wait, { startImmediately: true })
        strictEqual(waiting.pollUnsafe(), undefined)
        yield* Fiber.interrupt(waiting)
      }
      assert.match((yield* driverErrorOf(CommandQueue.finish)).log, /^Error: late, at /)
    }).pipe(Effect.provide(Host.layer({ rangeItems: 1 }))))
})

const refusal = (kernel: Kernel.Kernel) =>
  Effect.map(Effect.flip(KernelCache.use((cache) => cache.get(kernel))), (error) => error.reason._tag)

describe("kernels", () => {
  it.effect("see whole elements of the requested size, offsets, and scalars as the device holds them", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const kernel = Kernel.make({
        name: "look",
        args: [
          VectorArg("f32", "x", { withOffset: true }),
          VectorArg("f64", "d"),
          ScalarArg("f32", "f"),
          ScalarArg("i32", "n"),
          ScalarArg("u32", "u"),
          ScalarArg("f64", "g")
        ],
        body: {
          host: (_from, _to, { d, f, g, n, u, x, x_offset }) => {
            seen.push(x instanceof Float32Array, x.length, x_offset, d.length, f, n, u, g)
          }
        }
      })
      const x = yield* create(22)
      const d = yield* create(23)
      const args = { x: { buffer: x, offset: 2 }, d, f: 0.1, n: -1, u: 2 ** 32 - 1, g: 0.1 }
      yield* CommandQueue.dispatch(kernel, args, 1)
      yield* CommandQueue.finish
      deepStrictEqual(seen, [true, 5, 2, 2, Math.fround(0.1), -1, 2 ** 32 - 1, 0.1])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("need a host body, and stay within the device's limits", () =>
    Effect.gen(function*() {
      const body = { host: () => {} }
      strictEqual(yield* refusal(Kernel.make({ name: "none", args: [], body: { wgsl: "" } })), "Unsupported")
      strictEqual(yield* refusal(Kernel.make({ name: "wide", args: [], body, workgroupSize: 257 })), "LimitExceeded")
      const three = [VectorArg("f32", "x"), VectorArg("f32", "y"), VectorArg("f32", "z")]
      strictEqual(yield* refusal(Kernel.make({ name: "many", args: three, body })), "LimitExceeded")
    }).pipe(Effect.provide(Host.layer({ maxVectorArguments: 2 }))))

  it.effect("with the same source but other closures are not mixed up", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      for (const value of [1, 2]) yield* CommandQueue.dispatch(probe(() => void seen.push(value)), {}, 1)
      yield* CommandQueue.finish
      deepStrictEqual(seen, [1, 2])
    }).pipe(Effect.provide(Host.layer())))
})
