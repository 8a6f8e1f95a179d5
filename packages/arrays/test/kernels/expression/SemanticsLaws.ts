/**
 * Every operation on every type, on numbers where devices and languages tend to differ, against {@link reference}.
 */
import { Expr } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { type BufferPool, CommandQueue, type DType } from "effect-gpu-pool"
import { isFloat, type Operation, operations } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { formatOf, unitAt } from "../../../../testing/src/expressions/FloatFormat.ts"
import { toleranceOf } from "../../../../testing/src/expressions/Tolerances.ts"
import { Random } from "../../../../testing/src/Random.ts"
import { type Build, evaluate } from "./evaluation.ts"
import * as reference from "./reference.ts"

type FloatType = Expr.FloatType
type IntegerType = Expr.IntegerType

const integerTypes = ["i32", "u32", "i8", "u8", "i16", "u16", "i64", "u64"] as const

/** Small numbers, numbers around powers of two, and the ends of the range. */
const integers = (type: IntegerType): ReadonlyArray<bigint> => {
  const [least, greatest] = reference.rangeOf(type)
  const bits = BigInt(type.slice(1))
  const near = [0n, 1n, -1n, 2n, 3n, 7n, -7n, bits - 1n, bits, bits + 1n, 100n, 255n, -256n, 46_341n, 65_537n]
  const large = [0x55555555n, 1_000_000_007n, 4_000_000_007n, 2n ** 53n + 1n, 3_037_000_500n, -(2n ** 40n) - 1n]
  const ends = [least, least + 1n, greatest / 2n, greatest / 2n + 1n, greatest - 1n, greatest]
  return [...new Set([...near, ...large, ...ends])].filter((value) => value >= least && value <= greatest)
}

const largest: { readonly [T in FloatType]: number } = {
  f16: 65_504,
  f32: (2 - 2 ** -23) * 2 ** 127,
  f64: Number.MAX_VALUE
}

const leastNormal: { readonly [T in FloatType]: number } = { f16: 2 ** -14, f32: 2 ** -126, f64: 2 ** -1022 }

const floats = (type: FloatType): ReadonlyArray<number> =>
  [
    ...[0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4.5, 10, 100.5, 2047, 65_504].flatMap((value) => [value, -value]),
    ...[2 ** 31, 2 ** 31 - 128, 2 ** 32, 2 ** 32 - 256, 16_777_215, 1e30].flatMap((value) => [value, -value]),
    ...[largest[type], leastNormal[type], Infinity].flatMap((value) => [value, -value]),
    NaN
  ].map((value) => reference.hold(type, value)).filter((value, at, all) =>
    all.findIndex((other) => Object.is(other, value)) === at
  )

/** How a backend may deviate, and how much of the work it does. */
export interface Leeway {
  /** It may round a product and a sum in one step. */
  readonly contracts?: boolean
  /** Its quotients may be off by units in the last place, and products with zero where the divisor is above 2^126. */
  readonly dividesLoosely?: boolean
  /** It rounds 64-bit integers to f64 before it rounds them to a smaller float. */
  readonly roundsTwice?: boolean
  /** Types that a device of it may lack. */
  readonly mayLack?: ReadonlyArray<DType.DType>
  /** Only every so many-th pair is tested. */
  readonly every?: number
}

/** All pairs of numbers, or every so many-th pair, each with a third number. */
const pairs = <A>(values: ReadonlyArray<A>, every: number) => {
  const all = values.flatMap((a, row) => values.map((b, column) => ({ a, b, used: (row + column) % every === 0 })))
  const a = all.flatMap(({ a, used }) => used ? [a] : [])
  const b = all.flatMap(({ b, used }) => used ? [b] : [])
  const c = a.map((_, index) => values[(index * 7 + 3) % values.length]!)
  return { a, b, c }
}

const functions: { readonly [name: string]: unknown } = Expr

/** The divisions that round down are made of operations, and take two operands. */
const arityOf = (name: string): number => name in operations ? operations[name as Operation].arity : 2

const applied = <T extends DType.DType>(name: string): Build<T> => ({ a, b, c }) =>
  (functions[name] as (...operands: ReadonlyArray<Expr.Expr>) => Expr.Expr)(...[a, b, c].slice(0, arityOf(name)))

const buildsOf = <T extends DType.DType>(names: ReadonlyArray<string>): Readonly<Record<string, Build<T>>> =>
  Object.fromEntries(names.map((name) => [name, applied<T>(name)]))

