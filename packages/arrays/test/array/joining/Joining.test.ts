/** Joining, repeating, padding and splitting on every backend, against plain lists of elements. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

const same = (found: DeviceArray.DeviceArray, wanted: Model.Model) =>
  Effect.gen(function*() {
    deepStrictEqual([...found.shape], [...wanted.shape])
    deepStrictEqual(Array.from((yield* DeviceArray.toHost(found)) as ArrayLike<number>), [...wanted.data])
    strictEqual(found.isContiguous, true)
  })

const concatenated = (models: ReadonlyArray<Model.Model>, axis: number): Model.Model => {
  const length = models.reduce((sum, { shape }) => sum + shape[axis]!, 0)
  return Model.build(models[0]!.shape.map((own, at) => at === axis ? length : own), (at) => {
    let place = at[axis]!
    const model = models.find(({ shape }) => {
      if (place < shape[axis]!) return true
      place -= shape[axis]!
      return false
    })!
    return Model.elementAt(model, at.map((own, of) => of === axis ? place : own))
  })
}

/** A shape with an axis, how the array is laid out, and numbers for whatever a function takes besides. */
const cases = fc.record({
  shape: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 4 }),
  axis: fc.nat(3),
  turned: fc.boolean(),
  lengths: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
  counts: fc.array(fc.nat(3), { minLength: 8, maxLength: 8 })
})

type Case = typeof cases extends fc.Arbitrary<infer A> ? A : never

const dtypes = ["f32", "i32", "u32", "f16", "f64"] as const

const upload = (model: Model.Model, dtype: typeof dtypes[number], turned: boolean) =>
  Effect.gen(function*() {
    const axes = model.shape.map((_, at) => model.shape.length - 1 - at)
    const stored = turned ? Model.transpose(model, axes) : model
    const data = DType.viewUnsafe(
      dtype,
      new ArrayBuffer(stored.data.length * DType.byteSize(dtype)),
      0,
      stored.data.length
    )
    data.set([...stored.data])
    const array = yield* DeviceArray.fromHost(data as Float32Array<ArrayBuffer>, { shape: stored.shape })
    return turned ? yield* DeviceArray.transpose(array) : array
  })

