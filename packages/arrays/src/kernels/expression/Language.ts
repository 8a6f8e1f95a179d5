/**
 * What a language must say so that expressions can be written in it. Everything is text; names and literals are known
 * to be harmless when they come here.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { ExprType, Operation } from "./Operation.ts"

export interface Language {
  /** Names a value: `let t__0: f32 = value;`. */
  readonly declare: (name: string, type: ExprType, value: string) => string
  /** A number that the type holds exactly, or a truth value. */
  readonly constant: (value: number | boolean, type: ExprType) => string
  /** The element of a vector at an index that is inside it. */
  readonly load: (vector: string, index: string, dtype: DType) => string
  /** The statement that stores a value. */
  readonly store: (vector: string, index: string, value: string, dtype: DType) => string
  /** How the scalar argument is written. */
  readonly scalar: (name: string) => string
  /** An index counted from the start of a vector's view: with an offset, `index + x_offset`. */
  readonly viewIndex: (vector: string, index: string, withOffset: boolean) => string
  /** The same for any index, the ones beyond the last element moved to it. */
  readonly clampedIndex: (vector: string, index: string, withOffset: boolean) => string
  /** An operation on named values. `type` is that of the operand that decides (of `select`, the second). */
  readonly apply: (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType) => string
  /**
   * A value as it is, in a way that the compiler cannot look through; none where the language keeps to the operations as
   * they are written. `zero` is a u32 of which only the program knows that it is 0.
   */
  readonly seal?: ((value: string, zero: string, type: ExprType) => string) | undefined
  /** An index computation modulo 2^32: `a + b * c`. */
  readonly multiplyAdd: (a: string, b: string, c: string) => string
  /** The whole quotient of two u32, the divisor not zero. */
  readonly quotient: (a: string, b: string) => string
}

/** Operators that every language writes alike between two operands, truth values or numbers to truth values. */
export const comparing: { readonly [name in Operation]?: string } = {
  less: "<",
  lessEqual: "<=",
  greater: ">",
  greaterEqual: ">=",
  logicalAnd: "&&",
  logicalOr: "||"
}

/** Operators from numbers to numbers that every language writes alike; the result may lie outside the type. */
export const computing: { readonly [name in Operation]?: string } = {
  add: "+",
  subtract: "-",
  bitwiseAnd: "&",
  bitwiseOr: "|",
  bitwiseXor: "^"
}
