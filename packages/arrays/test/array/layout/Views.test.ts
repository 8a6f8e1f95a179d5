/** Views on every backend against plain lists of elements, and that they take nothing from the pool. */
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import {
  type Gpu,
  type GpuLayer,
  onEveryBackend,
  property,
  refusal,
  refuses,
  strictHost,
  taken
} from "../ArrayBackends.ts"
import * as Model from "../ArrayModel.ts"

type Array_ = DeviceArray.DeviceArray<"f32">

interface Step {
  readonly device: (array: Array_) => Effect.Effect<Array_, GpuError, DeviceArray.ArrayServices>
  readonly model: (model: Model.Model) => Model.Model
  /** Whether the elements may be copied. */
  readonly copies?: boolean
}

const bound = fc.option(fc.integer({ min: -6, max: 6 }), { nil: undefined })

/** Numbers from which a step is derived for any shape. */
const choices = fc.record({
  kind: fc.constantFrom("transpose", "reverse", "slice", "reshape", "flip", "expand", "squeeze", "broadcast"),
  keys: fc.array(fc.nat(1000), { minLength: 8, maxLength: 8 }),
  ranges: fc.array(
    fc.record({ start: bound, stop: bound, step: fc.constantFrom(undefined, 1, 1, -1, 2, -2, 3) }),
    { minLength: 8, maxLength: 8 }
  )
})

type Choices = typeof choices extends fc.Arbitrary<infer A> ? A : never

const permutation = (rank: number, keys: ReadonlyArray<number>): ReadonlyArray<number> =>
  Array.from({ length: rank }, (_, axis) => axis).sort((a, b) => keys[a]! - keys[b]! || a - b)

const slice = (shape: ReadonlyArray<number>, { keys, ranges }: Choices): Step => {
  const parts = shape.slice(0, keys[7]! % (shape.length + 1)).map((length, axis) =>
    keys[axis]! % 3 === 0 && length > 0 ? (keys[axis]! % (2 * length)) - length : ranges[axis]!
  )
  return {
    device: DeviceArray.slice(parts),
    model: (model) =>
      Model.select(
        model,
        model.shape.map((length, axis) => {
          const part: number | DeviceArray.Range = axis < parts.length ? parts[axis]! : {}
          return typeof part === "number"
            ? { keeps: false, at: [(part + length) % length] }
            : { keeps: true, at: Model.sliced(length, part.start, part.stop, part.step) }
        })
      )
  }
}

/** The same number of elements in another shape, sometimes with one length left open. */
const reshape = (shape: ReadonlyArray<number>, { keys }: Choices): Step => {
  const elements = shape.reduce((a, b) => a * b, 1)
  const target: Array<number> = []
  let rest = elements
  for (const key of keys.slice(0, 3)) {
    const length = 1 + key % 4
    if (rest % length !== 0) continue
    target.push(length)
    rest /= length
  }
  target.splice(keys[3]! % (target.length + 1), 0, rest)
  const open = target.map((length, axis) => axis === keys[4]! % target.length && elements > 0 ? -1 : length)
  return {
    device: DeviceArray.reshape(open),
    model: ({ data }) => ({ shape: target, data }),
    copies: true
  }
}

const broadcast = (shape: ReadonlyArray<number>, { keys }: Choices): Step => {
  const repeated = shape.map((length, axis) => length === 1 ? keys[axis]! % 3 : length)
  const target = shape.length < 4 && keys[7]! % 2 === 0 ? [keys[6]! % 3, ...repeated] : repeated
  return { device: DeviceArray.broadcastTo(target), model: (model) => Model.broadcast(model, target) }
}

const flip = (shape: ReadonlyArray<number>, { keys }: Choices): Step => {
  const axes = shape.flatMap((_, axis) => keys[axis]! % 2 === 0 ? [axis] : [])
  return {
    device: DeviceArray.flip(axes.map((axis) => axis - shape.length)),
    model: (model) =>
      Model.select(
        model,
        model.shape.map((length, axis) => ({
          keeps: true,
          at: Model.sliced(length, undefined, undefined, axes.includes(axis) ? -1 : 1)
        }))
      )
  }
}

