/**
 * Random well-typed expressions with every operation.
 *
 * @internal
 */
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import type { DType } from "effect-gpu-pool/DType"
import { type ExprType, type Operation, operations, resultType } from "effect-gpu-pool/Operation"
import type { Random } from "../Random.ts"
import { anyNumber } from "./AnyNumber.ts"
import { isFloat } from "./FloatFormat.ts"
import type { Integer } from "./IntegerReference.ts"

/** An operation with the types of its operands and of its result. */
export interface Signature {
  readonly operation: Operation
  readonly operands: ReadonlyArray<ExprType>
  readonly result: ExprType
}

/** Every operation, with all its combinations of these types and truth values that give one of them. */
export const signaturesOf = (types: ReadonlyArray<DType>): ReadonlyArray<Signature> => {
  const all = [...new Set<ExprType>([...types, "bool"])]
  return (Object.keys(operations) as Array<Operation>).flatMap((operation) => {
    const { arity, rule } = operations[operation]
    if (rule === "astype") {
      return all.flatMap((from) => all.map((result): Signature => ({ operation, operands: [from], result })))
    }
    return all.flatMap((type): ReadonlyArray<Signature> => {
      const operands = Array.from(
        { length: arity },
        (_, at): ExprType => rule === "where" && at === 0 ? "bool" : rule === "shift" && at === 1 ? "u32" : type
      )
      const result = resultType(operation, operands, undefined)
      return result === undefined || !all.includes(result) ? [] : [{ operation, operands, result }]
    })
  })
}

/** Applies an operation by its name in the public interface. */
export const applied = ({ operation, result }: Signature, operands: ReadonlyArray<Expr.Expr>): Expr.Expr => {
  if (operation === "astype") return Expr.astype(operands[0]!, result)
  const functions: { readonly [name: string]: unknown } = Expr
  const apply = functions[operation] as (...operands: ReadonlyArray<Expr.Expr>) => Expr.Expr
  return apply(...operands)
}

/** The leaves of a kernel's expressions: elements of vectors, and scalars. */
export interface Leaves {
  readonly elements: ReadonlyArray<Expr.Expr<DType>>
  readonly scalars: ReadonlyArray<Expr.Expr<DType>>
}

/** Makes expressions over some leaves. */
export class AnyExpression {
  readonly #random: Random
  readonly #leaves: Leaves
  readonly #byResult: ReadonlyMap<ExprType, ReadonlyArray<Signature>>
  /** Earlier parts of the expression, which it may use again. */
  #parts: Array<Expr.Expr> = []

  constructor(random: Random, leaves: Leaves) {
    this.#random = random
    this.#leaves = leaves
    const types = [...new Set<ExprType>([...leaves.elements.map(({ type }) => type), "bool"])]
    const signatures = signaturesOf(types)
    this.#byResult = new Map(types.map((type) => [type, signatures.filter(({ result }) => result === type)]))
  }

  /** An expression of a type, with at most `depth` nested operations. */
  next<T extends ExprType>(type: T, depth: number): Expr.Expr<T> {
    this.#parts = []
    return this.#any(type, depth) as Expr.Expr<T>
  }

  #any(type: ExprType, depth: number): Expr.Expr {
    const random = this.#random
    if (random.integer(0, 9) === 0) {
      const known = this.#parts.filter((part) => part.type === type)
      if (known.length > 0) return random.pick(known)
    }
    if (this.#hasLeaf(type) && (depth <= 0 || random.integer(0, 7) === 0)) return this.#leaf(type)
    const signature = this.#signature(type, depth)
    const operands = signature.operands.map((operand) => this.#operand(signature.operation, operand, depth - 1))
    const part = applied(signature, operands)
    this.#parts.push(part)
    return part
  }

  #hasLeaf(type: ExprType): boolean {
    return type !== "bool" || this.#leaves.elements.some((element) => element.type === type)
  }

  /** Truth values need operands of other types where there are no vectors of them, and most programs do arithmetic. */
  #signature(type: ExprType, depth: number): Signature {
    const random = this.#random
    const choices = this.#byResult.get(type)!
    const wanted = type === "bool" && depth <= 0
      ? choices.filter(({ operands }) => !operands.includes("bool"))
      : random.integer(0, 3) === 0
      ? choices.filter(({ operation }) => common.has(operation))
      : choices
    return random.pick(wanted.length === 0 ? choices : wanted)
  }

  /** Functions with a small domain mostly get an operand in it. */
  #operand(operation: Operation, type: ExprType, depth: number): Expr.Expr {
    const random = this.#random
    const operand = this.#any(type, depth)
    if (!narrow.has(operation) || random.integer(0, 2) === 0) return operand
    return applied({ operation: random.pick(["sin", "fract", "tanh"]), operands: [type], result: type }, [operand])
  }

  #leaf(type: DType): Expr.Expr<DType> {
    const random = this.#random
    const elements = this.#leaves.elements.filter((element) => element.type === type)
    const scalars = this.#leaves.scalars.filter((scalar) => scalar.type === type)
    switch (random.integer(0, 9)) {
      case 0:
      case 1:
        return constantOf(type, anyNumber(random, type))
      case 2:
        return type === "u32"
          ? Expr.index
          : constantOf(type, isFloat(type) ? random.integer(1, 6) / 2 : random.integer(1, 6))
      case 3:
        if (scalars.length > 0) return random.pick(scalars)
        break
      case 4:
        return Expr.at(random.pick(elements), this.#position())
    }
    return random.pick(elements)
  }

  /** Mostly small, and sometimes far past the end. */
  #position(): Expr.Operand<"u32"> {
    const random = this.#random
    return random.pick<() => Expr.Operand<"u32">>([
      () => random.pick([0, 1, 7, 0xffffffff]),
      () => Expr.add(Expr.index, random.integer(0, 5)),
      () => Expr.bitwiseXor(Expr.index, random.integer(0, 15)),
      () => this.#leafOfIntegers()
    ])()
  }

  #leafOfIntegers(): Expr.Expr<"u32"> {
    const elements = this.#leaves.elements.filter((element): element is Expr.Expr<"u32"> => element.type === "u32")
    return elements.length === 0 ? Expr.index : this.#random.pick(elements)
  }
}

/** A number, or a truth value, as an expression. */
export const constantOf = (type: DType, value: Integer): Expr.Expr<DType> =>
  type === "bool"
    ? Expr.constant(type, Number(value) % 2 === 1)
    : Expr.constant<DType>(type, value as number)

const common: ReadonlySet<Operation> = new Set(["add", "subtract", "multiply", "divide", "where", "minimum", "maximum"])

/** Functions that are defined only for operands up to 1, or between poles. */
const narrow: ReadonlySet<Operation> = new Set(["asin", "acos", "atanh", "tan"])
