/** The results of array reductions on every backend, against plain loops over rows, and their use of the pool. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { runs } from "../../../../../test/support/explore.ts"
import { Random } from "../../../../testing/src/Random.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { chainOf, runnerOn } from "../../kernels/ReductionModel.ts"
import { costOf, type Gpu, type GpuLayer, refuses } from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"
import { type TestedType, testedTypes } from "../TestedTypes.ts"

type Type = TestedType
type Row = ReadonlyArray<number>
type Made = Effect.Effect<DeviceArray.DeviceArray, GpuError, Gpu | Scope.Scope>

interface Reduction {
  readonly device: (array: DeviceArray.DeviceArray, options?: DeviceArray.PositionOptions) => Made
  readonly type: (type: Type) => Type
  /** `undefined` where there is no value. */
  readonly plain: (row: Row, type: Type) => number | undefined
}

const same = (type: Type): Type => type

const index = (): Type => "u32"

/** Truth values as numbers, which rows have. */
const truths = (reduction: typeof DeviceArray.any): Reduction["device"] => (array, options) =>
  DeviceArray.scoped(Effect.flatMap(reduction(array, options), DeviceArray.astype("u32")))

const rounded = (type: Type, value: number): number => {
  if (type === "f64") return value
  const element = DType.viewUnsafe(type, new ArrayBuffer(8), 0, 1)
  element[0] = value
  return element[0]
}

const isInteger = (type: Type): boolean => type === "i32" || type === "u32"

/** Exact in 64 bits for the elements here; integers wrap. */
const product = (row: Row, type: Type): number =>
  isInteger(type)
    ? rounded(type, row.reduce((a, b) => Math.imul(a, b), 1))
    : rounded(type, row.reduce((a, b) => a * b, 1))

/** NaN comes before every number. */
const firstBy = (row: Row, isBefore: (a: number, b: number) => boolean): number | undefined => {
  if (row.length === 0) return undefined
  const nan = row.findIndex(Number.isNaN)
  return nan === -1 ? row.reduce((best, value, at) => isBefore(value, row[best]!) ? at : best, 0) : nan
}

const argmin = (row: Row) => firstBy(row, (a, b) => a < b)

const argmax = (row: Row) => firstBy(row, (a, b) => a > b)

const reductions: { readonly [name: string]: Reduction } = {
  sum: {
    device: DeviceArray.sum,
    type: same,
    plain: (row, type) => rounded(type, row.reduce((a, b) => a + b, 0))
  },
  prod: { device: DeviceArray.prod, type: same, plain: product },
  min: { device: DeviceArray.min, type: same, plain: (row) => row[argmin(row) ?? 0] },
  max: { device: DeviceArray.max, type: same, plain: (row) => row[argmax(row) ?? 0] },
  mean: {
    device: DeviceArray.mean,
    type: (type) => isInteger(type) ? "f32" : type,
    plain: (row, type) => rounded(isInteger(type) ? "f32" : type, row.reduce((a, b) => a + b, 0) / row.length)
  },
  argmin: { device: DeviceArray.argmin, type: index, plain: argmin },
  argmax: { device: DeviceArray.argmax, type: index, plain: argmax },
  any: { device: truths(DeviceArray.any), type: index, plain: (row) => row.some((value) => value !== 0) ? 1 : 0 },
  all: { device: truths(DeviceArray.all), type: index, plain: (row) => row.every((value) => value !== 0) ? 1 : 0 },
  countNonzero: {
    device: DeviceArray.countNonzero,
    type: index,
    plain: (row) => row.filter((value) => value !== 0).length
  }
}

/** The elements that are reduced to each element of the result. */
const rowsOf = (model: Model.Model, axis: number | undefined): ReadonlyArray<Row> => {
  if (axis === undefined) return [model.data]
  const others = model.shape.filter((_, index) => index !== axis)
  return Model.coordinatesOf(others).map((at) =>
    Array.from(
      { length: model.shape[axis]! },
      (_, position) => Model.elementAt(model, [...at.slice(0, axis), position, ...at.slice(axis)])
    )
  )
}