/** Zeros of either sign are equal, and a subnormal number may have become zero. */
const agrees = (type: DType.DType, found: number | bigint, expected: number | bigint): boolean =>
  typeof found === "bigint"
    ? found === expected
    : typeof expected === "bigint"
    ? false
    : Number.isNaN(expected)
    ? Number.isNaN(found)
    : found === expected ||
      ((type === "f32" || type === "f16") && Math.abs(expected) < leastNormal[type] && found === 0)

type Results = Effect.Success<ReturnType<typeof evaluate>>

interface Operands<A = number> {
  readonly a: ReadonlyArray<A>
  readonly b: ReadonlyArray<A>
  readonly c: ReadonlyArray<A>
}

/** All results that are not one of those expected, in words. */
const wrongIn = <A extends number | bigint>(
  { exactly, found: numbers }: Results,
  name: string,
  type: DType.DType,
  { a, b, c }: Operands<A>,
  expected: (a: A, b: A, c: A) => number | bigint | boolean | ReadonlyArray<number | bigint>
): ReadonlyArray<string> =>
  a.flatMap((value, index) => {
    const wanted = expected(value, b[index]!, c[index]!)
    const found = (exactly[name] ?? numbers[name])![index]!
    const allowed = typeof wanted === "object"
      ? wanted
      : [typeof wanted !== "boolean" ? wanted : typeof found === "bigint" ? BigInt(wanted) : Number(wanted)]
    return allowed.some((number) => agrees(type, found, number))
      ? []
      : [`${name} of ${type} ${value}, ${b[index]}, ${c[index]}: ${found}, not ${allowed.join(" or ")}`]
  })

const shifts: Readonly<Record<string, Build<IntegerType>>> = {
  leftShift: ({ a, b }) => Expr.leftShift(a, Expr.astype(b, "u32")),
  rightShift: ({ a, b }) => Expr.rightShift(a, Expr.astype(b, "u32"))
}

/** A number together with its magnitude, for which compilers emit special instructions. */
const magnitudes: Readonly<Record<string, Build<IntegerType>>> = {
  leastOfMagnitude: ({ a }) => Expr.minimum(a, Expr.abs(a)),
  greatestOfMagnitude: ({ a }) => Expr.maximum(a, Expr.abs(a)),
  greatestOfThree: ({ a }) => Expr.maximum(Expr.maximum(Expr.subtract(a, a), Expr.abs(a)), a)
}

const selecting: Build<Expr.NumberType> = ({ a, b, c }) => Expr.where(Expr.less(a, b), c, a)

/** Truth values of comparisons. */
const logic: Readonly<Record<string, Build<Expr.NumberType>>> = {
  logicalAnd: ({ a, b, c }) => Expr.logicalAnd(Expr.less(a, b), Expr.less(b, c)),
  logicalOr: ({ a, b, c }) => Expr.logicalOr(Expr.less(a, b), Expr.less(b, c)),
  logicalNot: ({ a, b }) => Expr.logicalNot(Expr.less(a, b)),
  boolToOwn: ({ a, b }) => Expr.astype(Expr.astype(Expr.less(a, b), "bool"), a.type),
  where: selecting
}

const wrongLogic = <A extends number | bigint>(
  results: Results,
  type: DType.DType,
  operands: Operands<A>
): ReadonlyArray<string> => [
  ...wrongIn(results, "logicalAnd", type, operands, (a, b, c) => a < b && b < c),
  ...wrongIn(results, "logicalOr", type, operands, (a, b, c) => a < b || b < c),
  ...wrongIn(results, "logicalNot", type, operands, (a, b) => !(a < b)),
  ...wrongIn(results, "boolToOwn", type, operands, (a, b) => a < b),
  ...wrongIn(results, "where", type, operands, (a, b, c) => a < b ? c : a)
]

/** What a shift takes: the low bits. */
const placesOf = (value: bigint): number => Number(BigInt.asUintN(32, value))

