/**
 * Operations on complex numbers, made of operations on their parts: what computes f32 computes c64.
 *
 * @internal
 */
import type { ExprType, Operation } from "effect-gpu-pool/Operation"
import { applyReal as apply, complexOf as complex, constantOf, type Expr } from "./Expression.ts"
import { hypotenuseOf, infinite } from "./Hypotenuse.ts"

/** The real part; of a number that is made of its parts in the same expression, that part itself. */
const real = (z: Expr): Expr => partOf("real", z)

const imag = (z: Expr): Expr => partOf("imag", z)

const partOf = (part: "real" | "imag", z: Expr): Expr => {
  const { node } = z
  if (node._tag === "Apply" && node.operation === "complex") return node.operands[part === "real" ? 0 : 1]!
  return apply(part, [z])
}

const number = (value: number): Expr => constantOf("Expr.constant", "f32", value)

const isZero = (z: Expr): Expr => apply("logicalAnd", [apply("equal", [real(z), 0]), apply("equal", [imag(z), 0])])

const product = (a: Expr, b: Expr): Expr =>
  complex(
    apply("subtract", [apply("multiply", [real(a), real(b)]), apply("multiply", [imag(a), imag(b)])]),
    apply("add", [apply("multiply", [real(a), imag(b)]), apply("multiply", [imag(a), real(b)])])
  )

/**
 * A factor that keeps sums of a few numbers of this size finite; it is 1 for most of them, whose last bits it would take from
 * subnormal ones.
 */
const scaleOf = (isLarge: Expr): Expr => apply("where", [isLarge, number(1 / 16), 1])

const greaterThan = (x: Expr, limit: number): Expr => apply("greater", [x, limit])

const isLarge = (x: Expr): Expr => greaterThan(apply("abs", [x]), 1e37)

/** The parts and the length of a number, divided by 16 where a part is large. */
const scaled = (z: Expr) => {
  const isAnyLarge = apply("logicalOr", [isLarge(real(z)), isLarge(imag(z))])
  const scale = scaleOf(isAnyLarge)
  const [x, y] = [apply("multiply", [real(z), scale]), apply("multiply", [imag(z), scale])]
  return { x, y, length: hypotenuseOf(x, y), isAnyLarge }
}

/**
 * Divides by the greater part of the divisor first, as NumPy does, so that squares do not overflow.
 *
 * @see R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962)
 */
const quotient = (a: Expr, b: Expr): Expr => {
  const isWide = apply("greaterEqual", [apply("abs", [real(b)]), apply("abs", [imag(b)])])
  const pick = (wide: Expr, narrow: Expr): Expr => apply("where", [isWide, wide, narrow])
  const unscaled = pick(real(b), imag(b))
  const scale = scaleOf(isLarge(unscaled))
  const times = (x: Expr): Expr => apply("multiply", [x, scale])
  const [greater, lesser] = [times(unscaled), times(pick(imag(b), real(b)))]
  const [first, second] = [times(pick(real(a), imag(a))), times(pick(imag(a), real(a)))]
  const ratio = apply("divide", [lesser, greater])
  const length = apply("add", [greater, apply("multiply", [lesser, ratio])])
  const along = apply("add", [first, apply("multiply", [second, ratio])])
  const turned = apply("multiply", [first, ratio])
  const across = pick(apply("subtract", [second, turned]), apply("subtract", [turned, second]))
  const byZero = isZero(b)
  const nothing = apply("abs", [real(b)])
  const part = (ofZero: Expr, value: Expr): Expr =>
    apply("where", [byZero, apply("divide", [ofZero, nothing]), apply("divide", [value, length])])
  return complex(part(real(a), along), part(imag(a), across))
}

/**
 * Half of a number that is so large that `e^x` may be infinite, else the number. A function that grows like `e^x` is computed of
 * that, and multiplied twice, so that its product with a small sine is finite where `e^x` is not.
 */
const halved = (x: Expr) => {
  const isSteep = greaterThan(apply("abs", [x]), 80)
  return { isSteep, half: apply("where", [isSteep, apply("multiply", [x, 0.5]), x]) }
}

