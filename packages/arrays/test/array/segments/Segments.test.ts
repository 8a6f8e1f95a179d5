/** Sums of segments on every backend, and as a GPU divides them. */
import { assert, describe, expectTypeOf, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import * as SegmentDivision from "../../../src/array/segments/SegmentDivision.ts"
import { asGpu } from "../../kernels/ReductionModel.ts"
import { onEveryBackend, refuses, strictHost } from "../ArrayBackends.ts"
import { segmentsLaws } from "./SegmentsLaws.ts"

describe("Segments are added up", () => {
  onEveryBackend((gpu) => segmentsLaws(gpu, runs(60)))

  describeWith(["webgpu"], "on WebGPU, as a GPU does", () => {
    segmentsLaws(BufferPool.layer().pipe(Layer.provideMerge(asGpu(WebGpu.layer()))), runs(20))
  })
  describeWith(["opencl"], "on OpenCL, as a GPU does", () => {
    segmentsLaws(BufferPool.layer().pipe(Layer.provideMerge(asGpu(OpenCl.layer()))), runs(20))
  })
})

describe("A division of segments", () => {
  const count = fc.integer({ min: 1, max: 2 ** 32 - 1 })
  const small = fc.integer({ min: 1, max: 300_000 })

  it("has every element in one part and every segment in one range, and bounds the memory of the sums", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.oneof(count, small),
        fc.oneof(count, small, fc.constant(8)),
        fc.constantFrom<SegmentDivision.Runner>("few", "many"),
        (blocks, length, segments, runner) => {
          const { parts, range, ranges, segment } = SegmentDivision.divide(blocks, length, segments, runner)
          assert.isTrue((parts - 1) * segment < length && parts * segment >= length)
          assert.isTrue((ranges - 1) * range < segments && ranges * range >= segments)
          assert.isTrue(parts === 1 || parts * segments <= length / 4)
          if (runner === "few") strictEqual(ranges, 1)
        }
      ),
      { numRuns: 1000 }
    )
  })

  it("gives an item as many rows as divide all evenly, eight at most", () => {
    deepStrictEqual([1, 2, 5, 8, 10, 11, 12, 16, 64].map((rows) => SegmentDivision.rowsOfItem(rows, 1)), [
      1,
      2,
      5,
      8,
      5,
      1,
      6,
      8,
      8
    ])
    strictEqual(SegmentDivision.rowsOfItem(8, 30), 2)
    strictEqual(SegmentDivision.rowsOfItem(8, 100), 1)
  })
})

type Made = Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const no = (made: Made, ...mentions: ReadonlyArray<string>) => refuses("InvalidRequest", made, ...mentions)

layer(strictHost)("sums of segments on the host", (it) => {
  it.effect("name the shapes, the types and the number of mistakes, and take nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const two = yield* DeviceArray.fromHost(Int32Array.of(0, 1))
      yield* no(DeviceArray.segmentSum(x, two, 2, { axis: 1 }), "segmentSum", "[2]", "axis 1", "[2, 3]", "3 positions")
      yield* no(DeviceArray.segmentSum(x, two, 2, { axis: 2 }), "segmentSum", "axis 2", "[2, 3]")
      yield* no(DeviceArray.segmentSum(x, two, -1), "segmentSum", "number of segments is -1")
      yield* no(DeviceArray.bincount(two, -1), "bincount", "the length is -1")
      yield* no(DeviceArray.segmentSum(x, two, 1.5), "1.5")
      yield* no(DeviceArray.segmentSum(x, yield* DeviceArray.reshape(two, [2, 1]), 2), "[2, 1]")
      yield* no(
        DeviceArray.segmentSum(x, (yield* DeviceArray.astype(two, "f32")) as never, 2),
        "the labels are f32",
        "astype"
      )
      yield* no(DeviceArray.segmentSum(x, [0, 1] as never, 2), "segmentSum", "labels", "fromHost")
      yield* no(DeviceArray.segmentSum(yield* DeviceArray.sum(x), two, 2), "axis 0", "[]")
      yield* no(DeviceArray.bincount(yield* DeviceArray.astype(x, "i32"), 2), "bincount", "[2, 3]", "ravel")
      yield* refuses("LimitExceeded", DeviceArray.segmentSum(x, two, 2 ** 32), "segmentSum", "4294967295")
    }))

  it.effect("sum halves in f32", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([60_000, 60_000, -60_000], { dtype: "f16" })
      const labels = yield* DeviceArray.zeros([3], { dtype: "u32" })
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.segmentSum(x, labels, 1)), [60_000])
    }))

  it.effect("fail on what was released or written since, and give everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.arange(40_000)
      const labels = yield* DeviceArray.zeros([40_000], { dtype: "u32" })
      const { reason } = yield* Effect.flip(DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* DeviceArray.negative(x)
        yield* DeviceArray.fill(x, 0)
        return yield* DeviceArray.segmentSum(before, labels, 3)
      })))
      assert.include(reason.message, "negative")
      strictEqual((yield* BufferPool.stats).activeBlocks, 2)
      yield* Lease.release(labels.lease!)
      strictEqual((yield* Effect.flip(DeviceArray.segmentSum(x, labels, 3))).reason._tag, "Released")
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
    }))
})

it("functions of segments are made data-first and data-last", () => {
  assert.isFunction(calls)
  expectTypeOf<TypesOf<ReturnType<typeof calls>>>().toEqualTypeOf<readonly ["i32", "f32", "i32", "f64", "u32", "u32"]>()
})

type TypesOf<T> = {
  readonly [I in keyof T]: T[I] extends Effect.Effect<DeviceArray.DeviceArray<infer D>, GpuError, infer _> ? D : never
}

/** Tests the types of the calls. */
const calls = (x: DeviceArray.DeviceArray<"i8">, labels: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.segmentSum(x, labels, 3),
    DeviceArray.segmentSum(x, labels, 3, { axis: 1, dtype: "f32" }),
    x.pipe(DeviceArray.segmentSum(labels, 3, { axis: 1 })),
    x.pipe(DeviceArray.segmentSum(labels, 3, { dtype: "f64" })),
    DeviceArray.bincount(labels, 3),
    labels.pipe(DeviceArray.bincount(3))
  ] as const