const sameData =
  (shape: (of: ReadonlyArray<number>) => ReadonlyArray<number>) => ({ data, ...model }: Model.Model) => ({
    shape: shape(model.shape),
    data
  })

const stepFor = (shape: ReadonlyArray<number>, given: Choices): Step => {
  const { keys, kind } = given
  switch (kind) {
    case "transpose": {
      const axes = permutation(shape.length, keys)
      return { device: DeviceArray.transpose(axes), model: (model) => Model.transpose(model, axes) }
    }
    case "reverse":
      return {
        device: (array) => DeviceArray.transpose(array),
        model: (model) => Model.transpose(model, model.shape.map((_, axis) => model.shape.length - 1 - axis))
      }
    case "slice":
      return slice(shape, given)
    case "reshape":
      return reshape(shape, given)
    case "flip":
      return flip(shape, given)
    case "expand": {
      if (shape.length > 4) return stepFor(shape, { ...given, kind: "squeeze" })
      const at = keys[0]! % (shape.length + 1)
      return {
        device: DeviceArray.expandDims(keys[1]! % 2 === 0 ? at : at - shape.length - 1),
        model: sameData((of) => [...of.slice(0, at), 1, ...of.slice(at)])
      }
    }
    case "squeeze":
      return { device: DeviceArray.squeeze(), model: sameData((of) => of.filter((length) => length !== 1)) }
    case "broadcast":
      return broadcast(shape, given)
  }
}

const shapes = fc.array(fc.constantFrom(0, 1, 1, 2, 3, 4), { maxLength: 4 })
const programs = fc.record({ shape: shapes, steps: fc.array(choices, { minLength: 1, maxLength: 5 }) })

/** Runs a program of views on a device and on a list, and compares them after every step. */
const agrees = ({ shape, steps }: { readonly shape: ReadonlyArray<number>; readonly steps: ReadonlyArray<Choices> }) =>
  Effect.gen(function*() {
    let model = Model.counting(shape)
    let array = yield* DeviceArray.fromHost(Float32Array.from(model.data), { shape })
    for (const given of steps) {
      const step = stepFor(model.shape, given)
      const before = yield* taken
      const next = yield* step.device(array)
      model = step.model(model)
      deepStrictEqual([...next.shape], [...model.shape])
      strictEqual(next.size, model.data.length)
      strictEqual(next.lease === array.lease, (yield* taken) === before)
      if (step.copies !== true) strictEqual(next.lease, array.lease)
      array = next
    }
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(array)), [...model.data])
    // a kernel reads it too, with the elements behind it
    const doubled = yield* DeviceArray.add(array, array)
    deepStrictEqual(Array.from(yield* DeviceArray.toHost(doubled)), model.data.map((element) => 2 * element))
  })

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect(
      "views of views have the elements that lists have",
      () => property(programs, agrees, { numRuns: runs(150) }),
      120_000
    )

    it.effect("one lease is read through several views by one kernel", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const sum = yield* DeviceArray.add(x, yield* DeviceArray.transpose(x))
        deepStrictEqual(yield* DeviceArray.toNested(sum), [[2, 5], [5, 8]])
      }))

    it.effect("views of 8 axes", () =>
      Effect.gen(function*() {
        const shape = [2, 1, 3, 2, 1, 2, 2, 2]
        const axes = [7, 2, 0, 5, 1, 6, 3, 4]
        const model = Model.transpose(Model.counting(shape), axes)
        const x = yield* DeviceArray.reshape(yield* DeviceArray.arange(1, 97), shape)
        const turned = yield* DeviceArray.transpose(x, axes)
        deepStrictEqual(Array.from(yield* DeviceArray.toHost(turned)), [...model.data])
        const rows = yield* DeviceArray.reshape(turned, [-1])
        deepStrictEqual(Array.from(yield* DeviceArray.toHost(rows)), [...model.data])
      }))

    it.effect("views of a recorded array compute it once", () =>
      Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost([1, 2, 3, 4])
        const before = yield* taken
        const parts = yield* DeviceArray.lazy(Effect.gen(function*() {
          const doubled = yield* DeviceArray.multiply(x, 2)
          const head = yield* DeviceArray.slice(doubled, [{ stop: 2 }])
          const tail = yield* DeviceArray.slice(doubled, [{ start: 2 }])
          strictEqual(head.lease, tail.lease)
          return [head, tail] as const
        }))
        strictEqual((yield* taken) - before, 1)
        deepStrictEqual(yield* DeviceArray.toNested(parts[0]), [2, 4])
        deepStrictEqual(yield* DeviceArray.toNested(parts[1]), [6, 8])
      }))
  })
}

