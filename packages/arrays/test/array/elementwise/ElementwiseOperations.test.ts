/**
 * The results of elementwise operations on every backend. Drivers compile slowly, so many operations are computed in
 * one kernel: as the rows of one array, selected in a lazy chain.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, type GpuError } from "effect-gpu-pool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { promote } from "../../../src/array/layout/Promotion.ts"
import { type Gpu, type GpuLayer, onEveryBackend, refuses } from "../ArrayBackends.ts"
import { type TestedType, testedTypes } from "../TestedTypes.ts"
import * as Reference from "./OperationsReference.ts"

type Type = TestedType
type Numbers = Reference.Numbers

const upload = <D extends Type>(
  dtype: D,
  numbers: ReadonlyArray<number>,
  shape: ReadonlyArray<number> = [numbers.length]
) => DeviceArray.fromHost(numbers, { dtype, shape })

const download = (array: Numbers) =>
  Effect.map(DeviceArray.toHost(array), (numbers): ReadonlyArray<number> => Array.from(numbers as ArrayLike<number>))

interface Trial {
  readonly name: string
  readonly array: Effect.Effect<Numbers, GpuError.GpuError, Gpu | Scope.Scope>
}

interface Row {
  readonly name: string
  readonly array: Numbers
}

interface Found {
  readonly dtype: Type
  readonly numbers: ReadonlyArray<number>
}

const rowsOfKernel = 24

/** Arrays of one type, few enough for one kernel. */
const groupsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const groups: Array<ReadonlyArray<Row>> = []
  for (const dtype of new Set(rows.map(({ array }) => array.dtype))) {
    const alike = rows.filter(({ array }) => array.dtype === dtype)
    for (let from = 0; from < alike.length; from += rowsOfKernel) groups.push(alike.slice(from, from + rowsOfKernel))
  }
  return groups
}

/** One array whose first axis counts the arrays of a group. */
const stacked = Effect.fnUntraced(function*(group: ReadonlyArray<Row>) {
  const { shape } = group[0]!.array
  const row = yield* upload("u32", [...group.keys()], [group.length, ...shape.map(() => 1)])
  let array = group[0]!.array
  for (const [index, member] of group.entries()) {
    array = yield* DeviceArray.where(yield* DeviceArray.equal(row, index), member.array, array)
  }
  return array
})

/** The results of arrays of one shape, by name. */
const together = Effect.fnUntraced(function*(trials: ReadonlyArray<Trial>) {
  const found = new Map<string, Found>()
  const groups = yield* DeviceArray.lazy(Effect.gen(function*() {
    const rows = yield* Effect.forEach(trials, ({ array, name }) => Effect.map(array, (array) => ({ name, array })))
    return yield* Effect.forEach(
      groupsOf(rows),
      (group) => Effect.map(stacked(group), (array) => ({ array, names: group.map(({ name }) => name) }))
    )
  }))
  for (const { array, names } of groups) {
    const numbers = yield* download(array)
    const length = numbers.length / names.length
    names.forEach((name, row) => {
      found.set(name, { dtype: array.dtype as Type, numbers: numbers.slice(row * length, (row + 1) * length) })
    })
  }
  return found
})

const supported = Effect.map(CommandQueue.CommandQueue, ({ info }) => testedTypes(info.dtypes))

const isAsExpected = (
  name: string,
  operands: ReadonlyArray<number>,
  actual: number,
  expected: Reference.Expected
): void =>
  assert(
    Reference.agrees(actual, expected),
    `${name} of ${operands.join(", ")} is ${actual}, not ${expected.value} (within ${expected.tolerance})`
  )

const typesMet: ReadonlyArray<readonly [Type, Type]> = [
  ["f32", "f32"],
  ["i32", "i32"],
  ["u32", "u32"],
  ["i32", "u32"],
  ["u32", "i32"],
  ["f32", "i32"],
  ["u32", "f32"],
  ["f16", "f16"],
  ["i32", "f16"],
  ["f64", "f64"],
  ["u32", "f64"]
]

