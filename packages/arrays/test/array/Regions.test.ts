/** Which scope owns the memory of recorded arrays, whichever fiber needs it first, and what is left after failures. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import { layer, nextTurn, ParkAt, tagOf } from "../../../../test/support/hostPool.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import { costOf, type Gpu, strictHost } from "./ArrayBackends.ts"

type Floats = DeviceArray.DeviceArray<"f32">
type Services = Gpu | Scope.Scope

const f32 = (...numbers: ReadonlyArray<number>) => DeviceArray.fromHost(Float32Array.from(numbers))

const elementsOf = (array: DeviceArray.DeviceArray) =>
  Effect.map(DeviceArray.toHost(array), (all) => Array.from(all as ArrayLike<number>))

const active = Effect.map(BufferPool.stats, ({ activeBlocks }) => activeBlocks)

/** The most nested operations that are recorded in one kernel. */
const long = 64

const chained = (x: Floats, operations: number) =>
  Effect.gen(function*() {
    let y = x
    for (let step = 0; step < operations; step++) y = yield* DeviceArray.add(y, 1)
    return y
  })

const doubled = (array: Floats) => DeviceArray.lazy(DeviceArray.add(array, array))

/** An array of a lazy region that left it in another way than as its result. */
const leaked = Effect.fnUntraced(function*(x: Floats) {
  let out: Floats = x
  yield* DeviceArray.lazy(Effect.gen(function*() {
    out = yield* DeviceArray.multiply(x, 2)
  }))
  return out
})

const test = (name: string, effect: Effect.Effect<void, unknown, Services>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(strictHost)))

describe("The results of lazy", () => {
  test(
    "are arrays, tuples and records; inputs among them stay as they are",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const before = yield* active
      const result = yield* DeviceArray.lazy(Effect.gen(function*() {
        const sum = yield* DeviceArray.add(x, x)
        return { x, sum, list: [sum, x, [yield* DeviceArray.negative(sum)]], number: 7, none: undefined }
      }))
      strictEqual(result.x, x)
      strictEqual(yield* active, before + 2)
      deepStrictEqual(yield* elementsOf(result.sum), [2, 4])
      const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(Effect.succeed(x)))
      deepStrictEqual([value === x, kernels, leases], [true, 0, 0])
      strictEqual(yield* DeviceArray.lazy(Effect.succeed("no array")), "no array")
    })
  )

  test(
    "of a lazy inside another are part of its kernel",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const { kernels, leases, value } = yield* costOf(
        DeviceArray.lazy(Effect.flatMap(Effect.flatMap(doubled(x), doubled), DeviceArray.add(1)))
      )
      deepStrictEqual([kernels, leases], [1, 1])
      deepStrictEqual(yield* elementsOf(value), [5, 9])
    })
  )

  test(
    "of scoped inside have memory, and what they were made of has none",
    Effect.gen(function*() {
      const x = yield* f32(3, 4)
      const result = yield* DeviceArray.lazy(Effect.gen(function*() {
        const before = yield* active
        const length = yield* DeviceArray.scoped(Effect.gen(function*() {
          const total = yield* DeviceArray.sum(yield* DeviceArray.multiply(x, x))
          return yield* DeviceArray.sqrt(total)
        }))
        assert.isDefined(length.lease)
        strictEqual(yield* active, before + 1)
        return yield* DeviceArray.divide(x, length)
      }))
      deepStrictEqual((yield* elementsOf(result)).map((element) => element.toFixed(3)), ["0.600", "0.800"])
      strictEqual(yield* active, 2)
    })
  )
})

