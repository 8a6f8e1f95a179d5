/**
 * The results of elementwise kernels on every backend.
 */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue, GpuError, KernelArgument } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

const { ScalarArg, VectorArg } = KernelArgument

type Gpu = BufferPool.BufferPool | CommandQueue.CommandQueue

const upload = Effect.fnUntraced(function*(data: Float32Array | Int32Array | Uint32Array) {
  const lease = yield* BufferPool.allocate(data.byteLength)
  yield* CommandQueue.write(lease, data)
  return lease
})

const numbers = (lease: BufferPool.PooledBuffer) =>
  Effect.map(CommandQueue.read(lease, Float32Array), (values) => [...values])

const whole = (lease: BufferPool.PooledBuffer) =>
  Effect.map(CommandQueue.read(lease, Int32Array), (values) => [...values])

const swap = ElementwiseKernel.make({
  name: "swap",
  args: [VectorArg("f32", "x"), VectorArg("f32", "y")],
  outputs: ({ x, y }) => ({ x: y, y: x })
})

const views = ElementwiseKernel.make({
  name: "views",
  args: [
    VectorArg("f32", "x", { access: "read", withOffset: true }),
    VectorArg("f32", "y", { access: "write", withOffset: true }),
    VectorArg("f32", "z", { withOffset: true })
  ],
  outputs: ({ x, z }) => ({ y: Expr.add(x, Expr.multiply(z, 10)), z: Expr.at(x, Expr.add(Expr.index, 1)) })
})

const many = ElementwiseKernel.make({
  name: "many",
  args: [
    VectorArg("f32", "x", { access: "read" }),
    VectorArg("i32", "truncated", { access: "write" }),
    VectorArg("u32", "index", { access: "write" }),
    VectorArg("f32", "square", { access: "write" }),
    VectorArg("i32", "isSmall", { access: "write" }),
    ScalarArg("f32", "limit"),
    ScalarArg("i32", "shift"),
    ScalarArg("u32", "mask")
  ],
  outputs: ({ limit, mask, shift, x }) => {
    const square = Expr.multiply(x, x)
    return {
      truncated: Expr.add(Expr.astype(x, "i32"), shift),
      index: Expr.bitwiseAnd(Expr.index, mask),
      square,
      isSmall: Expr.astype(Expr.less(square, limit), "i32")
    }
  }
})

const reversed = ElementwiseKernel.make({
  name: "reversed",
  args: [VectorArg("f32", "x", { access: "read" }), VectorArg("f32", "y", { access: "write" })],
  outputs: ({ x }) => ({ y: Expr.at(x, Expr.subtract(2, Expr.index)) })
})

/** Words of JavaScript, and of the code around the generated one. */
const awkward = ElementwiseKernel.make({
  name: "awkward",
  args: [
    VectorArg("f32", "arguments"),
    VectorArg("f32", "eval", { withOffset: true }),
    VectorArg("f32", "constructor"),
    VectorArg("f32", "a"),
    ...(["to", "args", "math", "own", "t", "v", "toString", "bits", "undefined"] as const).map((name) =>
      ScalarArg("f32", name)
    )
  ],
  outputs: (inputs) => {
    const { args, bits, math, own, t, to, toString, undefined: none, v } = inputs
    const sum = [args, bits, math, own, t, to, toString, none, v].reduce((a, b) => Expr.add(a, b))
    return {
      arguments: Expr.power(Expr.add(inputs.arguments, sum), 2),
      eval: Expr.power(Expr.add(inputs.eval, sum), 2),
      constructor: Expr.power(Expr.add(inputs.constructor, sum), 2),
      a: Expr.power(Expr.add(inputs.a, sum), 2)
    }
  }
})