/** Ten operations, each on the result of the one before. */
const tenOperations = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"f32">) =>
  DeviceArray.add(x, y).pipe(
    Effect.flatMap(DeviceArray.multiply(1.5)),
    Effect.flatMap(DeviceArray.subtract(x)),
    Effect.flatMap(DeviceArray.divide(3)),
    Effect.flatMap(DeviceArray.remainder(7)),
    Effect.flatMap(DeviceArray.sqrt),
    Effect.flatMap(DeviceArray.atan2(y)),
    Effect.flatMap(DeviceArray.clip(-1, 1)),
    Effect.flatMap(DeviceArray.exp),
    Effect.flatMap(DeviceArray.maximum(x))
  )

const rowAndColumn = Effect.all([upload("f32", [0.5, 2, 3.75]), upload("f32", [1, -2, 8, 0.1], [4, 1])])

/** The services, which record leases and dispatches. */
const watched = Effect.gen(function*() {
  const pool = yield* BufferPool.BufferPool
  const queue = yield* CommandQueue.CommandQueue
  const leased: Array<string | undefined> = []
  const dispatched: Array<string> = []
  const context = Context.make(BufferPool.BufferPool, {
    ...pool,
    allocate: (bytes, options) => {
      leased.push(options?.label)
      return pool.allocate(bytes, options)
    }
  }).pipe(Context.add(CommandQueue.CommandQueue, {
    ...queue,
    dispatch: (kernel, args, count) => {
      dispatched.push(kernel.name)
      return queue.dispatch(kernel, args, count)
    }
  }))
  return { context, leased, dispatched }
})

/** Runs the test on a device that has the types; any other must refuse. */
const onType = (types: ReadonlyArray<Type>, test: Effect.Effect<void, GpuError.GpuError, Gpu | Scope.Scope>) =>
  Effect.gen(function*() {
    const had = yield* supported
    const lacking = types.find((type) => !had.includes(type))
    if (lacking === undefined) return yield* test
    const x = yield* upload("f32", [1])
    for (const form of [DeviceArray.scoped, DeviceArray.lazy]) {
      yield* refuses("Unsupported", form(DeviceArray.astype(x, lacking)), "DeviceArray.astype", lacking)
    }
  })