const integerSemantics = Effect.fnUntraced(function*(type: IntegerType, { every = 1 }: Leeway) {
  const operands = pairs(integers(type), every)
  const names = Object.keys(reference.integers)
  const results = yield* evaluate(type, operands, {
    ...buildsOf(names),
    ...buildsOf(Object.keys(reference.comparisons)),
    ...shifts,
    ...magnitudes,
    ...logic
  })
  const magnitude = (a: bigint) => reference.integers.abs!(type, a, 0n, 0n)
  return [
    ...names.flatMap((name) =>
      wrongIn(results, name, type, operands, (a, b, c) => reference.integers[name]!(type, a, b, c))
    ),
    ...Object.entries(reference.comparisons).flatMap(([name, f]) => wrongIn(results, name, type, operands, f)),
    ...wrongIn(results, "leftShift", type, operands, (a, b) => reference.shiftLeft(type, a, placesOf(b))),
    ...wrongIn(results, "rightShift", type, operands, (a, b) => reference.shiftRight(type, a, placesOf(b))),
    ...wrongIn(results, "leastOfMagnitude", type, operands, (a) => a < magnitude(a) ? a : magnitude(a)),
    ...wrongIn(results, "greatestOfMagnitude", type, operands, (a) => a > magnitude(a) ? a : magnitude(a)),
    ...wrongIn(
      results,
      "greatestOfThree",
      type,
      operands,
      (a) => [0n, magnitude(a), a].reduce((most, one) => one > most ? one : most)
    ),
    ...wrongLogic(results, type, operands)
  ]
})

/** The numbers of the type that are no farther from a quotient than devices may be. */
const quotients = (type: FloatType, a: number, b: number): ReadonlyArray<number> => {
  const exact = a / b
  const unit = Number.isFinite(exact) ? unitAt(exact, formatOf(type)) : 0
  // Below a power of two there are numbers at half of the distance.
  const halves = type === "f32" ? [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5] : [-2, -1, 0, 1, 2]
  return halves.map((half) => reference.hold(type, exact + half / 2 * unit))
}

/**
 * Operations that divide, with all quotients that a device may compute. The reciprocal of a large divisor may be zero.
 */
const loose = (contracts: boolean): typeof reference.floats => ({
  divide: (
    type,
    a,
    b
  ) => [
    ...quotients(type as FloatType, a, b),
    ...(Math.abs(b) > 2 ** 126 ? [0, Number.isFinite(a) ? 0 : Number.NaN] : [])
  ],
  fmod: (type, a, b) =>
    quotients(type as FloatType, a, b).flatMap((quotient) => {
      const whole = Math.trunc(quotient)
      const stepByStep = reference.hold(type, a - reference.hold(type, b * whole))
      return contracts ? [stepByStep, reference.roundedOnce(type, -b, whole, a)] : [stepByStep]
    })
})

/** The products that a device may compute: a subnormal one may be zero. */
const products = (type: FloatType, a: number, b: number): readonly [rounded: number, flushed: number] => {
  const rounded = reference.hold(type, a * b)
  return [rounded, Math.abs(rounded) < leastNormal[type] ? 0 : rounded]
}

/** Operations on two products and their sum, where the sum and either product may be rounded once. */
const contracted: typeof reference.floats = {
  mix: (type, a, b, c) => {
    const rest = reference.hold(type, 1 - c)
    const [first, flushedFirst] = products(type as FloatType, a, rest)
    const [second, flushedSecond] = products(type as FloatType, b, c)
    return [
      reference.hold(type, first + second),
      reference.hold(type, flushedFirst + flushedSecond),
      reference.roundedOnce(type, a, rest, second),
      reference.roundedOnce(type, b, c, first)
    ]
  }
}

/** Operations whose results are exact to the last bit, if the operands and the result are finite. */
const floatSemantics = Effect.fnUntraced(function*(
  type: FloatType,
  { contracts = false, dividesLoosely = false, every = 1 }: Leeway
) {
  const operands = pairs(floats(type), every)
  const expected: typeof reference.floats = {
    ...reference.floats,
    ...(dividesLoosely && type !== "f64" ? loose(contracts) : {}),
    ...(contracts ? contracted : {})
  }
  const names = Object.keys(expected)
  const results = yield* evaluate(type, operands, {
    ...buildsOf(names),
    ...buildsOf(Object.keys(reference.comparisons)),
    isNaN: ({ a }) => Expr.isNaN(a),
    isFinite: ({ a }) => Expr.isFinite(a),
    twoSteps: ({ a, b, c }) => Expr.add(Expr.multiply(a, b), c),
    ...logic
  })
  return [
    ...names.flatMap((name) => wrongIn(results, name, type, operands, (a, b, c) => expected[name]!(type, a, b, c))),
    ...Object.entries(reference.comparisons).flatMap(([name, f]) => wrongIn(results, name, type, operands, f)),
    ...wrongIn(results, "twoSteps", type, operands, (a, b, c) => [
      ...products(type, a, b).map((product) => reference.hold(type, product + c)),
      ...(contracts ? [reference.roundedOnce(type, a, b, c)] : [])
    ]),
    ...wrongIn(results, "isNaN", type, operands, Number.isNaN),
    ...wrongIn(results, "isFinite", type, operands, Number.isFinite),
    ...wrongLogic(results, type, operands)
  ]
})

