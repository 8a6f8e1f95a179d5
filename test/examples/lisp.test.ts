/**
 * The example of a backend with its own language: kernels of expressions give the same results there as on the host.
 */
import { DeviceArray, ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BufferPool, CommandQueue, DeviceContext, Kernel, KernelArgument } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { lisp } from "../../examples/backend/lisp/Lisp.ts"
import * as Workers from "../../examples/backend/Workers.ts"

const { ScalarArg, VectorArg } = KernelArgument

const onLisp = BufferPool.layer().pipe(Layer.provideMerge(Workers.layer({ threads: 2, language: lisp })))
const onHost = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))

/** Checks that both backends give the same numbers. */
const agrees = <A, E>(program: Effect.Effect<A, E, Exclude<Layer.Success<typeof onLisp>, Workers.Workers>>) =>
  Effect.gen(function*() {
    const found = yield* Effect.provide(program, onLisp)
    assert.deepStrictEqual(found, yield* Effect.provide(program, onHost))
    return found
  })

const numbers = Float32Array.from({ length: 5000 }, (_, i) => Math.sin(i) * (i % 7))

const buffer = Effect.fnUntraced(function*(data: Float32Array) {
  const lease = yield* BufferPool.allocate(data.byteLength)
  yield* CommandQueue.write(lease, data)
  return lease
})

describe("a backend in Lisp", () => {
  it.live("says which language it has", () =>
    Effect.gen(function*() {
      const { traits } = yield* DeviceContext.info
      assert.strictEqual(traits.language.id, "lisp")
    }).pipe(Effect.provide(onLisp)))

  it.live("runs what is written by hand", () =>
    Effect.gen(function*() {
      const scale = Kernel.make({
        name: "scale",
        args: [VectorArg("f32", "x"), ScalarArg("f32", "a")],
        body: { lisp: "(put x i (multiply f32 f32 (get x i) a))" }
      })
      const x = yield* buffer(Float32Array.of(1, 2, 3))
      yield* CommandQueue.dispatch(scale, { x, a: 2 }, 3)
      assert.deepStrictEqual([...(yield* CommandQueue.read(x, Float32Array))], [2, 4, 6])
    }).pipe(Effect.scoped, Effect.provide(onLisp)))

  it.live("runs element-wise kernels", () => {
    const kernel = ElementwiseKernel.make({
      name: "mixed",
      args: [
        VectorArg("f32", "x", { access: "read", withOffset: true }),
        VectorArg("f32", "y", { access: "write" }),
        ScalarArg("f32", "a")
      ],
      outputs: ({ a, x }) => ({
        y: Expr.where(Expr.less(x, 0), Expr.negative(Expr.multiply(x, a)), Expr.add(Expr.sqrt(x), Expr.at(x, 9)))
      })
    })
    return agrees(Effect.scoped(Effect.gen(function*() {
      const x = yield* buffer(numbers)
      const y = yield* BufferPool.allocate(numbers.byteLength)
      yield* CommandQueue.dispatch(kernel, { x: { buffer: x, offset: 3 }, y, a: 1.5 }, 4000)
      return yield* CommandQueue.read(y, Float32Array, { length: 4000 })
    })))
  })

  it.live("runs reductions and scans", () => {
    const x = VectorArg("f32", "x", { access: "read" })
    const largest = ReductionKernel.make({
      name: "largest",
      args: [x],
      map: ({ x }) => x,
      combine: Expr.maximum,
      neutral: -Infinity
    })
    const sums = ScanKernel.make({ name: "sums", args: [x], map: ({ x }) => x, combine: Expr.add, neutral: 0 })
    return agrees(Effect.scoped(Effect.gen(function*() {
      const x = yield* buffer(numbers)
      const running = yield* ScanKernel.run(sums, { x }, numbers.length)
      const found = yield* ReductionKernel.run(largest, { x }, numbers.length)
      return [yield* CommandQueue.read(running, Float32Array), yield* CommandQueue.read(found, Float32Array)]
    })))
  })

  it.live("runs programs of device arrays", () =>
    Effect.gen(function*() {
      const [product] = yield* agrees(Effect.scoped(Effect.gen(function*() {
        const a = yield* DeviceArray.fromHost(Int32Array.from({ length: 6 * 7 }, (_, i) => i % 5 - 2), {
          shape: [6, 7]
        })
        const b = yield* DeviceArray.fromHost(Int32Array.from({ length: 7 * 9 }, (_, i) => i % 11 - 5), {
          shape: [7, 9]
        })
        const product = yield* DeviceArray.matmul(a, b)
        const sums = yield* DeviceArray.sum(product, { axis: 0 })
        const powers = yield* DeviceArray.multiply(sums, sums)
        return [yield* DeviceArray.toHost(product), yield* DeviceArray.toHost(powers)] as const
      })))
      const first = Array.from({ length: 7 }, (_, k) => (k % 5 - 2) * ((k * 9) % 11 - 5)).reduce((a, b) => a + b)
      assert.strictEqual(product[0], first)
    }))

  it.live("says what it has no body for, and which names are its own", () =>
    Effect.gen(function*() {
      const foreign = Kernel.make({ name: "foreign", args: [VectorArg("f32", "x")], body: { wgsl: "x[i] = 1;" } })
      const taken = Kernel.make({ name: "taken", args: [VectorArg("f32", "near")], body: { lisp: "" } })
      const odd = Kernel.make({ name: "odd", args: [VectorArg("f32", "x")], body: { lisp: "(put x i" } })
      const x = yield* buffer(numbers)
      const refusal = Effect.fnUntraced(function*(kernel: Kernel.Kernel, args: Record<string, typeof x>) {
        const error = yield* Effect.flip(CommandQueue.dispatch(kernel, args, 1))
        return [error.reason._tag, error.message]
      })
      const [unsupported, feature] = yield* refusal(foreign, { x })
      assert.strictEqual(unsupported, "Unsupported")
      assert.include(feature, "a kernel without a Lisp body")
      assert.include(feature, "body.lisp")
      const [invalid, name] = yield* refusal(taken, { near: x })
      assert.strictEqual(invalid, "InvalidRequest")
      assert.include(name, `"near" is a word that Lisp reserves`)
      assert.strictEqual((yield* refusal(odd, { x }))[0], "InvalidRequest")
    }).pipe(Effect.scoped, Effect.provide(onLisp)))
})
