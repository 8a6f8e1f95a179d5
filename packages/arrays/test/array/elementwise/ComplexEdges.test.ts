/** Complex numbers of any size, zeros with a sign and infinities: against doubles, and against what C99 and NumPy give. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, describe, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { costOf, type GpuLayer, onEveryBackend, property, refuses, strictHost } from "../ArrayBackends.ts"

type Pair = readonly [real: number, imaginary: number]

type Complex = DeviceArray.DeviceArray<"c64">

type Unary = (x: Complex) => DeviceArray.Computed<"c64">

const upload = (pairs: ReadonlyArray<Pair>) =>
  DeviceArray.fromHost(Float32Array.from(pairs.flat()), { dtype: "c64", shape: [pairs.length] })

const pairsOf = (parts: Float32Array): ReadonlyArray<Pair> =>
  Array.from({ length: parts.length / 2 }, (_, at) => [parts[2 * at]!, parts[2 * at + 1]!])

const results = (made: DeviceArray.Computed<"c64">) =>
  Effect.map(Effect.flatMap(made, DeviceArray.toHost), (parts) => pairsOf(parts as Float32Array))

/** From the least to the greatest that are normal numbers. */
const anySize = fc.tuple(
  fc.double({ min: 1, max: 2, noNaN: true }),
  fc.oneof(fc.integer({ min: -120, max: 127 }), fc.integer({ min: -3, max: 3 }), fc.integer({ min: 120, max: 127 })),
  fc.constantFrom(1, -1)
).map(([mantissa, exponent, sign]) => sign * Math.min(Math.fround(mantissa * 2 ** exponent), 3.4e38))

const part = fc.oneof({ arbitrary: anySize, weight: 9 }, { arbitrary: fc.constantFrom(0, -0), weight: 1 })

const anyOf = (arbitrary: fc.Arbitrary<number>): fc.Arbitrary<ReadonlyArray<Pair>> =>
  fc.array(fc.tuple(arbitrary, arbitrary), { minLength: 1, maxLength: 12 })

const ordinaryPart = fc.double({ min: -9, max: 9, noNaN: true })

const ordinary: fc.Arbitrary<Pair> = fc.tuple(ordinaryPart, ordinaryPart)

/** The greatest error of a part, compared with the magnitude. */
const rounding = 2e-5

const least = 2 ** -100

const agree = (
  name: string,
  inputs: ReadonlyArray<unknown>,
  found: ReadonlyArray<Pair>,
  expected: ReadonlyArray<Pair>
) =>
  found.forEach((pair, at) => {
    const size = Math.hypot(...expected[at]!)
    pair.forEach((value, which) => {
      const wanted = Math.fround(expected[at]![which]!)
      const isNear = Math.abs(value - wanted) <= rounding * Math.max(size, least)
      const message = `${name} of ${inputs[at]} is ${pair}, not ${expected[at]}`
      assert.isTrue(value === wanted || isNear || (Number.isNaN(value) && Number.isNaN(wanted)), message)
    })
  })

/** Compares the whole number: devices lose the last digits of exponentials of large numbers. */
const near = (name: string, z: ReadonlyArray<Pair>, found: ReadonlyArray<Pair>, expected: ReadonlyArray<Pair>) =>
  found.forEach((pair, at) => {
    const [x, y] = expected[at]!
    const error = Math.hypot(pair[0] - x, pair[1] - y) / Math.max(Math.hypot(x, y), least)
    const bound = 1e-3 + 1e-6 * Math.max(...z[at]!.map(Math.abs))
    assert.isAtMost(error, bound, `${name} of ${z[at]} is ${pair}, not ${expected[at]}`)
  })

const rootOf = ([x, y]: Pair): Pair => {
  const greater = Math.sqrt((Math.hypot(x, y) + Math.abs(x)) / 2)
  if (greater === 0) return [0, y]
  const lesser = y / (2 * greater)
  const isBelow = y < 0 || Object.is(y, -0)
  return x >= 0 ? [greater, lesser] : [Math.abs(lesser), isBelow ? -greater : greater]
}

const directionOf = ([x, y]: Pair): Pair => {
  const length = Math.hypot(x, y)
  return length === 0 ? [x, y] : [x / length, y / length]
}

