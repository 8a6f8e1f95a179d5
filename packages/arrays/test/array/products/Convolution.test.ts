/** What convolutions refuse, and what they leave when they fail. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { BufferPool } from "effect-gpu-pool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { layer, open, reasonOf, tagOf } from "../../../../../test/support/hostPool.ts"

type Shape = ReadonlyArray<number>

const refused = Effect.fnUntraced(function*(product: DeviceArray.Computed, why: string) {
  const before = yield* BufferPool.stats
  const reason = yield* reasonOf(product)
  strictEqual(reason._tag, "InvalidRequest")
  assert.include(reason.message, why)
  const after = yield* BufferPool.stats
  strictEqual(after.hits + after.misses, before.hits + before.misses)
})

describe("convolutions", () => {
  it.effect("name both shapes where they do not fit", () =>
    Effect.gen(function*() {
      const check = Effect.fnUntraced(
        function*(signal: Shape, filters: Shape, why: string, options?: DeviceArray.ConvOptions) {
          const [x, w] = [yield* DeviceArray.zeros(signal), yield* DeviceArray.zeros(filters)]
          const shapes = `DeviceArray.conv: the shapes [${signal.join(", ")}] and [${
            filters.join(", ")
          }] have no convolution`
          yield* refused(DeviceArray.conv(x, w, options), `${shapes}: ${why}`)
        }
      )
      yield* check([2, 3], [2, 3], "they have 2 and 2 axes")
      yield* check([1, 2, 5], [1, 2, 3, 3], "they have 3 and 4 axes")
      yield* check([], [], "they have 0 and 0 axes")
      yield* check([1, 4, 5], [2, 3, 2], "4 channels and 2 filters in 1 groups need 4 channels for each filter, not 3")
      yield* check(
        [1, 4, 5],
        [2, 4, 2],
        "4 channels and 2 filters in 2 groups need 2 channels for each filter, not 4",
        {
          groups: 2
        }
      )
      yield* check([1, 4, 5], [3, 2, 2], "4 channels and 3 filters in 2 groups need 2", { groups: 2 })
      yield* check([1, 1, 4, 2], [1, 1, 2, 3], "along axis 3 a filter spans 3 elements, and 2 are there")
      yield* check([1, 1, 4], [1, 1, 3], "along axis 2 a filter spans 5 elements, and 4 are there", { dilation: 2 })
      yield* check([1, 1, 4], [1, 1, 0], "along axis 2 a filter spans 0 elements, and 4 are there")
      yield* check([1, 1, 0], [1, 1, 3], "along axis 2 a filter spans 3 elements, and 2 are there", { padding: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("name options that count nothing", () =>
    Effect.gen(function*() {
      const [x, w] = [yield* DeviceArray.zeros([1, 2, 5, 5]), yield* DeviceArray.zeros([2, 2, 3, 3])]
      const check = (options: DeviceArray.ConvOptions, why: string) =>
        refused(DeviceArray.conv(x, w, options), `DeviceArray.conv: ${why}`)
      yield* check({ stride: 0 }, "the stride is 0")
      yield* check({ stride: [1, 1.5] }, "the stride is [1, 1.5]")
      yield* check({ stride: [1] }, "the stride is [1]")
      yield* check({ dilation: -1 }, "the dilation is -1")
      yield* check({ dilation: [1, 1, 1] }, "the dilation is [1, 1, 1]")
      yield* check({ groups: 0 }, "the number of groups is 0")
      yield* check({ padding: -1 }, "the padding is -1")
      yield* check({ padding: [1] }, "the padding is [1]")
      yield* check({ padding: [[1, 0], [0, -2]] }, "the padding is [[1, 0], [0, -2]]")
      yield* check({ padding: "valid" as never }, "the padding is \"valid\"")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of vectors name both shapes, and the mode", () =>
    Effect.gen(function*() {
      const [two, none, matrix] = [
        yield* DeviceArray.zeros([2]),
        yield* DeviceArray.zeros([0]),
        yield* DeviceArray.zeros([1, 2])
      ]
      const check = (a: DeviceArray.DeviceArray, b: DeviceArray.DeviceArray, shapes: string) =>
        refused(DeviceArray.convolve(a, b), `DeviceArray.convolve: the shapes ${shapes} are not those of two vectors`)
      yield* check(two, none, "[2] and [0]")
      yield* check(none, two, "[0] and [2]")
      yield* check(matrix, two, "[1, 2] and [2]")
      yield* check(two, matrix, "[2] and [1, 2]")
      yield* refused(DeviceArray.convolve(two, two, "half" as never), `the mode is "half"`)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("leave nothing where there is no memory for the border or for the result", () =>
    Effect.gen(function*() {
      for (const [length, padding] of [[20, 20], [20, 5]] as const) {
        const { closeHost, closePool, context, pool } = yield* open({ host: { capacityBytes: 300 } })
        const scope = yield* Scope.make()
        yield* Effect.provide(
          Effect.gen(function*() {
            const signal = yield* DeviceArray.ones([1, 1, length])
            const filters = yield* DeviceArray.ones([1, 1, 2])
            strictEqual(yield* tagOf(DeviceArray.conv(signal, filters, { padding })), "OutOfMemory")
            strictEqual((yield* pool.stats).activeBlocks, 2)
          }),
          Context.add(context, Scope.Scope, scope)
        )
        yield* Scope.close(scope, Exit.void)
        yield* Effect.andThen(closePool, closeHost)
      }
    }))

  it.effect("read data-first and data-last", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[[1, 2, 3]]])
      const w = yield* DeviceArray.fromHost([[[1, 10]]])
      const [v, u] = [yield* DeviceArray.fromHost([1, 2, 3]), yield* DeviceArray.fromHost([1, 10])]
      const results = [
        yield* DeviceArray.conv(x, w, { padding: 1 }),
        yield* DeviceArray.conv(w, { padding: 1 })(x),
        yield* DeviceArray.conv(x, w),
        yield* DeviceArray.conv(w)(x),
        yield* DeviceArray.convolve(v, u, "valid"),
        yield* DeviceArray.convolve(u, "valid")(v),
        yield* DeviceArray.convolve(u)(v)
      ]
      assert.deepStrictEqual(yield* Effect.forEach(results, (result) => DeviceArray.toNested(result)), [
        [[[10, 21, 32, 3]]],
        [[[10, 21, 32, 3]]],
        [[[21, 32]]],
        [[[21, 32]]],
        [12, 23],
        [12, 23],
        [1, 12, 23, 30]
      ])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})
