/**
 * Scalar arguments: numbers of every type and short vectors arrive with all their bits, in any order.
 *
 * @internal
 */
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import * as ReductionKernel from "@effect-gpu-pool/arrays/ReductionKernel"
import * as ScanKernel from "@effect-gpu-pool/arrays/ScanKernel"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import type { HeldValue, NumberType, VectorLength } from "effect-gpu-pool/ValueType"
import * as Effect from "effect/Effect"
import { type ConformanceTest, type Device, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, seeds } from "../Random.ts"
import { anyParameter, anyValue, awkward, awkwardFrom } from "./AnyValue.ts"
import * as ValueKernel from "./ValueKernel.ts"

const test = inGroup("values")

/** Sends each row of values to a kernel with these parameters, and reads the results after all dispatches. */
const roundTrip = Effect.fnUntraced(function*(
  parameters: ReadonlyArray<ValueKernel.Parameter>,
  rows: ReadonlyArray<ReadonlyArray<HeldValue>>,
  at?: number
) {
  const kernel = ValueKernel.make(parameters, at)
  const outputs = yield* Effect.forEach(rows, (row) =>
    Effect.gen(function*() {
      const y = yield* BufferPool.allocate(4 * ValueKernel.wordCount(parameters))
      yield* CommandQueue.dispatch(kernel, { ...ValueKernel.named(row), y }, 1)
      return y
    }))
  for (const [index, row] of rows.entries()) {
    const found = ValueKernel.withOneNaN(parameters, yield* CommandQueue.read(outputs[index]!, Uint32Array))
    const expected = parameters.flatMap(({ element }, index) => ValueKernel.wordsOf(element, row[index]!))
    const what = `${parameters.map(ValueKernel.typeOf).join(", ")} of ${row.map(text).join(", ")}`
    Expect.numbers(what, Uint32Array.from(found), expected)
  }
}, Effect.scoped)

const text = (value: HeldValue): string => typeof value === "object" ? `[${value.join(", ")}]` : String(value)

/** Numbers that every device takes by value. */
const everywhere: ReadonlyArray<NumberType> = ["f32", "i32", "u32", "i8", "u8", "i16", "u16"]

/** Vectors that every device takes. */
const shortLengths: ReadonlyArray<VectorLength> = [2, 3, 4]

const longLengths: ReadonlyArray<VectorLength> = [8, 16]

/** Whether the device accepts such a value. A refusal must name the argument and its type. */
const takes = (parameter: ValueKernel.Parameter): Effect.Effect<boolean, GpuError, Device> =>
  Effect.matchEffect(KernelCache.use((cache) => cache.get(ValueKernel.make([parameter]))), {
    onSuccess: () => Effect.succeed(true),
    onFailure: (error) =>
      Effect.sync(() => {
        const type = ValueKernel.typeOf(parameter)
        const { message } = Expect.reasonOf(type, error, "Unsupported")
        Expect.isTrue(
          `it names the argument and the type: ${message}`,
          message.includes(`${type} (argument "value0")`)
        )
        return false
      })
  })

/** The numbers and the lengths that the device takes. */
const taken = Effect.gen(function*() {
  const { dtypes } = yield* DeviceContext.useSync((device) => device.info)
  const floats = (["f16", "f64"] as const).filter((dtype) => dtypes.has(dtype))
  const longs = yield* Effect.filter(["i64", "u64"] as const, (element) => takes({ element, length: 1 }))
  const lengths = yield* Effect.filter(longLengths, (length) => takes({ element: "f32", length }))
  return { elements: [...everywhere, ...floats, ...longs], lengths: [...shortLengths, ...lengths] }
})

/** Every length of a type, each after a value of another alignment. */
const awkwardValues = (element: NumberType, lengths: ReadonlyArray<VectorLength>) => {
  const parameters = [1, 3, 1, 2, 1, 4, 3, 2, ...lengths.filter((length) => length > 4), 1].map((length) => ({
    element,
    length: length as VectorLength
  }))
  const rows = awkward[element].map((_, from) => parameters.map((parameter, at) => awkwardFrom(parameter, from + at)))
  return roundTrip(parameters, rows)
}

const extremes = Effect.flatMap(
  taken,
  ({ elements, lengths }) => Effect.forEach(elements, (element) => awkwardValues(element, lengths), { discard: true })
)

const longIntegers = Effect.forEach(["i64", "u64"] as const, (element) =>
  Effect.gen(function*() {
    const parameter = { element, length: 1 } as const
    const pair = { element, length: 2 } as const
    if ((yield* takes(parameter)) !== (yield* takes(pair))) Expect.fail(`${element} alone or in vectors only`)
  }), { discard: true })