const agrees = (of: Case) =>
  Effect.gen(function*() {
    const { counts, lengths, shape, turned } = of
    const { info } = yield* CommandQueue.CommandQueue
    const available = dtypes.filter((dtype) => info.dtypes.has(dtype))
    const axis = of.axis % shape.length
    const models = lengths.map((length) => Model.counting(shape.map((own, at) => at === axis ? length : own)))
    const parts = yield* Effect.forEach(
      models,
      (model, at) => upload(model, available[(of.axis + at) % available.length]!, turned !== (at === 1))
    )
    yield* same(yield* DeviceArray.concatenate(parts, { axis: axis - shape.length }), concatenated(models, axis))

    const model = Model.counting(shape)
    const x = yield* upload(model, available[counts[0]! % available.length]!, turned)
    const place = of.axis % (shape.length + 1)
    const wider = { shape: [...shape.slice(0, place), 1, ...shape.slice(place)], data: model.data }
    yield* same(yield* DeviceArray.stack([x, x, x], { axis: place }), concatenated([wider, wider, wider], place))

    const times = shape.map((_, at) => counts[at]!)
    yield* same(
      yield* DeviceArray.tile(x, times),
      Model.build(shape.map((own, at) => own * times[at]!), (at) =>
        Model.elementAt(model, at.map((index, of) => index % shape[of]!)))
    )
    const count = counts[5]!
    yield* same(
      yield* DeviceArray.repeat(x, count, { axis }),
      Model.build(
        shape.map((own, at) =>
          at === axis ? own * count : own
        ),
        (at) => Model.elementAt(model, at.map((index, of) => of === axis ? Math.floor(index / count) : index))
      )
    )
    yield* same(yield* DeviceArray.repeat(x, count), {
      shape: [model.data.length * count],
      data: model.data.flatMap((element) => Array.from({ length: count }, () => element))
    })
    const each = Array.from({ length: shape[axis]! }, (_, at) => counts[(at + 1) % counts.length]!)
    const origins = each.flatMap((count, at) => Array.from({ length: count }, () => at))
    yield* same(
      yield* DeviceArray.repeat(x, each, { axis }),
      Model.build(
        shape.map((own, at) => at === axis ? origins.length : own),
        (at) => Model.elementAt(model, at.map((index, of) => of === axis ? origins[index]! : index))
      )
    )
    const all = model.data.map((_, at) => counts[at % counts.length]!)
    const repeated = model.data.flatMap((element, at) => Array.from({ length: all[at]! }, () => element))
    yield* same(yield* DeviceArray.repeat(x, all), { shape: [repeated.length], data: repeated })
    const widths = shape.map((_, at) => [counts[at]!, counts[at + 4]!] as const)
    yield* same(
      yield* DeviceArray.pad(x, widths, { value: 9 }),
      Model.build(shape.map((own, at) => own + widths[at]![0] + widths[at]![1]), (at) => {
        const inner = at.map((index, of) => index - widths[of]![0])
        return inner.every((index, of) => index >= 0 && index < shape[of]!) ? Model.elementAt(model, inner) : 9
      })
    )
    const cuts = [counts[1]!, counts[1]! + counts[2]!]
    const pieces = yield* DeviceArray.split(x, cuts, { axis })
    yield* same(yield* DeviceArray.concatenate(pieces, { axis }), model)
    deepStrictEqual(pieces.map((piece) => piece.lease === x.lease), [true, true, true])
    if (shape[axis]! > 0) strictEqual((yield* DeviceArray.split(x, shape[axis]!, { axis })).length, shape[axis])
  })

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "what lists of elements give, for every type and layout",
      () => property(cases, agrees, { numRuns: runs(40) }),
      120_000
    )

    it.effect("joins what is only recorded without memory for it", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 3])
        const { leases, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
          const doubled = yield* DeviceArray.multiply(x, 2)
          return yield* DeviceArray.concatenate([doubled, x, yield* DeviceArray.add(doubled, 1)])
        })))
        deepStrictEqual(yield* DeviceArray.toNested(value), [2, 4, 6, 1, 2, 3, 3, 5, 7])
        strictEqual(leases, 1)
      }))

    it.effect("copies long runs without a kernel, from any offset", () =>
      Effect.gen(function*() {
        const wide = yield* DeviceArray.arange(3 * 5000, { dtype: "i32" })
        const x = yield* DeviceArray.reshape(wide, [3, 5000])
        const [a, b, c] = yield* DeviceArray.split(x, [1100, 3000], { axis: 1 })
        const parts = [
          c!,
          a!,
          yield* DeviceArray.arange(3 * 1024, { dtype: "i32" }).pipe(
            Effect.flatMap(DeviceArray.reshape([3, 1024]))
          )
        ]
        const { kernels, value } = yield* costOf(DeviceArray.concatenate(parts, { axis: 1 }))
        const rows = [0, 1, 2].map((row) => [
          ...Array.from({ length: 2000 }, (_, at) => 5000 * row + 3000 + at),
          ...Array.from({ length: 1100 }, (_, at) => 5000 * row + at),
          ...Array.from({ length: 1024 }, (_, at) => 1024 * row + at)
        ])
        deepStrictEqual(yield* DeviceArray.toNested(value), rows)
        strictEqual(kernels, 0)
        const stacked = yield* costOf(DeviceArray.stack([wide, wide]))
        strictEqual(stacked.kernels, 0)
        deepStrictEqual(
          yield* DeviceArray.toHost(yield* DeviceArray.slice(stacked.value, [1])),
          yield* DeviceArray.toHost(wide)
        )
        // Rows whose order is another one, and rows that are the same one, need a kernel.
        const turned = yield* DeviceArray.flip(x, 0)
        const first = yield* DeviceArray.slice(b!, [0])
        const repeated = yield* DeviceArray.broadcastTo(first, [3, 1900])
        const joined = yield* DeviceArray.concatenate([
          yield* DeviceArray.slice(turned, [{}, { stop: 1500 }]),
          repeated
        ], {
          axis: 1
        })
        deepStrictEqual(
          yield* DeviceArray.toNested(joined),
          [2, 1, 0].map((row) => [
            ...Array.from({ length: 1500 }, (_, at) => 5000 * row + at),
            ...Array.from({ length: 1900 }, (_, at) => 1100 + at)
          ])
        )
      }))

    it.effect("stores by a kernel what the device does not copy", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const lease = yield* BufferPool.allocate(16, { usage: BufferUsage.storage | BufferUsage.copyDst })
        yield* CommandQueue.write(lease, Float32Array.of(1, 2, 3, 4))
        const x = yield* DeviceArray.fromLease(lease, { shape: [4], dtype: "f32" })
        const { kernels, value } = yield* costOf(DeviceArray.concatenate([x, x]))
        deepStrictEqual(yield* DeviceArray.toNested(value), [1, 2, 3, 4, 1, 2, 3, 4])
        strictEqual(kernels, 2)
        if (!info.dtypes.has("f16")) return
        const odd = yield* DeviceArray.fromHost([1, 2, 3], { dtype: "f16" })
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.concatenate([odd, odd, odd])), [
          1,
          2,
          3,
          1,
          2,
          3,
          1,
          2,
          3
        ])
      }))

    it.effect("promotes, and broadcasts nothing", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Int32Array.of(-1))
        const y = yield* DeviceArray.fromHost(Float32Array.of(0.5))
        const joined: DeviceArray.DeviceArray<"f32"> = yield* DeviceArray.concatenate([x, y, x])
        deepStrictEqual(yield* DeviceArray.toHost(joined), Float32Array.of(-1, 0.5, -1))
        const whole: DeviceArray.DeviceArray<"i32"> = yield* DeviceArray.stack([x, x])
        deepStrictEqual(yield* DeviceArray.toNested(whole), [[-1], [-1]])
      }))

    it.effect("of arrays without axes and without elements", () =>
      Effect.gen(function*() {
        const one = yield* DeviceArray.sum(yield* DeviceArray.fromHost([1, 2]))
        const none = yield* DeviceArray.zeros([0, 2])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.stack([one, one])), [3, 3])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.repeat(one, 2)), [3, 3])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.tile(one, [2, 1])), [[3], [3]])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.pad(one, 2)), 3)
        deepStrictEqual((yield* DeviceArray.concatenate([none, none])).shape, [0, 2])
        deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.pad(none, [[1, 0], [0, 0]])), [[0, 0]])
        deepStrictEqual((yield* DeviceArray.split(none, 3)).map(({ shape }) => shape), [[0, 2], [0, 2], [0, 2]])
      }))
  })
}