const castSemantics = Effect.fnUntraced(function*(
  type: Exclude<DType.DType, "c64">,
  targets: ReadonlyArray<Expr.ExprType>,
  { roundsTwice = false }: Leeway
) {
  const a = type === "bool" ? [0n, 1n] : isFloat(type) ? [...floats(type), ...moreFloats(type)] : moreIntegers(type)
  const operands = { a, b: a, c: a }
  const results = yield* evaluate(
    type,
    operands,
    Object.fromEntries(targets.map((target) => [target, ({ a }) => Expr.astype(a, target)]))
  )
  return targets.flatMap((target) =>
    wrongIn(
      results,
      target,
      target,
      operands as Operands<number | bigint>,
      (value) => {
        const isSubnormal = typeof value === "number" && value !== 0 && Math.abs(value) < 2 ** -126
        if (isSubnormal && target === "bool") return [0n, 1n]
        const nearest = reference.castOf(type, target, value)
        return roundsTwice && typeof nearest === "number"
          ? [nearest, reference.hold(target, Number(value))]
          : nearest
      }
    ).map((text) => `cast from ${type} to ${text}`)
  )
})

const moreFloats = (type: FloatType): ReadonlyArray<number> =>
  [
    2.9,
    -2.9,
    0.99,
    65_519,
    65_520,
    1.0009765625,
    2 ** -25,
    1e-40,
    127.5,
    -128.9,
    32_767.5,
    2 ** 63,
    -(2 ** 63),
    2 ** 64,
    1e19
  ]
    .map((value) => reference.hold(type, value))

/** Integers halfway between floats of each type, and beside those. */
const moreIntegers = (type: IntegerType): ReadonlyArray<bigint> => {
  const halves = [16_777_217n, 16_777_219n, 2_049n, 2_051n, 65_519n, 65_520n, 2n ** 31n - 129n, 2n ** 31n - 64n]
  const far = [2n ** 53n + 1n, 2n ** 54n + 2n, 2n ** 54n + 6n].flatMap((value) => [value - 1n, value, value + 1n])
  const farther = [24n, 11n].flatMap((digits) => {
    const half = 2n ** 62n + 2n ** (62n - digits)
    return [half - 1n, half, half + 1n, 3n * half / 2n]
  })
  return [...integers(type), ...[...halves, ...far, ...farther].map((value) => reference.wrap(type, value))]
}

/** Elements that are truth values, stored as such. */
const truthSemantics = Effect.gen(function*() {
  const a = [0, 0, 1, 1]
  const b = [0, 1, 0, 1]
  const { exactly } = yield* evaluate("bool", { a, b }, {
    logicalAnd: ({ a, b }) => Expr.logicalAnd(a, b),
    logicalOr: ({ a, b }) => Expr.logicalOr(a, b),
    logicalNot: ({ a }) => Expr.logicalNot(a),
    equal: ({ a, b }) => Expr.equal(a, b),
    notEqual: ({ a, b }) => Expr.notEqual(a, b),
    beside: ({ a }) => Expr.equal(a, true),
    where: ({ a, b }) => Expr.where(a, Expr.logicalNot(b), b),
    constant: () => Expr.constant("bool", true)
  })
  assert.deepStrictEqual(exactly, {
    logicalAnd: [0n, 0n, 0n, 1n],
    logicalOr: [0n, 1n, 1n, 1n],
    logicalNot: [1n, 1n, 0n, 0n],
    equal: [1n, 0n, 0n, 1n],
    notEqual: [0n, 1n, 1n, 0n],
    beside: [0n, 0n, 1n, 1n],
    where: [0n, 1n, 1n, 0n],
    constant: [1n, 1n, 1n, 1n]
  })
})

const i32 = (value: number) => Expr.constant("i32", value)
const u32 = (value: number) => Expr.constant("u32", value)
const f32 = (value: number) => Expr.constant("f32", value)

