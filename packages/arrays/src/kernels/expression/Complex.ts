/**
 * Operations on complex numbers, made of operations on their parts: what computes f32 computes c64.
 *
 * @internal
 */
import type { ExprType, Operation } from "effect-gpu-pool/Operation"
import { quotientOf } from "./Division.ts"
import { applyReal as apply, complexOf as complex, constantOf, type Expr } from "./Expression.ts"
import { hypotenuseOf } from "./Hypotenuse.ts"

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
 * Divides by the greater part of the divisor first, as NumPy does, so that squares do not overflow.
 *
 * @see R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962)
 */
const quotient = (a: Expr, b: Expr): Expr => {
  const isWide = apply("greaterEqual", [apply("abs", [real(b)]), apply("abs", [imag(b)])])
  const greater = apply("where", [isWide, real(b), imag(b)])
  const lesser = apply("where", [isWide, imag(b), real(b)])
  const ratio = quotientOf(lesser, greater)
  const scale = apply("add", [greater, apply("multiply", [lesser, ratio])])
  const [first, second] = [apply("where", [isWide, real(a), imag(a)]), apply("where", [isWide, imag(a), real(a)])]
  const along = apply("add", [first, apply("multiply", [second, ratio])])
  const across = apply("subtract", [second, apply("multiply", [first, ratio])])
  const byZero = isZero(b)
  const nothing = apply("abs", [real(b)])
  const part = (ofZero: Expr, value: Expr): Expr =>
    apply("where", [byZero, apply("divide", [ofZero, nothing]), quotientOf(value, scale)])
  return complex(
    part(real(a), along),
    part(imag(a), apply("where", [isWide, across, apply("negative", [across])]))
  )
}

/** `e^x` at the angle `y`. An angle of 0 stays 0, also where `e^x` is infinite. */
const exponential = (z: Expr): Expr => {
  const magnitude = apply("exp", [real(z)])
  const angle = imag(z)
  const isReal = apply("equal", [angle, 0])
  return complex(
    apply("where", [isReal, magnitude, apply("multiply", [magnitude, apply("cos", [angle])])]),
    apply("where", [isReal, angle, apply("multiply", [magnitude, apply("sin", [angle])])])
  )
}

const logarithm = (z: Expr): Expr =>
  complex(apply("log", [hypotenuseOf(real(z), imag(z))]), apply("atan2", [imag(z), real(z)]))

/** The root with a real part that is not negative. No difference of nearly equal numbers is computed. */
const root = (z: Expr): Expr => {
  const [x, y] = [apply("multiply", [real(z), 0.5]), apply("multiply", [imag(z), 0.5])]
  const greater = apply("sqrt", [apply("add", [hypotenuseOf(x, y), apply("abs", [x])])])
  const lesser = apply("where", [apply("equal", [greater, 0]), 0, quotientOf(apply("abs", [y]), greater)])
  const isRight = apply("greaterEqual", [x, 0])
  const height = apply("where", [isRight, lesser, greater])
  return complex(
    apply("where", [isRight, greater, lesser]),
    apply("where", [apply("less", [y, 0]), apply("negative", [height]), height])
  )
}

/** Anything to the power 0 is 1. */
const power = (base: Expr, exponent: Expr): Expr => {
  const value = exponential(product(exponent, logarithm(base)))
  const ofZero = apply("where", [isZero(base), complex(number(0), number(0)), value])
  return apply("where", [isZero(exponent), complex(number(1), number(0)), ofZero])
}

const hyperbolic = (ofReal: "sinh" | "cosh", ofImaginary: "sinh" | "cosh") => (z: Expr): Expr =>
  complex(
    apply("multiply", [apply(ofReal, [real(z)]), apply("cos", [imag(z)])]),
    apply("multiply", [apply(ofImaginary, [real(z)]), apply("sin", [imag(z)])])
  )

const [sinh, cosh] = [hyperbolic("sinh", "cosh"), hyperbolic("cosh", "sinh")]

/** Of the tangents of the parts, which stay finite where sines and cosines of large numbers do not. */
const tanh = (z: Expr): Expr => {
  const [x, y] = [apply("tanh", [real(z)]), apply("tan", [imag(z)])]
  return quotient(complex(x, y), complex(number(1), apply("multiply", [x, y])))
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
  sign: (z) => {
    const length = complex(hypotenuseOf(real(z), imag(z)), number(0))
    return apply("where", [isZero(z), z, quotient(z, length)])
  },
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