/** `e^x` at the angle `y`. An angle of 0 stays 0, also where `e^x` is infinite. */
const exponential = (z: Expr): Expr => {
  const { half, isSteep } = halved(real(z))
  const root = apply("exp", [half])
  const rest = apply("where", [isSteep, root, 1])
  const angle = imag(z)
  const isReal = apply("equal", [angle, 0])
  const part = (factor: Expr): Expr => apply("multiply", [apply("multiply", [root, factor]), rest])
  return complex(
    apply("where", [isReal, apply("multiply", [root, rest]), part(apply("cos", [angle]))]),
    apply("where", [isReal, angle, part(apply("sin", [angle]))])
  )
}

const logarithm = (z: Expr): Expr => {
  const { isAnyLarge, length } = scaled(z)
  const rest = apply("where", [isAnyLarge, number(Math.log(16)), 0])
  return complex(apply("add", [apply("log", [length]), rest]), apply("atan2", [imag(z), real(z)]))
}

/**
 * The root with a real part that is not negative; the imaginary part has the sign of the number's, also where that is a zero. No
 * difference of nearly equal numbers is computed.
 */
const root = (z: Expr): Expr => {
  const [x, y] = [real(z), imag(z)]
  const isAnyLarge = apply("logicalOr", [isLarge(x), isLarge(y)])
  // The root of 8 times a number, over 4, is that of half the number; and so is that of an eighth, times 2.
  const scale = apply("where", [isAnyLarge, number(1 / 8), 8])
  const [a, b] = [apply("multiply", [x, scale]), apply("multiply", [y, scale])]
  const sum = apply("add", [hypotenuseOf(a, b), apply("abs", [a])])
  const greater = apply("multiply", [apply("sqrt", [sum]), apply("where", [isAnyLarge, number(2), 0.25])])
  const isItself = apply("logicalOr", [apply("equal", [greater, 0]), infinite(y)])
  const lesser = apply("where", [isItself, y, apply("divide", [y, apply("add", [greater, greater])])])
  const isRight = apply("greaterEqual", [x, 0])
  // Left of the imaginary axis the angle has the sign of the imaginary part.
  const isBelow = apply("less", [apply("atan2", [y, x]), 0])
  const height = apply("where", [isBelow, apply("negative", [greater]), greater])
  return complex(
    apply("where", [isRight, greater, apply("abs", [lesser])]),
    apply("where", [isRight, lesser, height])
  )
}

/** Anything to the power 0 is 1. A zero has other powers only where the real part of the exponent is positive, as in NumPy. */
const power = (base: Expr, exponent: Expr): Expr => {
  const value = exponential(product(exponent, logarithm(base)))
  const ofZero = apply("where", [greaterThan(real(exponent), 0), number(0), number(NaN)])
  const ofBase = apply("where", [isZero(base), complex(ofZero, ofZero), value])
  return apply("where", [isZero(exponent), complex(number(1), number(0)), ofBase])
}

/** Of real numbers it is real, also where a hyperbolic function is infinite. */
const hyperbolic = (ofReal: "sinh" | "cosh") => (z: Expr): Expr => {
  const [x, y] = [real(z), imag(z)]
  const { half, isSteep } = halved(x)
  const [sinh, cosh] = [apply("sinh", [half]), apply("cosh", [half])]
  const rest = apply("where", [isSteep, apply("add", [cosh, cosh]), 1])
  const part = (a: Expr, b: Expr): Expr => apply("multiply", [apply("multiply", [a, b]), rest])
  const [along, across] = ofReal === "sinh" ? [sinh, cosh] : [cosh, sinh]
  const isReal = apply("equal", [y, 0])
  const zero = ofReal === "sinh" ? y : apply("multiply", [y, apply("clip", [x, -1, 1])])
  return complex(
    apply("where", [isReal, apply("multiply", [along, rest]), part(along, apply("cos", [y]))]),
    apply("where", [isReal, zero, part(across, apply("sin", [y]))])
  )
}