const hyperbolic = ([x, y]: Pair) => {
  const [sinh, cosh] = [Math.sinh(x), Math.cosh(x)]
  const sine: Pair = [sinh * Math.cos(y), cosh * Math.sin(y)]
  const cosine: Pair = [cosh * Math.cos(y), sinh * Math.sin(y)]
  const width = Math.sinh(x) ** 2 + Math.cos(y) ** 2
  return { sine, cosine, tangent: [sinh * cosh / width, Math.sin(y) * Math.cos(y) / width] as Pair }
}

const swappedBack = ([x, y]: Pair): Pair => [y, -x]

const quotientOf = ([a, b]: Pair, [c, d]: Pair): Pair => {
  const size = c * c + d * d
  return [(a * c + b * d) / size, (b * c - a * d) / size]
}

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    it.effect("have roots, logarithms and directions, of any size", () =>
      property(anyOf(part), (z) =>
        Effect.gen(function*() {
          const x = yield* upload(z)
          agree("sqrt", z, yield* results(DeviceArray.sqrt(x)), z.map(rootOf))
          agree("sign", z, yield* results(DeviceArray.sign(x)), z.map(directionOf))
          const nonzero = z.map(([a, b]): Pair => a === 0 && b === 0 ? [1, 0] : [a, b])
          const logarithms = nonzero.map(([a, b]): Pair => [Math.log(Math.hypot(a, b)), Math.atan2(b, a)])
          agree("log", nonzero, yield* results(Effect.flatMap(upload(nonzero), DeviceArray.log)), logarithms)
        }), { numRuns: runs(100) }))

    it.effect("have quotients by divisors of any size", () =>
      property(
        fc.array(fc.tuple(anySize, anySize, fc.double({ min: -4, max: 4, noNaN: true }), anySize), { minLength: 1 }),
        (cases) =>
          Effect.gen(function*() {
            const divisors = cases.map(([c, d]): Pair => [c, d])
            // So that the quotient is a number of an ordinary size.
            const dividends = cases.map(([c, d, factor]): Pair => [
              Math.fround(d / 8 + factor * c / 16),
              Math.fround(c / 8 - factor * d / 16)
            ])
            const found = yield* results(DeviceArray.divide(yield* upload(dividends), yield* upload(divisors)))
            agree("divide", cases, found, dividends.map((z, at) => quotientOf(z, divisors[at]!)))
          }),
        { numRuns: runs(100) }
      ))

    it.effect("have exponential and hyperbolic functions up to the greatest numbers", () =>
      property(
        fc.array(
          fc.tuple(fc.double({ min: -88, max: 88, noNaN: true }), fc.double({ min: -3, max: 3, noNaN: true })),
          { minLength: 1, maxLength: 12 }
        ),
        (cases) =>
          Effect.gen(function*() {
            const z = cases.map(([x, y]): Pair => [Math.fround(x), Math.fround(y)])
            const turned = z.map(swappedBack)
            const [x, y] = [yield* upload(z), yield* upload(turned)]
            const of = z.map(hyperbolic)
            const powers = z.map(([a, b]): Pair => [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)])
            near("exp", z, yield* results(DeviceArray.exp(x)), powers)
            near("sinh", z, yield* results(DeviceArray.sinh(x)), of.map(({ sine }) => sine))
            near("cosh", z, yield* results(DeviceArray.cosh(x)), of.map(({ cosine }) => cosine))
            near("sin", turned, yield* results(DeviceArray.sin(y)), of.map(({ sine }) => swappedBack(sine)))
            near("cos", turned, yield* results(DeviceArray.cos(y)), of.map(({ cosine }) => cosine))
            const gentle = z.map(([a, b]): Pair => [a, b / 3])
            const tangents = gentle.map((pair) => hyperbolic(pair).tangent)
            near("tanh", gentle, yield* results(Effect.flatMap(upload(gentle), DeviceArray.tanh)), tangents)
            const other = gentle.map(swappedBack)
            near(
              "tan",
              other,
              yield* results(Effect.flatMap(upload(other), DeviceArray.tan)),
              tangents.map(swappedBack)
            )
          }),
        { numRuns: runs(60) }
      ))

    it.effect("have functions that are finite where the power of e is not", () =>
      Effect.gen(function*() {
        const z: ReadonlyArray<Pair> = [[89, 0.75], [-89, -0.75], [89, 2.375]]
        const x = yield* upload(z)
        const of = z.map(hyperbolic)
        const powers = z.map(([a, b]): Pair => [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)])
        near("exp", z, yield* results(DeviceArray.exp(x)), powers)
        near("sinh", z, yield* results(DeviceArray.sinh(x)), of.map(({ sine }) => sine))
        near("cosh", z, yield* results(DeviceArray.cosh(x)), of.map(({ cosine }) => cosine))
        // The imaginary part alone, which is small.
        const [, height] = (yield* results(Effect.flatMap(upload([[10, 0.5]]), DeviceArray.tanh)))[0]!
        assert.closeTo(height / hyperbolic([10, 0.5]).tangent[1], 1, 1e-3)
      }))

    it.effect("keep the signs of zeros on branch cuts", () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<readonly [name: string, of: Unary, from: Pair, to: Pair]> = [
          ["sqrt", DeviceArray.sqrt, [-4, 0], [0, 2]],
          ["sqrt", DeviceArray.sqrt, [-4, -0], [0, -2]],
          ["sqrt", DeviceArray.sqrt, [4, -0], [2, -0]],
          ["sqrt", DeviceArray.sqrt, [-0, -0], [0, -0]],
          ["exp", DeviceArray.exp, [0, -0], [1, -0]],
          ["sinh", DeviceArray.sinh, [0, -0], [0, -0]],
          ["cosh", DeviceArray.cosh, [-1, 0], [Math.fround(Math.cosh(1)), -0]],
          ["tanh", DeviceArray.tanh, [0, -0], [0, -0]],
          ["sin", DeviceArray.sin, [-0, 0], [-0, 0]],
          ["sign", DeviceArray.sign, [-2, -0], [-1, -0]],
          ["negative", DeviceArray.negative, [0, -0], [-0, 0]],
          ["conj", DeviceArray.conj, [-0, 0], [-0, -0]]
        ]
        for (const [name, of, from, to] of table) {
          const [x, y] = (yield* results(Effect.flatMap(upload([from]), of)))[0]!
          const message = `${name} of ${from} is ${x}, ${y}`
          assert.isTrue(Object.is(x === 0 ? x : Math.sign(x), to[0] === 0 ? to[0] : Math.sign(to[0])), message)
          assert.isTrue(Object.is(y === 0 ? y : Math.sign(y), to[1] === 0 ? to[1] : Math.sign(to[1])), message)
        }
        const [, angle] = (yield* results(Effect.flatMap(upload([[-1, -0]]), DeviceArray.log)))[0]!
        assert.isBelow(angle, -3)
      }))

    it.effect("are rounded after each operation, also in one kernel", () =>
      property(fc.array(fc.tuple(ordinary, ordinary, ordinary), { minLength: 1 }), (rows) =>
        Effect.gen(function*() {
          const a = yield* upload(rows.map(([z]) => z))
          const b = yield* upload(rows.map(([, z]) => z))
          const c = yield* upload(rows.map(([, , z]) => z))
          const program = Effect.gen(function*() {
            const difference = yield* DeviceArray.subtract(yield* DeviceArray.add(a, b), a)
            const sum = yield* DeviceArray.add(yield* DeviceArray.multiply(a, c), yield* DeviceArray.multiply(b, c))
            return yield* DeviceArray.add(difference, sum)
          })
          deepStrictEqual(yield* results(DeviceArray.lazy(program)), yield* results(program))
        }), { numRuns: runs(30) }))

    it.effect("have powers of zero where NumPy has them", () =>
      Effect.gen(function*() {
        const base = yield* upload([[0, 0], [0, 0], [0, 0], [0, 0]])
        const exponent = yield* upload([[0, 0], [2, 1], [-1, 0], [0, 1]])
        const found = yield* results(DeviceArray.power(base, exponent))
        deepStrictEqual(found, [[1, 0], [0, 0], [NaN, NaN], [NaN, NaN]])
      }))
  })
}