const mixed = roundTrip(
  [
    { element: "u8", length: 1 },
    { element: "f32", length: 3 },
    { element: "f32", length: 1 },
    { element: "i8", length: 1 },
    { element: "u16", length: 2 },
    { element: "i32", length: 3 },
    { element: "i16", length: 3 },
    { element: "u32", length: 2 },
    { element: "u8", length: 4 },
    { element: "i8", length: 1 }
  ],
  [
    [255, [-0, NaN, 2 ** -149], 0.5, -128, [65535, 1], [-1, -2, -3], [-32768, 32767, -1], [7, 0xffffffff], [
      1,
      2,
      3,
      255
    ], -1],
    [0, [1, 2, 3], -0, 127, [0, 9], [4, 5, 6], [7, 8, 9], [10, 11], [12, 13, 14, 15], 16]
  ],
  3
)

const lists = Effect.flatMap(taken, ({ elements, lengths }) =>
  forSeeds(seeds(6), (random) => {
    const count = random.integer(1, 6)
    const parameters = Array.from({ length: count }, () => anyParameter(random, elements, lengths))
    const rows = Array.from({ length: 4 }, () => parameters.map((parameter) => anyValue(random, parameter)))
    return roundTrip(parameters, rows, random.integer(0, count))
  }))

/** Values may be arrays or typed arrays. A program that changes one after a dispatch changes nothing of the dispatch. */
const ownCopies = Effect.gen(function*() {
  const parameters = [{ element: "f32", length: 3 }, { element: "i32", length: 2 }] as const
  const kernel = ValueKernel.make(parameters)
  const y = yield* BufferPool.allocate(20)
  const floats = Float64Array.of(1, -0, 0.1)
  const integers = [7, -8]
  yield* CommandQueue.dispatch(kernel, { value0: floats, value1: integers, y }, 1)
  floats.fill(5)
  integers.fill(6)
  const expected = [...ValueKernel.wordsOf("f32", [1, -0, 0.1]), 7, 0xfffffff8]
  Expect.numbers("as it was", yield* CommandQueue.read(y, Uint32Array), expected)
})

const small = [
  ScalarArg("i8", "a"),
  ScalarArg("u8", "b"),
  ScalarArg("i16", "c"),
  ScalarArg("u16", "d")
] as const

const square = (x: Expr.Expr<"u32">) => Expr.multiply(x, x)

/** Sums and products that need more than 8 or 16 bits. */
const elementwise = ElementwiseKernel.make({
  name: "small_elementwise",
  args: [VectorArg("i32", "x"), VectorArg("u32", "y"), ...small],
  outputs: ({ a, b, c, d }) => ({
    x: Expr.multiply(Expr.multiply(Expr.astype(a, "i32"), Expr.astype(c, "i32")), 3),
    y: Expr.add(square(Expr.astype(d, "u32")), Expr.leftShift(Expr.astype(b, "u32"), 4))
  })
})

const read = VectorArg("i32", "x", { access: "read" })

const reduction = ReductionKernel.make({
  name: "small_reduction",
  args: [read, ScalarArg("i8", "a"), ScalarArg("i16", "c")],
  map: ({ a, c, x }) => Expr.add(Expr.multiply(x, Expr.astype(a, "i32")), Expr.astype(c, "i32")),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const scan = ScanKernel.make({
  name: "small_scan",
  args: [read, ScalarArg("u16", "d")],
  map: ({ d, x }) => Expr.multiply(Expr.astype(x, "u32"), Expr.astype(d, "u32")),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const inExpressions = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(12)
  const y = yield* BufferPool.allocate(12)
  yield* CommandQueue.dispatch(elementwise, { x, y, a: -128, b: 255, c: -32768, d: 65535 }, 3)
  Expect.numbers("products", yield* CommandQueue.read(x, Int32Array), [12582912, 12582912, 12582912])
  const sum = 65535 * 65535 + 255 * 16 - 2 ** 32
  Expect.numbers("sums", yield* CommandQueue.read(y, Uint32Array), [sum, sum, sum].map((value) => value >>> 0))
  yield* CommandQueue.write(x, Int32Array.of(100, 200, 300))
  const total = yield* ReductionKernel.run(reduction, { x, a: -128, c: -32768 }, 3)
  Expect.numbers("a reduction", yield* CommandQueue.read(total, Int32Array), [600 * -128 - 3 * 32768])
  const sums = yield* ScanKernel.run(scan, { x, d: 65535 }, 3)
  const expected = [100, 300, 600].map((value) => value * 65535)
  Expect.numbers("a scan", yield* CommandQueue.read(sums, Uint32Array), expected)
  const wide = yield* Effect.flip(CommandQueue.dispatch(elementwise, { x, y, a: 128, b: 0, c: 0, d: 0 }, 3))
  Expect.isTrue("out of range", isGpuError(wide) && wide.message.includes(`argument "a" is 128, no i8`))
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("the extremes of every type arrive exactly, in numbers and in vectors", extremes),
  test("64-bit integers are taken in numbers and in vectors, or Unsupported in both", { counting: true }, longIntegers),
  test("vectors of three, and small integers before and after them, arrive exactly", mixed),
  test("random lists of values arrive exactly", lists),
  test("a dispatch has copies of its arguments", ownCopies),
  test("small integers are cast in expressions", inExpressions)
]
