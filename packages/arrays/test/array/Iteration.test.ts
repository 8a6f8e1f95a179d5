/** Loops over arrays: their results are those of loops by hand, and they have the memory of two states at most. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { hasStats } from "../../../../test/support/hostPool.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import { type Gpu, property, refuses, strictHost } from "./ArrayBackends.ts"

type Floats = DeviceArray.DeviceArray<"f32">

const test = (name: string, effect: Effect.Effect<void, unknown, Gpu | Scope.Scope>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(strictHost)))

const active = Effect.map(BufferPool.stats, ({ activeBlocks }) => activeBlocks)

interface State {
  readonly a: Floats
  readonly b: Floats
  readonly count: number
}

type Step = (state: State, constant: Floats) => Effect.Effect<State, GpuError, DeviceArray.ArrayServices>

/** What a step may do with a state. None writes to `constant`, which is the caller's. */
const steps: Readonly<Record<string, Step>> = {
  "makes both anew": ({ a, b, count }) =>
    Effect.all({ a: DeviceArray.add(a, b), b: DeviceArray.multiply(a, 0.5), count: Effect.succeed(count + 1) }),
  "keeps one": ({ a, b, count }) => Effect.map(DeviceArray.subtract(b, a), (made) => ({ a, b: made, count })),
  "keeps both": (state) => Effect.succeed({ ...state, count: state.count + 2 }),
  swaps: ({ a, b, count }) => Effect.succeed({ a: b, b: a, count }),
  "has one array twice": ({ a, b, count }) =>
    Effect.map(DeviceArray.maximum(a, b), (made) => ({ a: made, b: made, count })),
  "takes views": ({ a, b, count }) => Effect.map(DeviceArray.flip(a, 0), (view) => ({ a: view, b, count })),
  "takes views of what it makes": ({ a, b, count }) =>
    Effect.map(DeviceArray.flip(DeviceArray.add(a, 1), 0), (view) => ({ a: b, b: view, count })),
  "takes the constant": ({ a, count }, constant) => Effect.succeed({ a, b: constant, count }),
  "drops what it makes": (state) => Effect.as(DeviceArray.add(state.a, 1), state),
  "is lazy": ({ a, b, count }) =>
    DeviceArray.lazy(Effect.gen(function*() {
      const sum = yield* DeviceArray.add(a, b)
      return { a: sum, b: yield* DeviceArray.minimum(sum, 8), count }
    }))
}

const elementsOf = ({ a, b, count }: State) =>
  Effect.all([DeviceArray.toNested(a), DeviceArray.toNested(b), Effect.succeed(count)])

const start = (isEffect: boolean) => {
  const make = Effect.all({
    a: DeviceArray.fromHost([1, 2, 3]),
    b: DeviceArray.fromHost([4, -5, 6]),
    count: Effect.succeed(0)
  })
  return isEffect ? Effect.succeed(make) : Effect.map(make, (state) => Effect.succeed(state))
}

const leasesOf = (state: State, ...others: ReadonlyArray<unknown>) => [...LeaseHolder.leases([state, others])].length

/** Fails in its third step. */
const failing = (x: Floats, step: number) =>
  Effect.tap(DeviceArray.add(x, 1), () => step === 2 ? Effect.fail("step" as const) : Effect.void)

/** Fails when it is asked the second time. */
const asks = (_: Floats, step: number) => step === 1 ? Effect.fail("question" as const) : Effect.succeed(true)

