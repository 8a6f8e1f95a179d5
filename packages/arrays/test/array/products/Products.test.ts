/** What products refuse, what they leave when they fail or are interrupted, and how they are divided. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, type GpuError } from "effect-gpu-pool"
import { KernelCache } from "effect-gpu-pool/backend"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"

import { isGpuError } from "effect-gpu-pool/GpuError"
import { OpenCl } from "effect-gpu-pool/opencl"
import {
  hasStats,
  isConsistent,
  layer,
  nextTurn,
  open,
  ParkAt,
  reasonOf,
  tagOf
} from "../../../../../test/support/hostPool.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import { divide } from "../../../src/array/products/Blocks.ts"
import * as MatrixProduct from "../../../src/array/products/MatrixProduct.ts"
import * as Tiles from "../../../src/array/products/Tiles.ts"

type Shape = ReadonlyArray<number>

const messageOf = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(reasonOf(effect), (reason) => {
    strictEqual(reason._tag, "InvalidRequest")
    return reason.message
  })

describe("products of arrays", () => {
  it.effect("name both shapes where they do not fit", () =>
    Effect.gen(function*() {
      const refused = Effect.fnUntraced(function*(a: Shape, b: Shape, why: string) {
        const before = yield* BufferPool.stats
        const message = yield* Effect.scoped(Effect.gen(function*() {
          const [left, right] = [yield* DeviceArray.zeros(a), yield* DeviceArray.zeros(b)]
          const taken = (yield* BufferPool.stats).hits + (yield* BufferPool.stats).misses
          const message = yield* messageOf(DeviceArray.matmul(left, right))
          strictEqual((yield* BufferPool.stats).hits + (yield* BufferPool.stats).misses, taken)
          return message
        }))
        assert.include(message, `the shapes [${a.join(", ")}] and [${b.join(", ")}] have no product: ${why}`)
        strictEqual((yield* BufferPool.stats).activeBlocks, before.activeBlocks)
      })
      yield* refused([2, 3], [4, 5], "their inner lengths are 3 and 4")
      yield* refused([3], [4], "their inner lengths are 3 and 4")
      yield* refused([2, 3], [2], "their inner lengths are 3 and 2")
      yield* refused([2], [3, 2], "their inner lengths are 2 and 3")
      yield* refused([0], [1, 2], "their inner lengths are 0 and 1")
      yield* refused([2, 4, 3], [3, 3, 4], "their leading axes [2] and [3] do not broadcast")
      yield* refused([5, 2, 1, 3], [3, 1, 3, 4], "their leading axes [5, 2] and [3, 1] do not broadcast")
      yield* refused([], [3], "an array of no axes is no matrix")
      yield* refused([2, 2], [], "an array of no axes is no matrix")
    }).pipe(Effect.provide(layer())))

  it.effect("name both shapes where an axis is longer than kernels count", () =>
    Effect.gen(function*() {
      const one = yield* DeviceArray.ones([1])
      const long = yield* DeviceArray.broadcastTo(one, [2 ** 32])
      const why = "[4294967296] and [4294967296] have no product: kernels count to 2^32 - 1"
      assert.include(yield* messageOf(DeviceArray.dot(long, long)), why)
      assert.include(yield* messageOf(DeviceArray.matmul(long, long)), why)
      const wide = yield* DeviceArray.broadcastTo(one, [2, 2 ** 32])
      assert.include(yield* messageOf(DeviceArray.matmul(wide, long)), "[2, 4294967296] and [4294967296]")
      const tall = yield* DeviceArray.slice(yield* DeviceArray.transpose(wide), [{}, { stop: 0 }])
      const none = yield* DeviceArray.slice(wide, [{ stop: 0 }])
      deepStrictEqual((yield* DeviceArray.matmul(none, tall)).shape, [0, 0])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("that are too much for one kernel leave one lease, as often as they run", () =>
    DeviceArray.lazy(Effect.gen(function*() {
      const { limits } = (yield* CommandQueue.CommandQueue).info
      /** A recorded sum of so many arrays that a second such sum is too much for one kernel of the device. */
      const sum = Effect.fnUntraced(function*(from: number) {
        let total = yield* DeviceArray.fromHost([from, from + 1])
        for (let index = 1; index < limits.maxVectorArguments - 1; index++) {
          total = yield* DeviceArray.add(total, yield* DeviceArray.fromHost([index, -index]))
        }
        return total
      })
      const [a, b] = [yield* sum(1), yield* sum(2)]
      const dot = DeviceArray.dot(a, b)
      const { activeBlocks } = yield* BufferPool.stats
      yield* dot
      // operands that had to be computed first keep their leases
      const operands = [a, b].filter(({ lease }) => lease !== undefined).length
      assert.isAbove(operands, 0)
      yield* hasStats({ activeBlocks: activeBlocks + operands + 1 })
      const again = yield* dot
      yield* hasStats({ activeBlocks: activeBlocks + operands + 2 })
      const [[a0, a1], [b0, b1]] = [yield* DeviceArray.toHost(a), yield* DeviceArray.toHost(b)]
      strictEqual(yield* DeviceArray.toNumber(again), a0! * b0! + a1! * b1!)
      return again
    })).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of more than two axes are not dot's", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* DeviceArray.zeros([2, 3, 4]), yield* DeviceArray.zeros([4])]
      const message = yield* messageOf(DeviceArray.dot(a, b))
      assert.include(message, "DeviceArray.dot: the shapes [2, 3, 4] and [4] have more than two axes")
      assert.include(message, "DeviceArray.matmul")
      assert.include(yield* messageOf(DeviceArray.dot(b, yield* DeviceArray.zeros([3]))), "DeviceArray.dot: the shapes")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of another device's arrays are refused, and leave nothing", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* open(), yield* open()]
      const scope = yield* Scope.make()
      const provided = (context: typeof one.context) => Context.add(context, Scope.Scope, scope)
      const a = yield* Effect.provide(DeviceArray.ones([3, 3]), provided(one.context))
      const b = yield* Effect.provide(DeviceArray.ones([3, 3]), provided(two.context))
      for (const product of [DeviceArray.matmul(a, b), DeviceArray.matmul(b, a)]) {
        strictEqual(yield* tagOf(Effect.provide(product, provided(one.context))), "ForeignDevice")
      }
      strictEqual((yield* one.pool.stats).activeBlocks, 1)
      yield* Scope.close(scope, Exit.void)
      for (const { closeHost, closePool } of [one, two]) yield* Effect.andThen(closePool, closeHost)
      strictEqual(one.driverObjects.live + two.driverObjects.live, 0)
    }))

  it.effect("leave nothing where there is no memory for them", () =>
    Effect.gen(function*() {
      const { closeHost, closePool, context, faults, pool } = yield* open({ host: { capacityBytes: 450 } })
      const scope = yield* Scope.make()
      yield* Effect.provide(
        Effect.gen(function*() {
          const column = yield* DeviceArray.ones([10, 1])
          const row = yield* DeviceArray.ones([1, 10])
          strictEqual(yield* tagOf(DeviceArray.matmul(column, row)), "OutOfMemory")
          const { activeBlocks } = yield* pool.stats
          strictEqual(activeBlocks, 2)
          faults.lose()
          strictEqual(yield* tagOf(DeviceArray.matmul(row, column)), "DeviceLost")
        }),
        Context.add(context, Scope.Scope, scope)
      )
      yield* Scope.close(scope, Exit.void)
      yield* Effect.andThen(closePool, closeHost)
    }))

  it.effect("leave nothing when they are interrupted before any step", () =>
    Effect.gen(function*() {
      const product = Effect.gen(function*() {
        const a = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
        const lazy = yield* DeviceArray.lazy(
          Effect.flatMap(DeviceArray.add(a, 1), (more) => DeviceArray.matmul(more, a))
        )
        return yield* DeviceArray.dot(
          yield* DeviceArray.matmul(lazy, a),
          yield* DeviceArray.reshape(a, [4]).pipe(
            Effect.flatMap(DeviceArray.slice([{ stop: 2 }]))
          )
        )
      })
      for (let k = 0, reached = true; reached; k++) {
        const opened = yield* open()
        const scope = Scope.makeUnsafe()
        const scheduler = new ParkAt(k)
        const context = opened.context.pipe(
          Context.add(Scope.Scope, scope),
          Context.add(Scheduler.Scheduler, scheduler)
        )
        const fiber = Effect.runForkWith(context)(product)
        while (!scheduler.reached && fiber.pollUnsafe() === undefined) yield* nextTurn
        reached = scheduler.reached
        fiber.interruptUnsafe()
        scheduler.resume()
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause), `k = ${k}`)
        yield* Scope.close(scope, Exit.void)
        const stats = yield* opened.pool.stats
        deepStrictEqual([stats.activeBlocks, stats.pendingBytes], [0, 0], `k = ${k}`)
        isConsistent(stats, opened.driverObjects)
        yield* Effect.andThen(opened.closePool, opened.closeHost)
      }
    }))

  it.effect("are in scope alone: operands of a lazy expression go", () =>
    Effect.gen(function*() {
      const a = yield* DeviceArray.ones([3, 3])
      yield* DeviceArray.lazy(Effect.flatMap(DeviceArray.add(a, 1), (more) => DeviceArray.matmul(more, more)))
      yield* hasStats({ activeBlocks: 2 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("have types that say what they are", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
      const i = yield* DeviceArray.astype(x, "i32")
      const mixed: DeviceArray.DeviceArray<"f32"> = yield* DeviceArray.matmul(x, i)
      const whole: DeviceArray.DeviceArray<"i32"> = yield* Effect.flatMap(
        DeviceArray.matmul(i, i),
        DeviceArray.matmul(i)
      )
      deepStrictEqual([mixed.dtype, whole.dtype], ["f32", "i32"])
      deepStrictEqual(yield* DeviceArray.toNested(whole), [[37, 54], [81, 118]])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("the matrices of a product", () => {
  const known = Effect.fnUntraced(function*(a: Shape, b: Shape, axes?: Shape) {
    const left = yield* DeviceArray.zeros(a)
    const right = yield* DeviceArray.zeros(b)
    const product = MatrixProduct.make(
      "test",
      axes === undefined ? left : yield* DeviceArray.transpose(left, axes),
      right
    )
    if (isGpuError(product)) return assert.fail(product.message)
    const { batch, columns, depth, rows } = product
    return { rows, depth, columns, batch }
  })

  it.effect("are one where a batch is multiplied by one matrix", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* known([8, 2, 3], [3, 4]), { rows: 16, depth: [3], columns: [4], batch: [] })
      deepStrictEqual(yield* known([5, 8, 2, 3], [5, 1, 3, 4]), { rows: 16, depth: [3], columns: [4], batch: [5] })
      deepStrictEqual(yield* known([8, 1, 3], [3, 4]), { rows: 8, depth: [3], columns: [4], batch: [] })
      deepStrictEqual(yield* known([8, 2, 3], [1, 3, 1]), { rows: 16, depth: [3], columns: [1], batch: [] })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("are a batch where they do not follow each other evenly", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* known([2, 8, 3], [3, 4], [1, 0, 2]), { rows: 2, depth: [3], columns: [4], batch: [8] })
      deepStrictEqual(yield* known([2, 3], [8, 3, 4]), { rows: 2, depth: [3], columns: [4], batch: [8] })
      deepStrictEqual(yield* known([5, 8, 2, 3], [5, 8, 3, 4]), { rows: 2, depth: [3], columns: [4], batch: [40] })
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("the blocks of a product on the host", () => {
  it("are enough items for the event loop to run between them, and no more than a dispatch takes", () => {
    const length = fc.integer({ min: 1, max: 1_000_000 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), length, length, length, (matrices, rows, columns, depth) => {
        const { blockColumns, blockItems, blockRows, count } = divide(matrices, rows, columns, depth)
        const blocks = matrices * Math.ceil(rows / blockRows) * Math.ceil(columns / blockColumns)
        assert.strictEqual(count, blocks * blockItems)
        if (blocks > 0xffffffff) return
        assert.isAtMost(count, 0xffffffff)
        assert.isAtMost(blockRows, Math.min(rows, 64))
        assert.isAtMost(blockColumns, Math.min(columns, 64))
        assert.isTrue(blockRows * blockColumns * depth <= 2 ** 21 || Math.max(blockRows, blockColumns) <= 4)
      }),
      { seed: 1 }
    )
  })
})

const tileOf = (rows: number, columns: number, isCpu: boolean): ReadonlyArray<number> =>
  Object.values(Tiles.divide(rows, columns, { isCpu, vectors: false }).tile)

describe("the tiles of a product", () => {
  it("cover each element once, and leave no workgroup without any", () => {
    const length = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 700 }))
    fc.assert(
      fc.property(length, length, fc.boolean(), fc.boolean(), (rows, columns, isCpu, vectors) => {
        const { group, groups, groupsAcross, tile } = Tiles.divide(rows, columns, { isCpu, vectors })
        assert.isAtMost(group.rows * group.columns, Tiles.itemsOfGroup)
        const [height, width] = [group.rows * tile.rows, group.columns * tile.columns]
        const groupsDown = groups / groupsAcross
        assert.isTrue(Number.isInteger(groupsDown))
        assert.isTrue(groupsDown * height >= rows && (groupsDown - 1) * height < rows)
        assert.isTrue(groupsAcross * width >= columns && (groupsAcross - 1) * width < columns)
      }),
      { seed: 1 }
    )
  })

  it("are large where the result is, on a CPU from fewer elements on", () => {
    for (const isCpu of [true, false]) {
      const least = isCpu ? 512 : 4096
      deepStrictEqual(tileOf(least, 64, isCpu), [8, 8])
      deepStrictEqual(tileOf(64, least, isCpu), [8, 8])
      deepStrictEqual(tileOf(least - 1, 64, isCpu), [4, 4])
      deepStrictEqual(tileOf(2 ** 20, 63, isCpu), [4, 4])
      deepStrictEqual(tileOf(63, 2 ** 20, isCpu), [4, 4])
      deepStrictEqual(tileOf(1, 2 ** 20, isCpu), [1, 4])
      deepStrictEqual(tileOf(2 ** 20, 1, isCpu), [4, 1])
    }
  })
})

describeWith(["opencl"], "the kernels of products", () => {
  it.effect("do not depend on sizes, offsets and strides", () =>
    Effect.gen(function*() {
      const a = yield* DeviceArray.ones([40, 50])
      const b = yield* DeviceArray.ones([50, 60])
      yield* DeviceArray.matmul(a, b)
      const { size } = yield* KernelCache.stats
      yield* DeviceArray.matmul(
        yield* DeviceArray.slice(a, [{ start: 3, step: 2 }]),
        yield* DeviceArray.slice(b, [{}, { start: 1 }])
      )
      yield* DeviceArray.matmul(yield* DeviceArray.transpose(b), yield* DeviceArray.ones([50, 33]))
      strictEqual((yield* KernelCache.stats).size, size)
    }).pipe(
      Effect.scoped,
      Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())))
    ))
})
