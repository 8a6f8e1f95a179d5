/** Laws of any two devices of one service, on any backends. */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import type { DType } from "../../src/domain/data/DType.ts"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { runs } from "../support/explore.ts"
import { tagOf } from "../support/hostPool.ts"

const { on } = BufferPools

type Program = Effect.Effect<unknown, unknown, BufferPools.BufferPools | Scope.Scope>

/** Staging memory for one chunk at a time, so that transfers in both directions wait. */
const scarce: BufferPools.Options = { staging: { maxBytes: 256, onExhausted: "wait" } }

const chunks = { chunkSize: 64, inFlight: 3 } as const

const dtypes: ReadonlyArray<DType> = ["f32", "i32", "u32", "f16", "f64"]

/** Views whose elements fill their memory, in any order of axes, and views whose elements do not. */
const views: ReadonlyArray<
  readonly [name: string, dense: boolean, view: (x: DeviceArray.DeviceArray) => DeviceArray.Computed]
> = [
  ["the array", true, (x) => Effect.succeed(x)],
  ["a transposed one", true, (x) => DeviceArray.transpose(x)],
  ["axes in another order", true, (x) => DeviceArray.transpose(x, [1, 2, 0])],
  ["rows from the middle", true, (x) => DeviceArray.slice(x, [{ start: 1, stop: 3 }])],
  ["columns", false, (x) => DeviceArray.slice(x, [{}, {}, 1])],
  ["every other element", false, (x) => DeviceArray.slice(x, [{}, {}, { step: 2 }])],
  ["a flipped one", false, (x) => DeviceArray.flip(x, 0)],
  ["one that repeats", false, (x) => DeviceArray.broadcastTo(x, [2, 4, 3, 5])],
  ["one element", true, (x) => DeviceArray.slice(x, [3, 2, 4])],
  ["an odd place", false, (x) => DeviceArray.slice(x, [1, 1, { start: 1, stop: 4 }])],
  ["nothing", true, (x) => DeviceArray.slice(x, [{ stop: 0 }])]
]

const shape = [4, 3, 5]

const numbers = (dtype: DType) => DeviceArray.fromHost(Array.from({ length: 60 }, (_, i) => i), { dtype, shape })

const supports = (dtype: DType) => DeviceContext.useSync(({ info }) => info.dtypes.has(dtype))

const read = (array: DeviceArray.DeviceArray) => BufferPools.onDeviceOf(array, DeviceArray.toNested(array))

/** A program for one device. */
const job = (value: number) =>
  Effect.gen(function*() {
    const x = yield* DeviceArray.full([100], value)
    const sum = yield* DeviceArray.toNumber(yield* DeviceArray.sum(yield* DeviceArray.multiply(x, 2)))
    strictEqual(sum, 200 * value)
  }).pipe(Effect.scoped)