describe("A loop", () => {
  it.effect("has the elements of a loop by hand, and the memory of its state between two steps", () =>
    property(
      fc.record({
        names: fc.array(fc.constantFrom(...Object.keys(steps)), { maxLength: 8 }),
        isEffect: fc.boolean(),
        isLazy: fc.boolean()
      }),
      ({ isEffect, isLazy, names }) =>
        Effect.gen(function*() {
          const constant = yield* DeviceArray.fromHost([0.5, 0.25, 7])
          const byHand = yield* Effect.scoped(Effect.gen(function*() {
            let state = yield* yield* start(isEffect)
            for (const name of names) state = yield* steps[name]!(state, constant)
            return yield* elementsOf(state)
          }))
          const initial = yield* start(isEffect)
          const callers = isEffect ? [] : [yield* initial]
          const iterated = DeviceArray.iterate(isEffect ? initial : callers[0]!, {
            times: names.length,
            body: (state, step) =>
              Effect.gen(function*() {
                strictEqual(yield* active, leasesOf(state, callers, constant), `step ${step}`)
                return yield* steps[names[step]!]!(state, constant)
              })
          })
          const last = yield* isLazy ? DeviceArray.lazy(iterated) : iterated
          strictEqual(yield* active, leasesOf(last, callers, constant))
          deepStrictEqual(yield* elementsOf(last), byHand)
          for (const { a, b } of callers) {
            deepStrictEqual([yield* DeviceArray.toNested(a), yield* DeviceArray.toNested(b)], [[1, 2, 3], [4, -5, 6]])
          }
        }),
      { numRuns: runs(1000) }
    ).pipe(Effect.provide(strictHost)))

  const bytes = 256

  it.effect("runs in a pool that has room for two states", () =>
    Effect.gen(function*() {
      const zeros = DeviceArray.zeros([64])
      const result = yield* DeviceArray.iterate(zeros, { times: 100, body: DeviceArray.add(1) })
      strictEqual(yield* DeviceArray.toNumber(DeviceArray.max(result)), 100)
    }).pipe(
      Effect.scoped,
      Effect.provide(BufferPool.layer({ maxBytes: 2 * bytes + 16, sizePolicy: SizePolicy.exact })),
      Effect.provide(Layer.fresh(Host.layer()))
    ))

  for (const reserve of [undefined, 3 * bytes]) {
    it.effect(`waits for no other loop while it has memory, ${reserve === undefined ? "alone" : "with a reservation"}`, () =>
      Effect.gen(function*() {
        const sum = Effect.scoped(Effect.flatMap(
          DeviceArray.iterate(Effect.all([DeviceArray.zeros([64]), DeviceArray.ones([1])]), {
            times: 20,
            reserve,
            body: ([x, one]) => Effect.all([DeviceArray.add(x, one), Effect.succeed(one)])
          }),
          ([x]) => DeviceArray.toNumber(DeviceArray.slice(x, [63]))
        ))
        const all = yield* Effect.replicateEffect(sum, 12, { concurrency: "unbounded" })
        deepStrictEqual(all, Array.from({ length: 12 }, () => 20))
        yield* hasStats({ activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
      }).pipe(
        Effect.provide(BufferPool.layer({ maxBytes: 4 * bytes, onExhausted: "wait", sizePolicy: SizePolicy.exact })),
        Effect.provide(Layer.fresh(Host.layer()))
      ))
  }

  test(
    "asks before the first step and after every so many",
    Effect.gen(function*() {
      for (const [every, steps, asked] of [[1, 3, [0, 1, 2, 3]], [2, 4, [0, 2, 4]], [5, 5, [0, 5]]] as const) {
        const questions: Array<number> = []
        const last = yield* DeviceArray.iterate(DeviceArray.zeros([2]), {
          every,
          while: (x, step) => {
            questions.push(step)
            return DeviceArray.toNumber(DeviceArray.all(DeviceArray.less(x, 3)))
          },
          body: (x, step) => DeviceArray.add(x, step >= 0 ? 1 : 0)
        })
        deepStrictEqual(questions, [...asked])
        deepStrictEqual(yield* DeviceArray.toNested(last), [steps, steps])
      }
      const none = yield* DeviceArray.iterate(DeviceArray.ones([1]), {
        while: () => Effect.succeed(false),
        body: () => Effect.die("it runs")
      })
      deepStrictEqual(yield* DeviceArray.toNested(none), [1])
      const bounded = yield* DeviceArray.iterate(none, {
        times: 2,
        while: () => Effect.succeed(true),
        body: DeviceArray.add(1)
      })
      deepStrictEqual(yield* DeviceArray.toNested(bounded), [3])
    })
  )

  test(
    "of no steps returns what it begins with",
    Effect.gen(function*() {
      const x = yield* DeviceArray.ones([2])
      strictEqual(yield* DeviceArray.iterate(x, { times: 0, body: DeviceArray.add(1) }), x)
      strictEqual(yield* active, 1)
    })
  )

  test(
    "fails as its steps and questions do, and leaves nothing",
    Effect.gen(function*() {
      strictEqual(yield* Effect.flip(DeviceArray.iterate(DeviceArray.zeros([2]), { times: 5, body: failing })), "step")
      const asking = DeviceArray.iterate(DeviceArray.zeros([2]), { while: asks, body: DeviceArray.add(1) })
      strictEqual(yield* Effect.flip(asking), "question")
      strictEqual(yield* active, 0)
    })
  )

  test(
    "refuses options that make no loop",
    Effect.gen(function*() {
      const body = DeviceArray.add(1)
      const zeros = DeviceArray.zeros([2])
      yield* refuses("InvalidRequest", DeviceArray.iterate(zeros, { body }), "DeviceArray.iterate", "times")
      for (const times of [-1, 1.5, NaN, Infinity]) {
        yield* refuses("InvalidRequest", DeviceArray.iterate(zeros, { times, body }), `times is ${times}`)
      }
      for (const every of [0, 1.5, NaN]) {
        yield* refuses("InvalidRequest", DeviceArray.iterate(zeros, { times: 1, every, body }), `every is ${every}`)
      }
      assert.strictEqual(yield* active, 0)
    })
  )
})
