/** Ten operations on arrays: eager or fused, with a pool or with every result straight from the driver. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, SizePolicy } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import { expression } from "../Expression.ts"

const Input = Schema.Struct({
  backend: Backend.Name,
  form: Schema.Literals(["eager", "fused"]),
  pooled: Schema.Boolean,
  /** Bytes of each array. */
  bytes: Schema.Int,
  /** How long to compute the expression to warm up, at least once: then code is compiled and blocks exist. */
  warmUpMillis: Schema.Int,
  /** How often it is computed after that. */
  runs: Schema.Int
})

/** Milliseconds of each run, until the device has done it. */
const Figures = Schema.Array(Schema.Finite)

const forms = { eager: DeviceArray.scoped, fused: DeviceArray.lazy }

const unpooled = Layer.tap(
  BufferPool.layer({ sizePolicy: SizePolicy.exact }),
  (context) => Effect.provide(BufferPool.stopHolding, context)
)

const measure = Effect.fnUntraced(function*({ bytes, form, runs, warmUpMillis }: typeof Input.Type) {
  const numbers = Float32Array.from({ length: bytes / 4 }, (_, index) => index % 1000 / 1000)
  const x = yield* DeviceArray.fromHost(numbers)
  const y = yield* DeviceArray.fromHost(numbers.map((number) => 1 - number))
  const once = Effect.scoped(Effect.andThen(forms[form](expression(x, y)), CommandQueue.finish))
  const begin = performance.now()
  do yield* once
  while (performance.now() - begin < warmUpMillis)
  const millis: Array<number> = []
  for (let run = 0; run < runs; run++) {
    const from = performance.now()
    yield* once
    millis.push(performance.now() - from)
  }
  return millis
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: (input) =>
    measure(input).pipe(
      Effect.provide(input.pooled ? BufferPool.layer() : unpooled),
      Effect.provide(Backend.layers[input.backend])
    )
})

if (import.meta.main) Contender.main(contender)