const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Registers the tests of a backend. */
export const elementwiseLaws = (gpu: Layer.Layer<Gpu, unknown>, count = 300_001): void => {
  layer(gpu)("elementwise kernels", (it) => {
    it.effect("compute every expression before they store one", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(1, 2, 3))
        const y = yield* upload(Float32Array.of(4, 5, 6))
        yield* CommandQueue.dispatch(swap, { x, y }, 3)
        deepStrictEqual(yield* numbers(x), [4, 5, 6])
        deepStrictEqual(yield* numbers(y), [1, 2, 3])
      }))

    it.effect("touch only the items that are asked for", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(1, 2, 3))
        const y = yield* upload(Float32Array.of(4, 5, 6))
        yield* CommandQueue.dispatch(swap, { x, y }, 2)
        deepStrictEqual(yield* numbers(x), [4, 5, 3])
        yield* CommandQueue.dispatch(swap, { x, y }, 0)
        deepStrictEqual(yield* numbers(x), [4, 5, 3])
      }))

    it.effect("count elements from the offsets of views, and stop at a vector's last", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(-1, -1, 1, 2, 3))
        const y = yield* upload(Float32Array.of(0, 0, 0, 0))
        const z = yield* upload(Float32Array.of(7, 8, 9))
        const dispatch = (count: number) =>
          CommandQueue.dispatch(views, { x: { buffer: x, offset: 2 }, y: { buffer: y, offset: 1 }, z }, count)
        yield* dispatch(3)
        deepStrictEqual(yield* numbers(y), [0, 71, 82, 93])
        deepStrictEqual(yield* numbers(z), [2, 3, 3])
        strictEqual((yield* reasonOf(dispatch(4)))._tag, "InvalidRequest")
      }))

    it.effect("have outputs of several types", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(0.5, -1.5, 2.5, -3.5, 10))
        const [truncated, index, square, isSmall] = yield* Effect.all([
          BufferPool.allocate(20),
          BufferPool.allocate(20),
          BufferPool.allocate(20),
          BufferPool.allocate(20)
        ])
        const vectors = { x, truncated, index, square, isSmall }
        yield* CommandQueue.dispatch(many, { ...vectors, limit: 7, shift: -100, mask: 1 }, 5)
        deepStrictEqual(yield* whole(truncated), [-100, -101, -98, -103, -90])
        deepStrictEqual(yield* whole(index), [0, 1, 0, 1, 0])
        deepStrictEqual(yield* numbers(square), [0.25, 2.25, 6.25, 12.25, 100])
        deepStrictEqual(yield* whole(isSmall), [1, 1, 1, 0, 0])
      }))

    it.effect("read other elements, the last one for what is beyond it", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(1, 2, 3))
        const y = yield* BufferPool.allocate(20)
        yield* CommandQueue.dispatch(reversed, { x, y }, 5)
        deepStrictEqual(yield* numbers(y), [3, 2, 1, 3, 3])
      }))

    it.effect("compute many items", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.from({ length: count }, (_, i) => i))
        const y = yield* upload(new Float32Array(count))
        yield* CommandQueue.dispatch(swap, { x, y }, count)
        const found = yield* CommandQueue.read(y, Float32Array)
        strictEqual(found.findIndex((value, i) => value !== i), -1)
      }))

    it.effect("refuse more items than there are elements", () =>
      Effect.gen(function*() {
        const x = yield* upload(Float32Array.of(1, 2, 3))
        const y = yield* upload(Float32Array.of(4, 5))
        const reason = yield* reasonOf(CommandQueue.dispatch(swap, { x, y }, 3))
        assert.instanceOf(reason, GpuError.InvalidRequest)
        assert.include(reason.message, `"y"`)
      }))

    it.effect("have arguments with awkward names", () =>
      Effect.gen(function*() {
        const values = { to: 1, args: 2, math: 4, own: 8, t: 16, v: 32, toString: 64, bits: 128, undefined: 256 }
        const vectors = {
          arguments: yield* upload(Float32Array.of(1)),
          eval: yield* upload(Float32Array.of(2)),
          constructor: yield* upload(Float32Array.of(3)),
          a: yield* upload(Float32Array.of(4))
        }
        yield* CommandQueue.dispatch(awkward, { ...vectors, ...values } as never, 1)
        for (const [index, lease] of Object.values(vectors).entries()) {
          const [found] = yield* numbers(lease)
          const exact = (511 + index + 1) ** 2
          // Powers may be off by some units in the last place.
          assert.closeTo(found!, exact, exact * 2 ** -20)
        }
      }))

    it.effect("are Unsupported where the device lacks a type that an expression uses", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const missing = (["f16", "f64"] as const).filter((dtype) => !info.dtypes.has(dtype))
        const x = yield* upload(Float32Array.of(1.5))
        for (const dtype of ["f16", "f64"] as const) {
          const kernel = ElementwiseKernel.make({
            name: `through_${dtype}`,
            args: [VectorArg("f32", "x")],
            outputs: ({ x }) => ({ x: Expr.astype(Expr.sqrt(Expr.add(Expr.astype(x, dtype), 0.75)), "f32") })
          })
          const dispatch = CommandQueue.dispatch(kernel, { x }, 1)
          if (missing.includes(dtype)) strictEqual((yield* reasonOf(dispatch))._tag, "Unsupported")
          else yield* dispatch
        }
      }))
  })
}