describe("Joining", () => {
  onEveryBackend(laws)
})

const no = (
  name: string,
  made: Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>,
  ...mentions: Array<string>
) => refuses("InvalidRequest", made, name, ...mentions)

layer(strictHost)("joining on the host", (it) => {
  it.effect("names the shapes and counts of mistakes, and takes nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const row = yield* DeviceArray.fromHost([1, 2, 3])
      const one = yield* DeviceArray.sum(row)
      yield* no("concatenate", DeviceArray.concatenate([]), "no arrays")
      yield* no("stack", DeviceArray.stack([]), "no arrays")
      yield* no("concatenate", DeviceArray.concatenate([one, one]), "axis 0", "[]")
      yield* no("concatenate", DeviceArray.concatenate([x, row]), "[2, 3]", "[3]", "axis 0")
      yield* no("concatenate", DeviceArray.concatenate([x, yield* DeviceArray.transpose(x)], { axis: 1 }), "[3, 2]")
      yield* no("concatenate", DeviceArray.concatenate([x], { axis: 2 }), "axis 2", "[2, 3]")
      yield* no("stack", DeviceArray.stack([x, row]), "[2, 3]", "[3]")
      yield* no("stack", DeviceArray.stack([x], { axis: 3 }), "axis 3")
      yield* no("split", DeviceArray.split(x, 2, { axis: 1 }), "2 equal parts", "length 3", "[2, 3]")
      yield* no("split", DeviceArray.split(x, 0), "parts is 0")
      yield* no("split", DeviceArray.split(x, 1.5), "1.5")
      yield* no("split", DeviceArray.split(one, 1), "axis 0")
      yield* no("split", DeviceArray.split(x, [1, 0.5]), "position 1 to cut before is 0.5")
      yield* no("split", DeviceArray.split(x, [undefined as never]), "position 0 to cut before is undefined")
      yield* no("tile", DeviceArray.tile(x, -1), "-1")
      yield* no("tile", DeviceArray.tile(x, [1, NaN]), "NaN")
      yield* no("tile", DeviceArray.tile(x, [undefined as never, 2]), "a count is undefined")
      yield* no("repeat", DeviceArray.repeat(x, 0.5), "0.5")
      yield* no("repeat", DeviceArray.repeat(x, 2, { axis: -3 }), "axis -3")
      yield* no("repeat", DeviceArray.repeat(x, [1, 2], { axis: 1 }), "2 counts", "3 elements", "[2, 3]")
      yield* no("repeat", DeviceArray.repeat(x, [1]), "1 counts", "6 elements")
      yield* no("repeat", DeviceArray.repeat(x, [1, 0.5], { axis: 0 }), "count 1 is 0.5")
      yield* no("repeat", DeviceArray.repeat(x, [2 ** 53 - 1, 1], { axis: 0 }), "no whole number")
      yield* refuses("OutOfMemory", DeviceArray.repeat(x, [2 ** 40, 1], { axis: 0 }), "4398046511108")
      const vast = yield* DeviceArray.broadcastTo(one, [2 ** 52])
      yield* no("concatenate", DeviceArray.concatenate([vast, vast]), "[9007199254740992]")
      yield* no("tile", DeviceArray.tile(vast, 4), "no whole number")
    }))

  it.effect("fails on what was released, and gives everything back", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const y = yield* DeviceArray.fromHost([1, 2, 3])
      yield* Lease.release(x.lease!)
      for (
        const made of [
          DeviceArray.concatenate([y, x]),
          DeviceArray.stack([y, x]),
          DeviceArray.tile(x, 2),
          DeviceArray.pad(x, 1)
        ]
      ) {
        strictEqual((yield* Effect.flip(made)).reason._tag, "Released")
        strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      }
    }))
})

it("joining functions are made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"f32">, many: ReadonlyArray<DeviceArray.DeviceArray<"f32">>) =>
  [
    DeviceArray.concatenate(many),
    DeviceArray.concatenate([x, x], { axis: 1 }),
    DeviceArray.concatenate({ axis: 1 })([x, x]),
    DeviceArray.stack()(many),
    DeviceArray.stack(many),
    x.pipe(DeviceArray.tile([2, 1])),
    x.pipe(DeviceArray.repeat(2, { axis: 0 })),
    x.pipe(DeviceArray.repeat([1, 2], { axis: 0 })),
    x.pipe(DeviceArray.pad([1, 2], { value: 1 })),
    Effect.map(x.pipe(DeviceArray.split(2, { axis: 0 })), (parts) => parts[0]!)
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError, DeviceArray.ArrayServices>>