describe("Views", () => {
  onEveryBackend(laws)
})

const released = Effect.gen(function*() {
  const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
  const turned = yield* DeviceArray.transpose(x)
  yield* Lease.release(x.lease!)
  return [x, turned] as const
})

const no = (
  effect: Effect.Effect<unknown, GpuError, Gpu | DeviceArray.ArrayServices>,
  ...mentions: ReadonlyArray<string>
) => refuses("InvalidRequest", effect, ...mentions)

/** A value of another type than its parameter has. */
const wrong = (value: unknown): never => value as never

const says = (effect: DeviceArray.Computed, message: string) =>
  Effect.map(refusal(effect), (reason) => strictEqual(reason.message, message))

layer(strictHost)("views on the host", (it) => {
  it.effect("share the lease, and move with it", () =>
    Effect.gen(function*() {
      const view = yield* DeviceArray.scoped(
        Effect.flatMap(DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]]), DeviceArray.slice([1]))
      )
      strictEqual(LeaseHolder.leases([view, view]).size, 1)
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
      deepStrictEqual(yield* DeviceArray.toNested(view), [4, 5, 6])
      yield* DeviceArray.scoped(Effect.flatMap(DeviceArray.transpose(view), DeviceArray.toHost))
      strictEqual((yield* BufferPool.stats).activeBlocks, 1)
    }))

  it.effect("end with the lease", () =>
    Effect.gen(function*() {
      const [x, turned] = yield* released
      const reads: ReadonlyArray<Effect.Effect<unknown, GpuError, Gpu | DeviceArray.ArrayServices>> = [
        DeviceArray.toHost(x),
        DeviceArray.toHost(turned),
        DeviceArray.toHost(yield* DeviceArray.slice(x, [{ stop: 0 }])),
        DeviceArray.reshape(turned, [6])
      ]
      for (const read of reads) strictEqual((yield* Effect.flip(read)).reason._tag, "Released")
      strictEqual((yield* BufferPool.stats).activeBlocks, 0)
    }))

  it.effect("name the shapes and axes of mistakes, and take nothing", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      yield* no(DeviceArray.reshape(x, [4, 2]), "reshape", "[2, 3]", "[4, 2]", "6")
      yield* no(DeviceArray.reshape(x, [4, -1]), "[2, 3]", "[4, -1]")
      yield* no(DeviceArray.reshape(x, [-1, -1]), "[-1, -1]")
      yield* no(DeviceArray.reshape(x, [-6]), "[-6]")
      yield* no(DeviceArray.transpose(x, [0]), "[2, 3]")
      yield* no(DeviceArray.transpose(x, [0, 0]), "axis 0")
      yield* no(DeviceArray.transpose(x, [0, 2]), "axis 2", "[2, 3]")
      yield* no(DeviceArray.slice(x, [2]), "2", "axis 0", "[2, 3]")
      yield* no(DeviceArray.slice(x, [0, -4]), "-4", "axis 1", "[2, 3]")
      yield* no(DeviceArray.slice(x, [0, 0, 0]), "3 ranges", "[2, 3]")
      yield* no(DeviceArray.slice(x, [{ step: 0 }]), "step is 0")
      yield* no(DeviceArray.slice(x, [{ start: 0.5 }]), "start is 0.5")
      yield* no(DeviceArray.slice(x, [1.5]), "1.5")
      yield* no(DeviceArray.expandDims(x, 3), "axis 3")
      yield* no(DeviceArray.expandDims(x, [0, 0]), "axis 0")
      yield* no(DeviceArray.expandDims(x, Array.from({ length: 31 }, (_, axis) => axis)), "33 axes")
      yield* no(DeviceArray.squeeze(x, 1), "axis 1", "[2, 3]")
      yield* no(DeviceArray.squeeze(x, 5), "axis 5")
      yield* no(DeviceArray.broadcastTo(x, [2, 4]), "[2, 3]", "[2, 4]")
      yield* no(DeviceArray.broadcastTo(x, [3]), "[2, 3]", "[3]")
      yield* no(DeviceArray.broadcastTo(x, [2 ** 51, 2, 3]), "2^53")
      yield* no(DeviceArray.flip(x, 2), "axis 2")
    }))

  it.effect("name values that are no ranges, no axes and no shapes, and say what is", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const positions = "Pass a position or a range for each axis, as [0, { stop: 2 }]."
      yield* says(DeviceArray.slice(x, wrong("a")), `DeviceArray.slice: "a" was given for the ranges. ${positions}`)
      yield* says(
        DeviceArray.slice(x, wrong({ stop: 1 })),
        `DeviceArray.slice: an object was given for the ranges. ${positions}`
      )
      const position = "Pass a position, or a range as { start: 1, stop: 3 }."
      yield* says(DeviceArray.slice(x, [0, wrong("1:")]), `DeviceArray.slice: "1:" was given for axis 1. ${position}`)
      yield* says(DeviceArray.slice(x, [wrong([0, 1])]), `DeviceArray.slice: [0, 1] was given for axis 0. ${position}`)
      yield* says(
        DeviceArray.slice(x, [{ stop: wrong("2") }]),
        `DeviceArray.slice: stop is "2", no whole number. Pass an integer, or leave it out.`
      )
      yield* says(
        DeviceArray.sum(x, { axis: wrong(Math.max) }),
        "DeviceArray.sum: a function was given for an axis of the shape [2, 3]. Use -2 to 1."
      )
      yield* says(
        DeviceArray.argmax(x, { axis: wrong("0") }),
        `DeviceArray.argmax: "0" was given for an axis of the shape [2, 3]. Use -2 to 1.`
      )
      yield* says(
        DeviceArray.broadcastTo(x, wrong(3)),
        "DeviceArray.broadcastTo: 3 was given for a shape. Pass one length for each axis, as [2, 3]."
      )
    }))

  it.effect("of nothing, of one element and of a vast repetition", () =>
    Effect.gen(function*() {
      const one = yield* DeviceArray.fromHost(7)
      deepStrictEqual((yield* DeviceArray.reshape(one, [1, 1, 1])).shape, [1, 1, 1])
      strictEqual(yield* DeviceArray.toNested(yield* DeviceArray.transpose(one)), 7)
      const many = yield* DeviceArray.broadcastTo(one, [2 ** 24, 2 ** 24])
      strictEqual(many.size, 2 ** 48)
      strictEqual(yield* DeviceArray.toNumber(yield* DeviceArray.slice(many, [-1, 12345])), 7)
      strictEqual((yield* Effect.flip(DeviceArray.toHost(many))).reason._tag, "LimitExceeded")
      const none = yield* DeviceArray.fromHost([[], []])
      deepStrictEqual(none.shape, [2, 0])
      deepStrictEqual((yield* DeviceArray.reshape(none, [0, 5, 7])).shape, [0, 5, 7])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.transpose(none)), [])
      assert.isTrue((yield* DeviceArray.transpose(none)).isContiguous)
    }))
})

it("views are made data-first and data-last", () => {
  assert.isFunction(bothForms)
})

/** Tests the types of the calls. */
const bothForms = (x: DeviceArray.DeviceArray<"i32">) =>
  [
    DeviceArray.transpose(x),
    x.pipe(DeviceArray.transpose()),
    x.pipe(DeviceArray.flip([0])),
    Effect.flatMap(Effect.succeed(x), DeviceArray.squeeze()),
    Effect.flatMap(Effect.succeed(x), DeviceArray.slice([0, { step: 2 }]))
  ] satisfies ReadonlyArray<Effect.Effect<DeviceArray.DeviceArray<"i32">, GpuError, DeviceArray.ArrayServices>>