describe("Edges of complex numbers", () => {
  onEveryBackend(laws)

  describe("on the host", () => {
    layer(strictHost)((it) => {
      it.effect("have the roots, directions and functions of infinite numbers that NumPy has", () =>
        Effect.gen(function*() {
          const infinite: ReadonlyArray<Pair> = [[Infinity, 1], [-Infinity, 1], [1, -Infinity], [Infinity, -Infinity]]
          const x = yield* upload(infinite)
          const roots: ReadonlyArray<Pair> = [[Infinity, 0], [0, Infinity], [Infinity, -Infinity], [
            Infinity,
            -Infinity
          ]]
          deepStrictEqual(yield* results(DeviceArray.sqrt(x)), roots)
          deepStrictEqual(yield* results(DeviceArray.sign(x)), [[1, 0], [-1, 0], [0, -1], [NaN, NaN]])
          const reals = yield* upload([[Infinity, 0], [-Infinity, 0], [1000, 0]])
          deepStrictEqual(yield* results(DeviceArray.exp(reals)), [[Infinity, 0], [0, 0], [Infinity, 0]])
          deepStrictEqual(yield* results(DeviceArray.sinh(reals)), [[Infinity, 0], [-Infinity, 0], [Infinity, 0]])
          deepStrictEqual(yield* results(DeviceArray.cosh(reals)), [[Infinity, 0], [Infinity, -0], [Infinity, 0]])
          deepStrictEqual(yield* results(DeviceArray.tanh(reals)), [[1, 0], [-1, 0], [1, 0]])
        }))

      it.effect("are divided by zeros as real numbers are", () =>
        Effect.gen(function*() {
          const x = yield* upload([[1, -2], [0, 3], [-1, 0]])
          const zeros = yield* upload([[-0, 0], [0, -0], [0, 0]])
          const found = yield* results(DeviceArray.divide(x, zeros))
          deepStrictEqual(found, [[Infinity, -Infinity], [NaN, Infinity], [-Infinity, NaN]])
        }))

      it.effect("are InvalidRequest in a kernel of too many operations", () =>
        Effect.gen(function*() {
          const z = yield* BufferPool.allocate(8)
          const steps: ReadonlyArray<(z: Expr.Expr<"c64">) => Expr.Expr<"c64">> = [
            Expr.sqrt,
            Expr.exp,
            Expr.log,
            Expr.sin,
            Expr.cosh,
            Expr.tanh,
            Expr.sign,
            Expr.multiply(0.5),
            Expr.divide(2),
            Expr.power(0.5)
          ]
          for (const step of steps) {
            const deep = ElementwiseKernel.make({
              name: "deep",
              args: [VectorArg("c64", "z")],
              outputs: (inputs) => ({
                z: Array.from({ length: 1000 }).reduce((y: Expr.Expr<"c64">) => step(y), inputs.z)
              })
            })
            yield* refuses("InvalidRequest", CommandQueue.dispatch(deep, { z }, 1), "1000 operations deep")
          }
        }))

      it.effect("are computed in several kernels where one cannot have all operations", () =>
        Effect.gen(function*() {
          const x = yield* upload([[1.5, -0.5], [0.25, 2]])
          const steps: Readonly<Record<string, Unary>> = {
            add: DeviceArray.add(x),
            multiply: DeviceArray.multiply(x),
            divide: DeviceArray.divide(x),
            power: DeviceArray.power(x),
            sign: DeviceArray.sign,
            sqrt: DeviceArray.sqrt,
            exp: DeviceArray.exp,
            log: DeviceArray.log,
            sin: DeviceArray.sin,
            tan: DeviceArray.tan,
            cosh: DeviceArray.cosh
          }
          for (const [name, step] of Object.entries(steps)) {
            const chain = Effect.gen(function*() {
              let z: Complex = x
              for (let round = 0; round < 100; round++) z = yield* step(z)
              return z
            })
            const plain = (pairs: ReadonlyArray<Pair>) => pairs.map(([a, b]) => [a + 0, b + 0])
            deepStrictEqual(plain(yield* results(DeviceArray.lazy(chain))), plain(yield* results(chain)), name)
          }
        }))

      it.effect("leave chains of real functions in one kernel", () =>
        Effect.gen(function*() {
          const x = yield* DeviceArray.fromHost([2, 3])
          const chain = Effect.gen(function*() {
            let y: DeviceArray.DeviceArray<"f32"> = x
            for (let round = 0; round < 20; round++) y = yield* DeviceArray.tanh(yield* DeviceArray.sqrt(y))
            return y
          })
          strictEqual((yield* costOf(DeviceArray.lazy(chain))).kernels, 1)
        }))
    })
  })
})
