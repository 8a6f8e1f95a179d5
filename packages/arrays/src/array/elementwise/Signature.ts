/**
 * The element types of elementwise operations, computed once for every combination of operands.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { bitsOf, isInteger, isUnsigned } from "effect-gpu-pool/Operation"
import * as Promotion from "../layout/Promotion.ts"

/** The type to which each operand is cast first, and the type of the result. */
export interface Signature {
  readonly operands: ReadonlyArray<DType>
  readonly result: DType
}

type Each<A> = { readonly [D in DType]: A }

/** Signatures by the types of the operands; `undefined` where the operation does not support them. */
export type UnarySignatures = Each<Signature | undefined>

export type BinarySignatures = Each<UnarySignatures>

const each = <A>(make: (dtype: DType) => A): Each<A> => ({
  f32: make("f32"),
  i32: make("i32"),
  u32: make("u32"),
  f16: make("f16"),
  f64: make("f64"),
  i8: make("i8"),
  u8: make("u8"),
  i16: make("i16"),
  u16: make("u16"),
  i64: make("i64"),
  u64: make("u64"),
  c64: make("c64"),
  bool: make("bool")
})

/** Any type to itself. */
export const any: UnarySignatures = each((dtype) => ({ operands: [dtype], result: dtype }))

const isReal = (dtype: DType): boolean => dtype !== "c64"

/** Numbers, also complex ones, to themselves; there is no such operation on truth values. */
export const same: UnarySignatures = each((dtype) => dtype === "bool" ? undefined : any[dtype])

/** Real numbers and truth values to themselves. */
export const ordered: UnarySignatures = each((dtype) => isReal(dtype) ? any[dtype] : undefined)

/** Real numbers to themselves. */
export const orderedNumber: UnarySignatures = each((dtype) => isReal(dtype) ? same[dtype] : undefined)

/** Any type to that of its real part. */
export const part: UnarySignatures = each((dtype) => ({ operands: [dtype], result: Promotion.real(dtype) }))

const hasBits = (dtype: DType): boolean => isInteger(dtype) || dtype === "bool"

/** Integers and truth values to themselves. */
export const bits: UnarySignatures = each((dtype) => hasBits(dtype) ? any[dtype] : undefined)

/** Integers to themselves. */
export const integer: UnarySignatures = each((dtype) => isInteger(dtype) ? same[dtype] : undefined)

/** Functions of real and of complex numbers. */
export const analytic: UnarySignatures = each((dtype) => {
  const type = Promotion.floating(dtype)
  return { operands: [type], result: type }
})

/** Functions of real and of complex numbers that give real ones. */
export const partOfAnalytic: UnarySignatures = each((dtype) => {
  const type = Promotion.floating(dtype)
  return { operands: [type], result: Promotion.real(type) }
})

/** Functions of real numbers. */
export const real: UnarySignatures = each((dtype) => isReal(dtype) ? analytic[dtype] : undefined)

/** Predicates of one number. */
export const test: UnarySignatures = each((dtype) => ({ operands: [dtype], result: "bool" }))

const tabulate = (make: (a: DType, b: DType) => Signature | undefined): BinarySignatures =>
  each((a) => each((b) => make(a, b)))

const alike = (dtype: DType, result = dtype): Signature => ({ operands: [dtype, dtype], result })

const areReal = (a: DType, b: DType): boolean => isReal(a) && isReal(b)

/** The common type of two to itself, also of truth values. */
export const commonOrTruth = tabulate((a, b) => alike(Promotion.promote(a, b)))

/** The same for what has an order. */
export const commonOrdered = tabulate((a, b) => areReal(a, b) ? commonOrTruth[a][b] : undefined)

/** The common type of two, a number, to itself. */
export const common = tabulate((a, b) => a === "bool" && b === "bool" ? undefined : alike(Promotion.promote(a, b)))

/** The same for real numbers. */
export const commonOrderedNumber = tabulate((a, b) => areReal(a, b) ? common[a][b] : undefined)

/** The common type of integers and truth values. */
export const commonBits = tabulate((a, b) => hasBits(a) && hasBits(b) ? commonOrTruth[a][b] : undefined)

/** Functions of two real or complex numbers. */
export const commonAnalytic = tabulate((a, b) => alike(Promotion.floating(Promotion.promote(a, b))))

/** Functions of two real numbers. */
export const commonReal = tabulate((a, b) => areReal(a, b) ? commonAnalytic[a][b] : undefined)

/** Two real numbers as the parts of a complex one. */
export const pairing = tabulate((a, b) => areReal(a, b) ? alike("f32", "c64") : undefined)

/** An integer with a sign beside one without, which has no fewer bits: they have no common type that holds both. */
const wide = (signed: DType, unsigned: DType): "32" | "64" | undefined =>
  isInteger(signed) && !isUnsigned(signed) && (unsigned === "u64" || (unsigned === "u32" && bitsOf(signed) <= 32))
    ? unsigned === "u64" ? "64" : "32"
    : undefined

/** Integers are compared exactly; truth values as numbers. */
export const equality = tabulate((a, b) => {
  const [first, second] = [wide(a, b), wide(b, a)]
  if (first !== undefined) return { operands: [`i${first}`, `u${first}`], result: "bool" }
  if (second !== undefined) return { operands: [`u${second}`, `i${second}`], result: "bool" }
  return alike(a === "bool" && b === "bool" ? "u8" : Promotion.promote(a, b), "bool")
})

/** The same for what has an order. */
export const comparison = tabulate((a, b) => areReal(a, b) ? equality[a][b] : undefined)

/** Logic of two numbers, each of which is tested in its own type. */
export const logic = tabulate((a, b) => ({ operands: [a, b], result: "bool" }))

/** An integer and a number of bits. */
export const shift = tabulate((a, b) => isInteger(a) && isInteger(b) ? { operands: [a, "u32"], result: a } : undefined)