const shapeOf = ({ shape }: Model.Model, axis: number | undefined, keepDims: boolean): ReadonlyArray<number> =>
  axis === undefined
    ? keepDims ? shape.map(() => 1) : []
    : shape.flatMap((length, index) => index !== axis ? [length] : keepDims ? [1] : [])

/** Few different elements, so that there are ties; small ones, so that sums and products are exact. */
const elements: { readonly [T in Type]: ReadonlyArray<number> } = {
  f32: [-2, -1, -0.5, 0, 1, 2],
  f16: [-2, -1, -0.5, 0, 1, 2],
  f64: [-2, -1, -0.5, 0, 1, 2],
  i32: [-3, -1, 0, 1, 2, 5],
  u32: [0, 1, 2, 3, 7]
}

const random = (type: Type, shape: ReadonlyArray<number>, of: Random): Model.Model =>
  Model.build(shape, () => of.pick(elements[type]))

const upload = (type: Type, { data, shape }: Model.Model): Made =>
  DeviceArray.fromHost([...data], { dtype: type, shape })

interface Known {
  readonly array: DeviceArray.DeviceArray
  readonly model: Model.Model
}

const shuffled = (rank: number, of: Random): ReadonlyArray<number> => {
  const axes = Array.from({ length: rank }, (_, axis) => axis)
  return Array.from({ length: rank }, () => axes.splice(of.integer(0, axes.length - 1), 1)[0]!)
}

/** Arrays of a shape whose elements are laid out in many ways. */
const layouts: ReadonlyArray<
  (type: Type, shape: ReadonlyArray<number>, of: Random) => Effect.Effect<Known, GpuError, Gpu | Scope.Scope>
> = [
  (type, shape, of) => {
    const model = random(type, shape, of)
    return Effect.map(upload(type, model), (array) => ({ array, model }))
  },
  // axes in another order
  Effect.fnUntraced(function*(type, shape, of) {
    const axes = shuffled(shape.length, of)
    const model = random(type, shape.map((_, axis) => shape[axes.indexOf(axis)]!), of)
    const array = yield* DeviceArray.transpose(yield* upload(type, model), axes)
    return { array, model: Model.transpose(model, axes) }
  }),
  // every second element, some axes backwards
  Effect.fnUntraced(function*(type, shape, of) {
    const model = random(type, shape.map((length) => 2 * length + 1), of)
    const backwards = shape.map(() => of.integer(0, 1) === 1)
    const ranges = shape.map((length, axis) =>
      backwards[axis] ? { start: 2 * length, stop: 0, step: -2 } : { start: 1, step: 2 }
    )
    const array = yield* DeviceArray.slice(yield* upload(type, model), ranges)
    const at = shape.map((length, axis) =>
      Array.from({ length }, (_, position) => backwards[axis] ? 2 * (length - position) : 1 + 2 * position)
    )
    return { array, model: Model.select(model, at.map((positions) => ({ keeps: true, at: positions }))) }
  }),
  // the same elements over and over
  Effect.fnUntraced(function*(type, shape, of) {
    const model = random(type, shape.map((length) => of.integer(0, 1) === 1 ? length : 1), of)
    const array = yield* DeviceArray.broadcastTo(yield* upload(type, model), shape)
    return { array, model: Model.broadcast(model, shape) }
  })
]

/** Divisions may be off by a few units in the last place, which are taken after the rounding. */
const close = (type: Type, found: number, expected: number): boolean =>
  Object.is(found, expected) || found === expected ||
  Math.abs(found - expected) <=
    4 * Math.abs(expected) * (type === "f16" ? 2 ** -11 : type === "f64" ? 2 ** -53 : 2 ** -24)

const check = Effect.fnUntraced(function*(
  title: string,
  name: string,
  { array, model }: Known,
  options: DeviceArray.PositionOptions,
  reduced: Made
) {
  const { plain, type } = reductions[name]!
  const axis = options.axis === undefined || options.axis >= 0 ? options.axis : options.axis + model.shape.length
  const expected = rowsOf(model, axis).map((row) => plain(row, array.dtype as Type))
  const what = `${title}: ${name} of ${array}, axis ${options.axis}`
  const result = yield* reduced
  strictEqual(result.dtype, type(array.dtype as Type), what)
  deepStrictEqual(result.shape, shapeOf(model, axis, options.keepDims === true), what)
  const found = Array.from((yield* DeviceArray.toHost(result)) as ArrayLike<number>)
  strictEqual(found.length, expected.length, what)
  for (const [index, value] of expected.entries()) {
    if (value !== undefined && close(result.dtype as Type, found[index]!, value)) continue
    assert.fail(`${what}: element ${index} is ${found[index]}, not ${value}`)
  }
})

