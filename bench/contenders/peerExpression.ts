/**
 * Nine elementwise operations and a sum whose result is read, by jax-js's `jit` and by this library, on one Dawn: in one process,
 * round by round in turn, so that each meets the same machine.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as PageGpu from "../peers/PageGpu.ts"

/** The forms that are compared, in their order in each round. */
export const forms = ["jax-js", "compiled", "lazy", "eager"] as const

const Input = Schema.Struct({ elements: Schema.Int, rounds: Schema.Int })

const Milliseconds = Schema.Array(Schema.Finite)

/** Milliseconds of each round by form. */
const Figures = Schema.Struct({
  "jax-js": Milliseconds,
  compiled: Milliseconds,
  lazy: Milliseconds,
  eager: Milliseconds
})

/**
 * The most rounds before those that are measured. They compile code and kernels and fill pools, and V8 optimises what a round runs
 * after some hundred of them. Long rounds are few, and then as many before them are enough.
 */
const mostWarmUp = 300

type Floats = DeviceArray.DeviceArray<"f32">

const total = Effect.fnUntraced(function*(x: Floats) {
  const doubled = yield* DeviceArray.multiply(x, 2)
  const above = yield* DeviceArray.add(doubled, 1)
  const squares = yield* DeviceArray.multiply(above, x)
  const below = yield* DeviceArray.subtract(squares, 0.5)
  const distance = yield* DeviceArray.abs(below)
  const root = yield* DeviceArray.sqrt(distance)
  const sum = yield* DeviceArray.add(root, x)
  const quarter = yield* DeviceArray.multiply(sum, 0.25)
  return yield* DeviceArray.sum(yield* DeviceArray.maximum(quarter, 0))
})

const jax = Effect.fnUntraced(function*(numbers: Float32Array<ArrayBuffer>) {
  const { defaultDevice, init, jit, numpy } = yield* Effect.promise(() => import("@jax-js/jax"))
  yield* Effect.promise(() => init("webgpu"))
  defaultDevice("webgpu")
  const x = numpy.array(numbers)
  const compiled = jit((x: typeof numpy.Array.prototype) => {
    const squares = x.ref.mul(2).add(1).mul(x.ref)
    const root = numpy.sqrt(numpy.absolute(squares.sub(0.5)))
    return numpy.sum(numpy.maximum(root.add(x).mul(0.25), 0))
  })
  return { total: Effect.promise(async () => (await compiled(x.ref).data())[0]!) }
})

const read = <E, R>(sum: Effect.Effect<Floats, E, R>) => Effect.scoped(Effect.flatMap(sum, DeviceArray.toNumber))

const measure = Effect.fnUntraced(function*({ elements, rounds }: typeof Input.Type) {
  PageGpu.provide()
  const numbers = Float32Array.from({ length: elements }, (_, index) => index % 1000 / 1000)
  const x = yield* DeviceArray.fromHost(numbers)
  const compiled = DeviceArray.compile(total)
  const contenders = {
    "jax-js": (yield* jax(numbers)).total,
    compiled: read(compiled(x)),
    lazy: read(DeviceArray.lazy(total(x))),
    eager: read(DeviceArray.scoped(total(x)))
  }
  const figures = {
    "jax-js": Array<number>(),
    compiled: Array<number>(),
    lazy: Array<number>(),
    eager: Array<number>()
  }
  for (let round = -Math.min(rounds, mostWarmUp); round < rounds; round++) {
    const sums: Array<number> = []
    for (const form of forms) {
      const from = performance.now()
      sums.push(yield* contenders[form])
      if (round >= 0) figures[form].push(performance.now() - from)
    }
    // The orders of their additions differ.
    const wrong = sums.find((sum) => Math.abs(sum - sums[1]!) > 1e-3 * Math.abs(sums[1]!))
    if (wrong !== undefined) return yield* Effect.die(new Error(`the sums differ: ${sums.join(", ")}`))
  }
  return figures
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: (input) => measure(input).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers.webgpu))
})

if (import.meta.main) Contender.main(contender)