const [sinh, cosh] = [hyperbolic("sinh"), hyperbolic("cosh")]

/**
 * Of the tangents of the parts, which stay finite where sines and cosines of large numbers do not.
 *
 * @see W. Kahan, Branch cuts for complex elementary functions, The State of the Art in Numerical Analysis (1987)
 */
const tanh = (z: Expr): Expr => {
  const [x, y] = [apply("tanh", [real(z)]), apply("tan", [imag(z)])]
  const both = apply("multiply", [x, y])
  const divisor = apply("add", [apply("multiply", [both, both]), 1])
  const slope = apply("add", [apply("multiply", [y, y]), 1])
  // Beyond 45 the imaginary part is less than any normal number.
  const width = apply("cosh", [apply("clip", [real(z), -45, 45])])
  const height = apply("divide", [apply("divide", [y, width]), width])
  return complex(
    apply("divide", [apply("multiply", [x, slope]), divisor]),
    apply("divide", [height, divisor])
  )
}

/** Its direction. That of an infinite number is known if one part is finite. */
const direction = (z: Expr): Expr => {
  const { length, x, y } = scaled(z)
  const part = (ofScaled: Expr, of: Expr, other: Expr): Expr => {
    const isAlong = apply("logicalAnd", [infinite(of), apply("isFinite", [other])])
    return apply("where", [isAlong, apply("clip", [of, -1, 1]), apply("divide", [ofScaled, length])])
  }
  return apply("where", [isZero(z), z, complex(part(x, real(z), imag(z)), part(y, imag(z), real(z)))])
}

/** A number times `i`. */
const turned = (z: Expr): Expr => complex(apply("negative", [imag(z)]), real(z))

const turnedBack = (z: Expr): Expr => complex(imag(z), apply("negative", [real(z)]))

const forms: { readonly [name in Operation]?: (a: Expr, b: Expr) => Expr } = {
  real,
  imag,
  add: (a, b) => complex(apply("add", [real(a), real(b)]), apply("add", [imag(a), imag(b)])),
  subtract: (a, b) => complex(apply("subtract", [real(a), real(b)]), apply("subtract", [imag(a), imag(b)])),
  multiply: product,
  divide: quotient,
  negative: (z) => complex(apply("negative", [real(z)]), apply("negative", [imag(z)])),
  abs: (z) => hypotenuseOf(real(z), imag(z)),
  sign: direction,
  sqrt: root,
  exp: exponential,
  log: logarithm,
  power,
  sinh,
  cosh,
  tanh,
  sin: (z) => turnedBack(sinh(turned(z))),
  cos: (z) => cosh(turned(z)),
  tan: (z) => turnedBack(tanh(turned(z))),
  equal: (a, b) => apply("logicalAnd", [apply("equal", [real(a), real(b)]), apply("equal", [imag(a), imag(b)])]),
  notEqual: (a, b) =>
    apply("logicalOr", [apply("notEqual", [real(a), real(b)]), apply("notEqual", [imag(a), imag(b)])]),
  isNaN: (z) => apply("logicalOr", [apply("isNaN", [real(z)]), apply("isNaN", [imag(z)])]),
  isFinite: (z) => apply("logicalAnd", [apply("isFinite", [real(z)]), apply("isFinite", [imag(z)])])
}

/** An operation on complex numbers, or a cast from or to them; `undefined` where no operand or result is complex. */
export const ofComplex = (operation: Operation, operands: ReadonlyArray<Expr>, result: ExprType): Expr | undefined => {
  const [a, b] = operands as readonly [Expr, Expr]
  if (operation === "astype") return cast(a, result)
  return a.type === "c64" ? forms[operation]?.(a, b) : undefined
}

/** Of a complex number the real part goes to a type of real numbers. */
const cast = (value: Expr, result: ExprType): Expr | undefined => {
  if (value.type === "c64") {
    if (result === "c64") return value
    return result === "bool" ? apply("logicalNot", [isZero(value)]) : apply("astype", [real(value)], result)
  }
  return result === "c64" ? complex(apply("astype", [value], "f32"), number(0)) : undefined
}