/** Constant operands: compilers must not refuse them, and must fold them to what devices compute. */
const constantSemantics = Effect.fnUntraced(function*() {
  const most = 2 ** 31 - 1
  const least = -(2 ** 31)
  const expected = {
    sum: [Expr.add(i32(most), i32(1)), least],
    product: [Expr.multiply(u32(2 ** 31), u32(2)), 0],
    quotient: [Expr.truncDivide(i32(5), i32(0)), 0],
    unsignedQuotient: [Expr.truncDivide(u32(5), u32(0)), 0],
    remainder: [Expr.fmod(i32(5), i32(0)), 0],
    leastQuotient: [Expr.truncDivide(i32(least), i32(-1)), least],
    leastRemainder: [Expr.fmod(i32(least), i32(-1)), 0],
    leastAbs: [Expr.abs(i32(least)), least],
    leastNegated: [Expr.negative(i32(least)), least],
    shift: [Expr.leftShift(i32(1), 40), 256],
    arithmeticShift: [Expr.rightShift(i32(-8), 33), -4],
    logicalShift: [Expr.rightShift(u32(2 ** 32 - 1), 63), 1],
    overflow: [Expr.multiply(f32(1e38), f32(10)), Infinity],
    infinite: [Expr.divide(f32(1), f32(0)), Infinity],
    noNumber: [Expr.divide(f32(0), f32(0)), NaN],
    root: [Expr.sqrt(f32(-1)), NaN],
    logarithm: [Expr.log(f32(0)), -Infinity],
    sumOfInfinities: [Expr.add(f32(Infinity), f32(-Infinity)), NaN],
    tooLarge: [Expr.astype(f32(1e30), "i32"), most],
    tooSmall: [Expr.astype(f32(-1), "u32"), 0],
    ofNoNumber: [Expr.astype(f32(NaN), "i32"), 0],
    truth: [Expr.logicalAnd(Expr.constant("bool", true), Expr.constant("bool", false)), 0],
    isNaN: [Expr.isNaN(f32(NaN)), 1],
    equalsNaN: [Expr.equal(f32(NaN), f32(NaN)), 0],
    differsFromNaN: [Expr.notEqual(f32(NaN), f32(NaN)), 1]
  } satisfies Readonly<Record<string, readonly [Expr.Expr, number]>>
  const names = Object.keys(expected) as ReadonlyArray<keyof typeof expected>
  const results = yield* evaluate(
    "f32",
    { a: [0] },
    Object.fromEntries(names.map((name) => [name, () => expected[name][0]]))
  )
  assert.deepStrictEqual(results.found, Object.fromEntries(names.map((name) => [name, [expected[name][1]]])))
})

/** Operations that promise the sign of a zero. */
const zeroSigns = Effect.fnUntraced(function*(type: FloatType) {
  const a = [0, -0]
  const infinite = (value: Expr.Expr<FloatType>) => Expr.divide(Expr.constant(type, 1), value)
  const { found } = yield* evaluate(type, { a }, {
    negate: ({ a }) => infinite(Expr.negative(a)),
    abs: ({ a }) => infinite(Expr.abs(a)),
    sign: ({ a }) => infinite(Expr.sign(a)),
    round: ({ a }) => infinite(Expr.round(Expr.subtract(Expr.abs(a), 0.25))),
    constant: () => infinite(Expr.constant(type, -0))
  })
  assert.deepStrictEqual(found, {
    negate: [-Infinity, Infinity],
    abs: [Infinity, Infinity],
    sign: [Infinity, -Infinity],
    round: [-Infinity, -Infinity],
    constant: [-Infinity, -Infinity]
  })
})

/** Numbers over the whole domain, and those where implementations of functions switch methods. */
const argumentsOf = (type: FloatType): Operands => {
  const random = new Random(20_240)
  const widest = type === "f16" ? 14 : type === "f32" ? 60 : 500
  const scattered = Array.from({ length: 300 }, (_, index) => {
    const scale = index < 150 ? 4 : widest
    return random.pick([1, -1]) * 2 ** (random.integer(-1000, 1000) / 1000 * scale)
  })
  const edges = [0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 7, 88, -80, 100, -150, 1e10, Infinity, -Infinity, NaN]
  const near1 = [1 - 2 ** -8, 1 + 2 ** -8, 1 - 2 ** -10, 1 + 2 ** -10, -1 + 2 ** -10]
  const a = [...edges.flatMap((value) => edges.map(() => value)), ...near1, ...scattered]
  const b = [
    ...edges.flatMap(() => edges),
    ...near1.map(() => 2),
    ...scattered.map((_, index) => scattered.at(-1 - index)!)
  ]
  return { a: a.map((value) => reference.hold(type, value)), b: b.map((value) => reference.hold(type, value)), c: a }
}