describe("A recorded array", () => {
  test(
    "is computed where it is used after its region",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const out = yield* leaked(x)
      strictEqual(String(out), "DeviceArray(f32 [2], recorded)")
      strictEqual(out.lease, undefined)
      deepStrictEqual(yield* elementsOf(yield* DeviceArray.add(out, 1)), [3, 5])
      deepStrictEqual(yield* elementsOf(out), [2, 4])
      strictEqual(yield* Effect.scoped(Effect.flatMap(DeviceArray.sum(out), DeviceArray.toNumber)), 6)
      const before = yield* active
      strictEqual(yield* DeviceArray.evaluate(out), out)
      assert.isDefined(out.lease)
      yield* DeviceArray.evaluate(out)
      strictEqual(yield* active, before + 1)
      strictEqual(String(out), "DeviceArray(f32 [2])")
      const sum = yield* DeviceArray.lazy(Effect.tap(
        x.pipe(DeviceArray.add(out), DeviceArray.multiply(2), DeviceArray.evaluate),
        ({ lease }) => Effect.sync(() => assert.isDefined(lease))
      ))
      deepStrictEqual(yield* elementsOf(sum), [6, 12])
      deepStrictEqual(yield* elementsOf(yield* DeviceArray.evaluate(DeviceArray.add(x, 1))), [2, 3])
      strictEqual(yield* active, before + 3)
    })
  )

  test(
    "whose operands were released says so, and leaves nothing",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const out = yield* leaked(x)
      yield* Lease.release(x.lease!)
      const before = yield* active
      const uses: ReadonlyArray<Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>> = [
        DeviceArray.evaluate(out),
        DeviceArray.add(out, 1),
        DeviceArray.toHost(out),
        DeviceArray.sum(out),
        DeviceArray.mean(out),
        DeviceArray.transpose(out),
        DeviceArray.copy(out),
        DeviceArray.lazy(DeviceArray.add(out, 1)),
        DeviceArray.lazy(chained(out, long + 1)),
        DeviceArray.lazy(Effect.all([DeviceArray.negative(out), DeviceArray.abs(out)]))
      ]
      for (const use of uses) {
        strictEqual(yield* tagOf(use), "Released")
        strictEqual(yield* active, before)
      }
    })
  )

  test(
    "of memory from another device says so, and leaves nothing",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const other = BufferPool.layer().pipe(Layer.provideMerge(Layer.fresh(Host.layer())))
      const tags = Effect.gen(function*() {
        return [
          yield* tagOf(DeviceArray.add(x, 1)),
          yield* tagOf(DeviceArray.lazy(DeviceArray.add(x, 1))),
          yield* tagOf(DeviceArray.sum(x)),
          yield* active
        ]
      })
      deepStrictEqual(yield* Effect.scoped(tags).pipe(Effect.provide(other)), [
        "ForeignDevice",
        "ForeignDevice",
        "ForeignDevice",
        0
      ])
    })
  )

  test(
    "is good as long as the scope that it was recorded in, whichever needs its memory first",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const inner: ReadonlyArray<(array: Floats) => Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>> = [
        DeviceArray.evaluate,
        // a longer chain is divided
        (array) => chained(array, 2),
        (array) => DeviceArray.transpose(array),
        (array) => DeviceArray.matmul(array, array)
      ]
      for (const use of inner) {
        for (const region of [Effect.scoped, DeviceArray.scoped, DeviceArray.lazy]) {
          const result = yield* DeviceArray.lazy(Effect.gen(function*() {
            const array = yield* chained(x, long)
            yield* region(Effect.asVoid(use(array)))
            return yield* DeviceArray.subtract(array, x)
          }))
          deepStrictEqual(yield* elementsOf(result), [long, long])
        }
      }
    })
  )

  test(
    "gets one memory from fibers that need it at once",
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      const out = yield* leaked(x)
      const before = yield* active
      yield* Effect.forEach([1, 2, 3], () => DeviceArray.evaluate(out), { concurrency: "unbounded" })
      strictEqual(yield* active, before + 1)
      deepStrictEqual(yield* elementsOf(out), [2, 4])
    })
  )

  it.effect("gets one memory from two fibers, wherever the one meets the other", () =>
    Effect.gen(function*() {
      const x = yield* f32(1, 2)
      let step = 0
      while (yield* meetsAt(x, step)) step += 1
      assert.isAbove(step, 3)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

/** Two fibers evaluate one array, while the first is stopped at a step. Returns whether it reached the step. */
const meetsAt = (x: Floats, step: number) =>
  Effect.scoped(Effect.gen(function*() {
    const out = yield* leaked(x)
    const before = yield* active
    const scheduler = new ParkAt(step)
    const first = yield* Effect.forkChild(
      Effect.provideService(DeviceArray.evaluate(out), Scheduler.Scheduler, scheduler)
    )
    yield* nextTurn
    yield* DeviceArray.evaluate(out)
    scheduler.resume()
    yield* Fiber.join(first)
    strictEqual(yield* active, before + 1, `step ${step}`)
    deepStrictEqual(yield* elementsOf(out), [2, 4])
    return scheduler.reached
  }))

/** Expressions that take several steps each, and how many arrays they give. */
const expressions: ReadonlyArray<
  readonly [
    name: string,
    run: (x: Floats) => Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>,
    results: number
  ]
> = [
  ["an operation", (x) => DeviceArray.add(x, x), 1],
  ["a mean", (x) => DeviceArray.mean(x), 1],
  ["a reduction in several passes", (x) => DeviceArray.argmax(x), 1],
  ["a chain", (x) => chained(x, 5), 1],
  ["several results", (x) => Effect.all([DeviceArray.add(x, 1), DeviceArray.negative(x), DeviceArray.sum(x)]), 3],
  ["a chain that is cut", (x) => chained(x, 2 * long + 3), 1],
  [
    "a loop",
    (x) =>
      DeviceArray.iterate(Effect.all([DeviceArray.copy(x), DeviceArray.zeros([2])]), {
        times: 2,
        body: ([y, z]) => Effect.all([DeviceArray.add(y, 1), Effect.succeed(z)])
      }),
    2
  ]
]

type Region = (
  effect: Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>
) => Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const regions: ReadonlyArray<readonly [name: string, region: Region]> = [
  ["scoped", DeviceArray.scoped],
  ["lazy", DeviceArray.lazy]
]

/** Interrupts a region before a step, in a scope that stays open. Returns whether it reached the step. */
const interruptedAt = (region: ReturnType<Region>, step: number, results: number) =>
  Effect.gen(function*() {
    const before = yield* active
    const scheduler = new ParkAt(step)
    yield* Effect.scoped(Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.provideService(region, Scheduler.Scheduler, scheduler))
      yield* nextTurn
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      scheduler.resume()
      yield* Fiber.join(interruption)
      const exit = yield* Fiber.await(fiber)
      // it may have ended before the interruption
      const expected = Exit.isSuccess(exit) ? [before + results] : [before, before + results]
      assert.include(expected, yield* active, `step ${step}`)
    }))
    strictEqual(yield* active, before, `step ${step}`)
    return scheduler.reached
  })