/** Compilers of some drivers take a second for a kernel of many operations. */
const laws = (gpu: GpuLayer): void =>
  layer(gpu)((it) => {
    it.effect.each(Reference.types)("operations of one array give what the reference does: %s", (type) =>
      onType(
        [type],
        Effect.gen(function*() {
          const operands = Reference.samples[type]
          const x = yield* upload(type, operands)
          const trials = Object.entries(Reference.unary).flatMap(([name, operation]) => {
            const expected = Reference.expectedOfUnary(operation, type)
            return expected === undefined ? [] : [{ name, expected, array: operation.of(x) }]
          })
          const found = yield* together(trials)
          for (const { expected, name } of trials) {
            const { dtype, numbers } = found.get(name)!
            strictEqual(dtype, expected.dtype, `${name} of ${type}`)
            operands.forEach((operand, at) => {
              isAsExpected(`${type} ${name}`, [operand], numbers[at]!, expected.at(operand))
            })
          }
        })
      ))

    it.effect.each(typesMet)(
      "operations of two arrays broadcast, and give what the reference does: %s and %s",
      ([a, b]) =>
        onType(
          [a, b],
          Effect.gen(function*() {
            const [left, right] = [Reference.samples[a], Reference.samples[b]]
            const x = yield* upload(a, left, [left.length, 1])
            const y = yield* upload(b, right)
            const trials = Object.entries(Reference.binary).flatMap(([name, operation]) => {
              const expected = Reference.expectedOfBinary(operation, a, b, promote(a, b))
              return expected === undefined ? [] : [{ name, expected, array: operation.of(x, y) }]
            })
            const found = yield* together(trials)
            for (const { expected, name } of trials) {
              const { dtype, numbers } = found.get(name)!
              strictEqual(dtype, expected.dtype, `${name} of ${a} and ${b}`)
              strictEqual(numbers.length, left.length * right.length)
              numbers.forEach((actual, at) => {
                const operands = [left[Math.floor(at / right.length)]!, right[at % right.length]!] as const
                isAsExpected(`${a} ${name} ${b}`, operands, actual, expected.at(...operands))
              })
            }
          })
        )
    )

    it.effect.each(Reference.types)("every type is cast to every other: %s", (from) =>
      onType(
        [from],
        Effect.gen(function*() {
          const types = yield* supported
          const numbers = [...Reference.samples[from], ...from.startsWith("f") ? [1.9, -1.9, 65504] : []]
          const x = yield* upload(from, numbers)
          const found = yield* together(types.map((to) => ({ name: to, array: DeviceArray.astype(x, to) })))
          for (const to of types) {
            strictEqual(found.get(to)!.dtype, to)
            const expected = numbers.map((number) => Reference.cast(from, to, Reference.as(from, number)))
            // adding 0 makes the signs of zeros the same
            deepStrictEqual(
              found.get(to)!.numbers.map((n) => n + 0),
              expected.map((n) => n + 0),
              `${from} to ${to}`
            )
          }
        })
      ))

    it.effect("where and clip take arrays and numbers, which broadcast", () =>
      Effect.gen(function*() {
        const condition = yield* upload("f32", [0, -2, NaN], [3, 1])
        const x = yield* upload("i32", [10, 20])
        const y = yield* upload("f32", [1.5, 2.5])
        const low = yield* upload("i32", [1, 2, 3], [3, 1])
        const [both, number, numbers, between] = yield* DeviceArray.lazy(Effect.all([
          DeviceArray.where(condition, x, y),
          condition.pipe(DeviceArray.where(y, -1)),
          DeviceArray.where(condition, 7, 8),
          DeviceArray.clip(y, low, 2.25)
        ]))
        deepStrictEqual([both.dtype, number.dtype, numbers.dtype, between.dtype], ["f32", "f32", "f32", "f32"])
        deepStrictEqual(yield* download(both), [1.5, 2.5, 10, 20, 10, 20])
        deepStrictEqual(yield* download(number), [-1, -1, 1.5, 2.5, 1.5, 2.5])
        deepStrictEqual([numbers.shape, yield* download(numbers)], [[3, 1], [8, 7, 7]])
        deepStrictEqual(yield* download(between), [1.5, 2.25, 2, 2.25, 2.25, 2.25])
      }))

    it.effect("eager and lazy give the same numbers to the last bit", () =>
      Effect.gen(function*() {
        const [x, y] = yield* rowAndColumn
        const eager = yield* tenOperations(x, y)
        const lazy = yield* DeviceArray.lazy(tenOperations(x, y))
        deepStrictEqual(lazy.shape, [4, 3])
        deepStrictEqual(yield* DeviceArray.toHost(lazy), yield* DeviceArray.toHost(eager))
      }))

    it.effect("ten lazy operations are one lease and one kernel", () =>
      Effect.gen(function*() {
        const [x, y] = yield* rowAndColumn
        const { context, dispatched, leased } = yield* watched
        yield* Effect.provide(DeviceArray.lazy(tenOperations(x, y)), context)
        deepStrictEqual([dispatched.length, leased], [1, ["maximum"]])
      }))

    it.effect("long chains of integer powers wrap", () =>
      Effect.gen(function*() {
        const numbers = [3, -5, 2, 0]
        const x = yield* upload("i32", numbers)
        const chain = yield* DeviceArray.lazy(Effect.gen(function*() {
          let power = x
          for (let times = 0; times < 8; times++) power = yield* DeviceArray.power(power, 3)
          return power
        }))
        let expected = numbers
        for (let times = 0; times < 8; times++) expected = expected.map((n) => Math.imul(n, Math.imul(n, n)))
        deepStrictEqual(yield* download(chain), expected)
      }))

    it.effect("a copy has memory of its own, and no elements need no kernel", () =>
      Effect.gen(function*() {
        const x = yield* upload("f32", [1, 2, 3])
        const copy = yield* DeviceArray.copy(x)
        assert(copy.lease !== undefined && copy.lease !== x.lease)
        deepStrictEqual(yield* download(copy), [1, 2, 3])
        const empty = yield* upload("f32", [], [0, 1])
        const { context, dispatched } = yield* watched
        const sum = yield* Effect.provide(DeviceArray.add(empty, x), context)
        deepStrictEqual([sum.shape, yield* download(sum), dispatched], [[0, 3], [], []])
      }))
  })

onEveryBackend(laws)