const functionSemantics = Effect.fnUntraced(function*(type: FloatType) {
  const operands = argumentsOf(type)
  const { found: results } = yield* evaluate(type, operands, buildsOf(Object.keys(reference.functions)))
  return Object.entries(reference.functions).flatMap(([name, f]) =>
    operands.a.flatMap((a, index) => {
      const given = [a, operands.b[index]!].slice(0, operations[name as Operation].arity)
      const exact = f(a, operands.b[index]!)
      const tolerance = toleranceOf(name as Operation, type, given, exact)
      const found = results[name]![index]!
      if (tolerance === undefined) return []
      // The doubles of the reference are rounded themselves.
      const distance = tolerance + (type === "f64" ? 2 * Math.abs(exact) * 2 ** -52 : 0)
      const bounds = [exact - distance, exact + distance, exact].map((bound) => reference.hold(type, bound))
      const inside = found >= Math.min(...bounds) && found <= Math.max(...bounds)
      const flushed = Math.abs(exact) <= leastNormal[type] * 1.01 && Math.abs(found) <= leastNormal[type] * 1.01
      return inside || flushed || Object.is(found, exact)
        ? []
        : [`${name} of ${type} ${given.join(", ")}: ${found}, not ${exact} ± ${distance}`]
    })
  )
})

const none: ReadonlyArray<string> = []

/** Fails if there are any, and reports only some of many. */
const assertNone = (wrong: ReadonlyArray<string>): void => {
  assert.deepStrictEqual(wrong.length > 30 ? [...wrong.slice(0, 30), `and ${wrong.length - 30} more`] : wrong, none)
}

/** Registers the tests of a backend, which must have these types, except those that it may lack. */
export const semanticsLaws = (
  gpu: Layer.Layer<BufferPool.BufferPool | CommandQueue.CommandQueue, unknown>,
  floatTypes: ReadonlyArray<FloatType>,
  leeway: Leeway = {}
): void => {
  const types: ReadonlyArray<Exclude<DType.DType, "c64">> = [...integerTypes, ...floatTypes, "bool"]
  const { mayLack = [] } = leeway
  const supported = Effect.map(CommandQueue.CommandQueue, ({ info }) => types.filter((type) => info.dtypes.has(type)))

  /** Runs the test on a device that has the type; any other must refuse. */
  const having = <E, R>(type: Exclude<DType.DType, "c64">, test: Effect.Effect<void, E, R>) =>
    Effect.gen(function*() {
      if ((yield* supported).includes(type)) return yield* test
      const error = yield* Effect.flip(evaluate(type, { a: [0] }, { same: ({ a }) => a }))
      assert.strictEqual(error.reason._tag, "Unsupported")
    })

  layer(gpu)("expressions", (it) => {
    it.effect("have the types that the tests have listed", () =>
      Effect.gen(function*() {
        const { info } = yield* CommandQueue.CommandQueue
        const lacking = mayLack.filter((type) => !info.dtypes.has(type))
        assert.sameMembers([...info.dtypes, ...lacking], [...types, "c64"])
      }))

    it.effect.each(integerTypes)(
      "compute with %s",
      (type) => having(type, Effect.map(integerSemantics(type, leeway), assertNone))
    )

    it.effect("compute with bool", () => having("bool", truthSemantics))

    it.effect.each(floatTypes)(
      "compute with %s",
      (type) => having(type, Effect.map(floatSemantics(type, leeway), assertNone))
    )

    it.effect("compute with constants", constantSemantics)

    it.effect.each(types)("cast %s to every type", (type) =>
      having(
        type,
        Effect.gen(function*() {
          const targets = yield* supported
          // Every device takes 8 vectors, of which three are the operands.
          for (let from = 0; from < targets.length; from += 5) {
            assertNone(yield* castSemantics(type, targets.slice(from, from + 5), leeway))
          }
        })
      ))

    it.effect.each(floatTypes)("keep the signs of zeros of %s", (type) => having(type, zeroSigns(type)))

    it.effect.each(floatTypes)(
      "have the functions of %s within their tolerances",
      (type) => having(type, Effect.map(functionSemantics(type), assertNone))
    )
  })
}