const numbers = DeviceArray.fromHost(Float32Array.from({ length: 300 }, (_, index) => index))

describe("An interruption at any step", () => {
  for (const [name, run, results] of expressions) {
    for (const [form, region] of regions) {
      it.effect(`of ${name}, ${form}, leaves nothing, or the result`, () =>
        Effect.gen(function*() {
          const x = yield* numbers
          assert.isAbove((yield* costOf(Effect.scoped(region(run(x))))).leases, 0)
          let step = 0
          while (yield* interruptedAt(region(run(x)), step, results)) step += 1
          assert.isAbove(step, 10)
        }).pipe(Effect.scoped, Effect.provide(layer())))
    }
  }
})

/** Makes the `nth` allocation and all later ones fail. Returns whether the region failed. */
const failsAt = (region: ReturnType<Region>, nth: number) =>
  Effect.gen(function*() {
    const { faults } = yield* Host.Host
    yield* BufferPool.freeHeld
    const before = yield* active
    faults.failAllocations({ nth, times: Infinity })
    const exit = yield* Effect.exit(
      Effect.scoped(Effect.onError(region, () => Effect.map(active, (blocks) => strictEqual(blocks, before))))
    )
    faults.clear()
    if (Exit.isFailure(exit)) strictEqual(yield* tagOf(exit), "OutOfMemory")
    return Exit.isFailure(exit)
  })

describe("A device without memory", () => {
  for (const [name, run] of expressions) {
    for (const [form, region] of regions) {
      it.effect(`fails ${name}, ${form}, and everything goes back`, () =>
        Effect.gen(function*() {
          const x = yield* numbers
          let nth = 1
          while (yield* failsAt(region(run(x)), nth)) nth += 1
          assert.isAbove(nth, 1)
        }).pipe(Effect.scoped, Effect.provide(layer())))
    }
  }
})