/** Each axis, counted from either end, and none. */
const axesOf = (rank: number): ReadonlyArray<number | undefined> => [
  undefined,
  ...Array.from({ length: 2 * rank }, (_, axis) => axis - rank)
]

/** Only some, because each needs its own kernels, which drivers compile slowly. */
const some = (count: number, of: Random): ReadonlyArray<string> => {
  const names = Object.keys(reductions)
  return shuffled(names.length, of).slice(0, count).map((index) => names[index]!)
}

const anyShape = (of: Random): ReadonlyArray<number> =>
  Array.from({ length: of.integer(0, 5) }, () => of.pick([1, 1, 2, 3, 3, 4]))

const repeated = (length: number, value: number) => Array.from({ length }, () => value)

const f32 = (numbers: ReadonlyArray<number>) => DeviceArray.fromHost(Float32Array.from(numbers))

const single = (reduced: Made) => Effect.map(Effect.flatMap(reduced, DeviceArray.toNumber), Number)

/** Slow drivers do less: more than one kernel of each kind is compiled. */
export const arrayReductionLaws = (
  gpu: GpuLayer,
  { longest, trials }: { readonly trials: number; readonly longest: number }
): void =>
  layer(gpu, { excludeTestServices: true })("reductions of arrays", (it) => {
    it.effect(
      "go over all elements or along an axis, of any type, shape and layout",
      () =>
        Effect.gen(function*() {
          const { info } = yield* CommandQueue
          const types = testedTypes(info.dtypes)
          for (let seed = 1; seed <= runs(trials, 6); seed++) {
            const of = new Random(seed)
            const known = yield* of.pick(layouts)(of.pick(types), anyShape(of), of)
            const options = { axis: of.pick(axesOf(known.model.shape.length)), keepDims: of.integer(0, 1) === 1 }
            for (const name of some(4, of)) {
              const { device } = reductions[name]!
              yield* Effect.scoped(check(`seed ${seed}`, name, known, options, device(known.array, options)))
            }
          }
        }).pipe(Effect.scoped)
    )

    it.effect(
      "of recorded arrays are the same, without an array in between",
      () =>
        Effect.gen(function*() {
          for (let seed = 1; seed <= runs(Math.ceil(trials / 4), 2); seed++) {
            const of = new Random(seed)
            const known = yield* of.pick(layouts)(of.pick(["f32", "i32", "u32"]), anyShape(of), of)
            const options = { axis: of.pick(axesOf(known.model.shape.length)) }
            for (const name of some(3, of)) {
              const { device } = reductions[name]!
              const recorded = DeviceArray.lazy(Effect.gen(function*() {
                const twice = yield* DeviceArray.add(known.array, known.array)
                return yield* device(yield* DeviceArray.subtract(twice, known.array), options)
              }))
              yield* Effect.scoped(Effect.gen(function*() {
                const direct = yield* costOf(device(known.array, options))
                const { kernels, leases, value } = yield* costOf(recorded)
                deepStrictEqual([kernels, leases], [direct.kernels, direct.leases], name)
                yield* check(`seed ${seed}`, name, known, options, Effect.succeed(value))
              }))
            }
          }
        }).pipe(Effect.scoped)
    )

    it.effect("find NaN, the first of equals, and infinities", () =>
      Effect.gen(function*() {
        const [min, max] = [DeviceArray.min, DeviceArray.max]
        const cases: ReadonlyArray<readonly [Row, readonly [number, number, number, number]]> = [
          [[1, NaN, -Infinity, NaN, Infinity], [NaN, NaN, 1, 1]],
          [[NaN], [NaN, NaN, 0, 0]],
          [[Infinity, Infinity], [Infinity, Infinity, 0, 0]],
          [[-Infinity, -Infinity], [-Infinity, -Infinity, 0, 0]],
          [[2, -Infinity, 2, Infinity], [-Infinity, Infinity, 1, 3]],
          [[5, 5, 5], [5, 5, 0, 0]],
          [[3, 1, 1, 3], [1, 3, 1, 0]]
        ]
        for (const [numbers, expected] of cases) {
          // a second kernel combines the results of several items
          for (const padding of [0, Math.min(longest, 3000)]) {
            const x = yield* f32([...numbers, ...repeated(padding, numbers.at(-1)!)])
            const found = yield* Effect.forEach(
              [min(x), max(x), DeviceArray.argmin(x), DeviceArray.argmax(x)],
              single
            )
            deepStrictEqual(found, [...expected], `${numbers.join()} and ${padding} more`)
          }
        }
      }).pipe(Effect.scoped))

    it.effect("take both zeros for the same", () =>
      Effect.gen(function*() {
        const zeros = yield* f32([0, -0, 0])
        strictEqual(yield* single(DeviceArray.argmin(zeros)), 0)
        strictEqual(yield* single(DeviceArray.argmax(yield* f32([-0, 0]))), 0)
        strictEqual(Math.abs(yield* single(DeviceArray.min(zeros))), 0)
        strictEqual(Math.abs(yield* single(DeviceArray.sum(yield* f32([-0, -0])))), 0)
        strictEqual(yield* single(DeviceArray.any(zeros)), 0)
      }).pipe(Effect.scoped))

    it.effect("let NaN and infinities through sums and means", () =>
      Effect.gen(function*() {
        strictEqual(yield* single(DeviceArray.sum(yield* f32([1, NaN]))), NaN)
        strictEqual(yield* single(DeviceArray.sum(yield* f32([Infinity, -Infinity]))), NaN)
        strictEqual(yield* single(DeviceArray.sum(yield* f32([Infinity, 1]))), Infinity)
        strictEqual(yield* single(DeviceArray.mean(yield* f32([-Infinity, 1]))), -Infinity)
        strictEqual(yield* single(DeviceArray.prod(yield* f32([0, Infinity]))), NaN)
        const nan = yield* f32([NaN])
        deepStrictEqual([yield* single(DeviceArray.any(nan)), yield* single(DeviceArray.all(nan))], [1, 1])
      }).pipe(Effect.scoped))

    it.effect("keep integers apart at the ends of their ranges", () =>
      Effect.gen(function*() {
        const i32 = yield* DeviceArray.fromHost(Int32Array.of(0x7fffffff, 1, -0x80000000))
        const u32 = yield* DeviceArray.fromHost(Uint32Array.of(0x80000000, 0xffffffff, 0xfffffffe, 1))
        const found = yield* Effect.forEach([
          DeviceArray.sum(i32),
          DeviceArray.min(i32),
          DeviceArray.max(i32),
          DeviceArray.argmin(i32),
          DeviceArray.argmax(i32),
          DeviceArray.sum(u32),
          DeviceArray.min(u32),
          DeviceArray.max(u32),
          DeviceArray.argmin(u32),
          DeviceArray.argmax(u32),
          DeviceArray.mean(u32)
        ] as ReadonlyArray<Made>, single)
        deepStrictEqual(found.slice(0, 10), [0, -0x80000000, 0x7fffffff, 2, 0, 0x7ffffffe, 1, 0xffffffff, 3, 1])
        assert.approximately(found[10]!, 0xa0000000, 0x200)
      }).pipe(Effect.scoped))

    it.effect("combine elements of every type", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue
        for (const [index, dtype] of [...info.dtypes].entries()) {
          // one row, or rows that share a group
          const [rows, length] = index % 2 === 0 ? [1, 401] : [70, 65]
          const at = rows * length - 70
          const ends = [[at, rows * length - at - 1]] as const
          const one = yield* DeviceArray.pad(yield* DeviceArray.ones([1], { dtype }), ends)
          const x = yield* DeviceArray.reshape(one, [rows, length])
          strictEqual(yield* single(DeviceArray.any(x)), 1, dtype)
          const sums = yield* DeviceArray.astype(yield* DeviceArray.sum(x, { axis: 1 }), "bool")
          const expected = Array.from({ length: rows }, (_, row) => row === Math.floor(at / length) ? 1 : 0)
          deepStrictEqual(Array.from((yield* DeviceArray.toHost(sums)) as ArrayLike<number>), expected, dtype)
          if (dtype !== "c64") strictEqual(yield* single(DeviceArray.argmax(x)), at, dtype)
        }
      }).pipe(Effect.scoped))

    it.effect("sum halves in a wider type, and round once", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue
        if (!info.dtypes.has("f16")) {
          yield* refuses("Unsupported", DeviceArray.fromHost([1], { dtype: "f16" }), "f16")
          return
        }
        const ones = yield* DeviceArray.full([3001], 1, { dtype: "f16" })
        strictEqual(yield* single(DeviceArray.sum(ones)), 3000)
        strictEqual(yield* single(DeviceArray.mean(yield* DeviceArray.full([3001], 512, { dtype: "f16" }))), 512)
        const thirds = yield* DeviceArray.fromHost([256, 512, 0.5], { dtype: "f16" })
        strictEqual(yield* single(DeviceArray.prod(thirds)), Infinity)
      }).pipe(Effect.scoped))

    it.effect("of nothing are what leaves sums and products as they are, and nothing to choose from", () =>
      Effect.gen(function*() {
        const chosen = ["min", "max", "argmin", "argmax"]
        const neutral: { readonly [name: string]: number } = {
          sum: 0,
          prod: 1,
          mean: NaN,
          any: 0,
          all: 1,
          countNonzero: 0
        }
        const { info } = yield* CommandQueue
        for (const dtype of testedTypes(info.dtypes)) {
          const none = yield* DeviceArray.zeros([2, 0, 3], { dtype })
          for (const [name, { device, type }] of Object.entries(reductions)) {
            const rowless = yield* device(none, { axis: 0 })
            deepStrictEqual([rowless.shape, rowless.size, rowless.dtype], [[0, 3], 0, type(dtype)])
            if (chosen.includes(name)) {
              yield* refuses("InvalidRequest", device(none), "[2, 0, 3]", `DeviceArray.${name}`)
              yield* refuses("InvalidRequest", device(none, { axis: 1 }), "[2, 0, 3]", `DeviceArray.${name}`)
            } else {
              deepStrictEqual(yield* single(device(none)), neutral[name], name)
              const rows = yield* device(none, { axis: 1, keepDims: true })
              deepStrictEqual(rows.shape, [2, 1, 3])
              deepStrictEqual(
                Array.from((yield* DeviceArray.toHost(rows)) as ArrayLike<number>),
                repeated(6, neutral[name]!)
              )
            }
          }
        }
      }).pipe(Effect.scoped))

    it.effect("go through long rows and many rows, along memory and across", () =>
      Effect.gen(function*() {
        for (const [rows, length] of [[3, 70_000], [70_000, 3], [1000, 1000], [1, 300], [257, 1]] as const) {
          const shape = [rows, Math.max(1, Math.ceil(length * Math.min(1, longest / (rows * length))))] as const
          const of = new Random(rows)
          const data = Int32Array.from({ length: shape[0] * shape[1] }, () => of.integer(-0x80000000, 0x7fffffff))
          const x = yield* DeviceArray.fromHost(data, { shape })
          const turned = yield* DeviceArray.transpose(x)
          for (const axis of [0, 1]) {
            const sums = new Int32Array(shape[1 - axis]!)
            const most = repeated(sums.length, -1)
            data.forEach((value, index) => {
              const at = [Math.floor(index / shape[1]), index % shape[1]] as const
              const row = at[1 - axis]!
              sums[row]! += value
              if (most[row] === -1 || value > data[place(shape, axis, row, most[row]!)]!) {
                most[row] = at[axis]!
              }
            })
            for (const [array, along] of [[x, axis], [turned, 1 - axis]] as const) {
              const what = `${array} along ${along}`
              deepStrictEqual(yield* DeviceArray.toHost(yield* DeviceArray.sum(array, { axis: along })), sums, what)
              const found = yield* DeviceArray.toHost(yield* DeviceArray.argmax(array, { axis: along }))
              deepStrictEqual(Array.from(found), most, what)
            }
          }
          const total = data.reduce((a, b) => (a + b) | 0, 0)
          deepStrictEqual([yield* single(DeviceArray.sum(x)), yield* single(DeviceArray.sum(turned))], [total, total])
        }
      }).pipe(Effect.scoped))

    it.effect("give the same bits for a view, a copy of it and a recorded array, whatever lies along memory", () =>
      Effect.gen(function*() {
        const of = new Random(7)
        const [long, short] = [Math.min(3000, Math.floor(longest / 40)), 40]
        const numbers = (size: number) => Float32Array.from({ length: size }, () => of.integer(0, 1e6) / 7)
        const table = yield* DeviceArray.fromHost(numbers(long * short), { shape: [long, short] })
        const turned = yield* DeviceArray.transpose(table)
        const column = yield* DeviceArray.fromHost(numbers(long), { shape: [long, 1] })
        const row = yield* DeviceArray.fromHost(numbers(short))
        const expressions = [
          DeviceArray.add(turned, 0.1),
          DeviceArray.add(table, 0.1),
          DeviceArray.add(column, row),
          DeviceArray.add(turned, yield* DeviceArray.transpose(column))
        ]
        for (const [index, expression] of expressions.entries()) {
          for (const axis of [0, 1, undefined]) {
            const sum = Effect.flatMap(expression, DeviceArray.sum({ axis }))
            const recorded = yield* DeviceArray.toHost(yield* DeviceArray.lazy(sum))
            deepStrictEqual(
              recorded,
              yield* DeviceArray.toHost(yield* DeviceArray.scoped(sum)),
              `${index}, axis ${axis}`
            )
          }
        }
        for (const axis of [0, 1, undefined]) {
          const copied = yield* DeviceArray.sum(yield* DeviceArray.copy(turned), { axis })
          const viewed = yield* DeviceArray.sum(turned, { axis })
          deepStrictEqual(yield* DeviceArray.toHost(viewed), yield* DeviceArray.toHost(copied), `axis ${axis}`)
        }
      }).pipe(Effect.scoped))

    it.effect("add floats with an error that grows with the parts of a row, not with the row", () =>
      Effect.gen(function*() {
        const of = new Random(1)
        const length = Math.min(1_000_003, longest)
        const data = Float32Array.from({ length }, () => of.integer(0, 1e9) / 1e9)
        const x = yield* DeviceArray.fromHost(data)
        const exact = data.reduce((a, b) => a + b, 0)
        const bound = exact * chainOf(1, length, runnerOn((yield* CommandQueue).info)) * 2 ** -24
        assert.isAtMost(Math.abs((yield* single(DeviceArray.sum(x))) - exact), bound)
        assert.isAtMost(Math.abs((yield* single(DeviceArray.mean(x))) * length - exact), bound + exact * 2 ** -21)
        strictEqual(yield* single(DeviceArray.sum(x)), yield* single(DeviceArray.sum(x)))
      }).pipe(Effect.scoped))

    it.effect("leave their result and nothing else, and nothing where they fail", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue
        for (const dtype of ["f32", "f16", "i32"] as const) {
          if (!info.dtypes.has(dtype)) {
            continue
          }
          const x = yield* DeviceArray.ones([40, 30], { dtype })
          const gone = yield* DeviceArray.ones([40, 30], { dtype })
          yield* Lease.release(gone.lease!)
          for (const [name, { device }] of Object.entries(reductions)) {
            for (const options of [{}, { axis: 0 }]) {
              yield* Effect.scoped(Effect.gen(function*() {
                const before = (yield* BufferPool.stats).activeBlocks
                const result = yield* device(x, options)
                strictEqual((yield* BufferPool.stats).activeBlocks, before + 1, `${name} of ${dtype}`)
                strictEqual(result.lease!.size, result.size * DType.byteSize(result.dtype))
                const { reason } = yield* Effect.flip(device(gone, options))
                strictEqual(reason._tag, "Released", `${name} of ${dtype}`)
                strictEqual((yield* BufferPool.stats).activeBlocks, before + 1, `${name} of ${dtype}`)
              }))
            }
          }
        }
      }).pipe(Effect.scoped))
  })

const place = (shape: readonly [number, number], axis: number, row: number, position: number): number =>
  axis === 0 ? position * shape[1] + row : row * shape[1] + position