/** A test for each law, with devices of its own. When one has ended, no driver object of any device is left. */
export const lawsOfSeveral = (
  open: (device: string) => Layer.Layer<Device.Services, GpuError>,
  [first, second]: readonly [string, string]
): void => {
  const law = (title: string, program: Program, options?: BufferPools.Options) =>
    it.live(title, () =>
      Effect.gen(function*() {
        const opened: Array<DriverObjects> = []
        const watched = (device: string) =>
          Layer.tap(open(device), (context) =>
            Effect.sync(() => {
              opened.push(Context.get(context, DeviceContext).driverObjects)
            }))
        yield* Effect.scoped(program).pipe(Effect.provide(BufferPools.layer(watched, options)))
        assert.isNotEmpty(opened)
        for (const { live, liveByKind } of opened) strictEqual(live, 0, JSON.stringify(liveByKind))
      }))

  const pairs = [[first, second], [second, first], [first, first]] as const

  law(
    "a program of one device runs on each of several, at the same time",
    Effect.gen(function*() {
      const jobs = [1, 2, 3, 4].map((value) => on(value % 2 === 0 ? first : second, job(value)))
      yield* Effect.all(jobs, { concurrency: "unbounded" })
      strictEqual((yield* BufferPools.devices).length, 2)
    })
  )

  for (const dtype of dtypes) {
    law(
      `arrays of ${dtype} keep elements, shape and type, and the strides of what fills its memory`,
      Effect.gen(function*() {
        for (const [from, to] of pairs) {
          const [here, there] = [yield* on(from, supports(dtype)), yield* on(to, supports(dtype))]
          if (!here) continue
          const x = yield* on(from, numbers(dtype))
          if (!there) {
            strictEqual(yield* tagOf(DeviceArray.to(x, to)), "Unsupported")
            continue
          }
          for (const [name, dense, view] of views) {
            const source = yield* on(from, view(x))
            const moved = yield* DeviceArray.to(source, to, chunks)
            deepStrictEqual(yield* read(moved), yield* read(source), `${name}, from ${from} to ${to}`)
            deepStrictEqual([moved.dtype, moved.shape], [dtype, source.shape], name)
            if (dense) deepStrictEqual(moved.strides, source.strides, name)
            else assert.isTrue(moved.isContiguous, name)
            assert.isFalse(moved.lease === source.lease, name)
          }
        }
      }),
      { staging: { maxBytes: 256 } }
    )
  }

  law(
    "an array of any size passes through less staging memory, without a word about chunks",
    Effect.gen(function*() {
      for (const [from, to] of pairs) {
        const x = yield* on(from, DeviceArray.fromHost(Uint32Array.from({ length: 1001 }, (_, index) => index)))
        const moved = yield* DeviceArray.to(x, to)
        deepStrictEqual(yield* read(moved), yield* read(x), `from ${from} to ${to}`)
      }
    }),
    scarce
  )

  law(
    "a recorded array is computed for it, and stays recorded",
    Effect.gen(function*() {
      const x = yield* on(first, numbers("f32"))
      yield* on(
        first,
        DeviceArray.lazy(Effect.gen(function*() {
          const sum = yield* DeviceArray.add(x, 1)
          const moved = yield* DeviceArray.to(sum, second)
          strictEqual(sum.lease, undefined)
          deepStrictEqual(yield* read(moved), yield* DeviceArray.toNested(sum))
          return moved
        }))
      )
    })
  )

  law(
    "the array belongs to the caller's scope, on the other device",
    Effect.gen(function*() {
      const x = yield* on(first, numbers("f32"))
      const active = Effect.map(
        BufferPools.stats,
        ({ devices }) => [first, second].map((device) => devices.get(device)?.buffers.activeBlocks ?? 0)
      )
      const inner = yield* Scope.make()
      const y = yield* Scope.provide(DeviceArray.to(x, second), inner)
      deepStrictEqual(yield* active, [1, 1])
      strictEqual(yield* tagOf(on(first, DeviceArray.toHost(y))), "ForeignDevice")
      yield* Scope.close(inner, Effect.runSync(Effect.exit(Effect.void)))
      deepStrictEqual(yield* active, [1, 0])
      strictEqual(yield* tagOf(DeviceArray.to(y, first)), "Released")
    })
  )

  law(
    "an array keeps only its own device open",
    Effect.gen(function*() {
      const inner = yield* Scope.make()
      const x = yield* Scope.provide(on(first, numbers("f32")), inner)
      const flipped = yield* Scope.provide(on(first, DeviceArray.flip(x, 0)), inner)
      const expected = yield* read(flipped)
      const y = yield* DeviceArray.to(flipped, second)
      yield* Scope.close(inner, Effect.runSync(Effect.exit(Effect.void)))
      deepStrictEqual(yield* BufferPools.devices, [second])
      deepStrictEqual(yield* read(y), expected)
    }),
    { idleTimeToLive: 0 }
  )

  law(
    "arrays of any shape and view come back as they went",
    Effect.gen(function*() {
      const context = yield* Effect.context<BufferPools.BufferPools>()
      const lengths = fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 3 })
      const cases = fc.tuple(
        lengths,
        fc.integer({ min: 0, max: 2 }),
        fc.integer({ min: -3, max: 3 }).filter((step) => step !== 0),
        fc.integer({ min: 1, max: 40 })
      )
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(cases, ([shape, turn, step, words]) =>
            Effect.gen(function*() {
              const size = shape.reduce((a, b) => a * b, 1)
              const x = yield* on(
                first,
                DeviceArray.fromHost(Int32Array.from({ length: size }, (_, i) => i), { shape })
              )
              const axes = shape.map((_, axis) => (axis + turn) % shape.length)
              const turned = yield* on(first, DeviceArray.transpose(x, axes))
              const view = shape.length === 0 ? turned : yield* on(first, DeviceArray.slice(turned, [{ step }]))
              const options = { chunkSize: 4 * words, inFlight: 1 + words % 4 }
              const there = yield* DeviceArray.to(view, second, options)
              const back = yield* DeviceArray.to(there, first, options)
              const expected = yield* BufferPools.onDeviceOf(view, DeviceArray.toHost(view))
              deepStrictEqual(yield* BufferPools.onDeviceOf(there, DeviceArray.toHost(there)), expected)
              deepStrictEqual(yield* BufferPools.onDeviceOf(back, DeviceArray.toHost(back)), expected)
              deepStrictEqual(back.shape, view.shape)
            }).pipe(Effect.scoped, Effect.runPromiseWith(context))),
          { numRuns: runs(40) }
        )
      )
    })
  )

  law(
    "arrays go in both directions at once, through scarce staging memory",
    Effect.gen(function*() {
      const elements = 3_000
      const there = yield* on(first, DeviceArray.fromHost(Int32Array.from({ length: elements }, (_, i) => i)))
      const back = yield* on(second, DeviceArray.fromHost(Int32Array.from({ length: elements }, (_, i) => -i)))
      const moves = Array.from(
        { length: 6 },
        (_, index) => index % 2 === 0 ? DeviceArray.to(there, second, chunks) : DeviceArray.to(back, first, chunks)
      )
      for (const [index, moved] of (yield* Effect.all(moves, { concurrency: "unbounded" })).entries()) {
        const found = yield* BufferPools.onDeviceOf(moved, DeviceArray.toHost(moved))
        deepStrictEqual(Array.from(found), Array.from({ length: elements }, (_, i) => index % 2 === 0 ? i : 0 - i))
      }
      const { total } = yield* BufferPools.stats
      assert.isAtMost(total.staging.peakManagedBytes, 512)
    }),
    scarce
  )

  law(
    "a copy keeps to its ranges, and may end with both buffers at any byte",
    Effect.gen(function*() {
      for (const [from, to] of pairs) {
        const x = yield* on(from, BufferPool.allocate(22))
        const y = yield* on(to, BufferPool.allocate(18))
        yield* on(from, CommandQueue.write(x, Uint8Array.from({ length: 22 }, (_, i) => i)))
        yield* on(to, CommandQueue.write(y, new Uint8Array(18).fill(255)))
        yield* BufferPools.copy(x, y, { sourceOffset: 8, targetOffset: 4, chunkSize: 4, inFlight: 2 })
        deepStrictEqual(
          Array.from(yield* on(to, CommandQueue.read(y, Uint8Array))),
          [255, 255, 255, 255, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
        )
        for (
          const options of [
            { sourceOffset: 2 },
            { size: 6 },
            { targetOffset: 8 },
            { sourceOffset: 24 },
            { size: -4 },
            { size: 4, chunkSize: 3 },
            { size: 4, inFlight: 0 }
          ]
        ) strictEqual(yield* tagOf(BufferPools.copy(x, y, options)), "InvalidRequest", JSON.stringify(options))
      }
    })
  )

  law(
    "what a failed transfer made is gone at once",
    Effect.gen(function*() {
      const x = yield* on(first, DeviceArray.full([300], 1))
      strictEqual(yield* tagOf(DeviceArray.to(x, second, { chunkSize: 512 })), "LimitExceeded")
      const { devices } = yield* BufferPools.stats
      strictEqual(devices.get(second)!.buffers.activeBlocks, 0)
    }),
    { ...scarce, pool: { maxBytes: 4096 } }
  )
}
