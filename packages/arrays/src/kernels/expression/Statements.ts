/**
 * Turns expressions into statements, one for each node: `let t__3: f32 = t__1 + t__2;`. A node that several expressions
 * share is computed once, and statements that do not depend on the innermost loop are collected separately, to precede it.
 *
 * @internal
 */
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type { ExprType } from "effect-gpu-pool/Operation"
import type { Expr } from "./Expression.ts"

/** A value by its name in the source, and whether it changes in the innermost loop. */
interface Value {
  readonly name: string
  readonly varies: boolean
}

export interface StatementsOptions {
  /** The name of the item's index, a u32. */
  readonly index: string
  /** Whether the index changes in the innermost loop. */
  readonly indexVaries: boolean
  /** Other variables, by name: whether they change in the innermost loop. */
  readonly variables?: { readonly [name: string]: boolean } | undefined
  /** The text of the item's own element of a vector, where no index of it finds that. */
  readonly own?: ((vector: string) => string | undefined) | undefined
  /** Distinguishes the names of several sets of statements in one function. */
  readonly prefix?: string | undefined
}

/** Collects the statements of some expressions. */
export class Statements {
  /** Statements before the innermost loop, in order. */
  readonly before: Array<string> = []
  /** Statements of the innermost loop, in order. */
  readonly inside: Array<string> = []
  readonly #language: LanguageWriter
  readonly #options: StatementsOptions
  readonly #values = new Map<Expr, Value>()
  readonly #prefix: string
  #count = 0

  constructor(language: LanguageWriter, options: StatementsOptions) {
    this.#language = language
    this.#options = options
    this.#prefix = options.prefix ?? "t"
  }

  /** The name of an expression's value; its statements are added if they are not there yet. */
  value(expr: Expr): string {
    return this.#valueOf(expr).name
  }

  /** Stores a value as the element of the item itself. */
  store(vector: string, withOffset: boolean, expr: Expr): void {
    const index = this.#own(vector, withOffset)
    this.inside.push(this.#language.store(vector, index.name, this.value(expr), expr.type))
  }

  /** Stores a value as the element at an index that is known to be inside. */
  storeAt(vector: string, index: Expr<"u32">, expr: Expr): void {
    this.inside.push(this.#language.store(vector, this.value(index), this.value(expr), expr.type))
  }

  #valueOf(expr: Expr): Value {
    const known = this.#values.get(expr)
    if (known !== undefined) return known
    const value = this.#compute(expr)
    this.#values.set(expr, value)
    return value
  }

  #compute(expr: Expr): Value {
    const { node } = expr
    const language = this.#language
    switch (node._tag) {
      case "Index":
        return { name: this.#options.index, varies: this.#options.indexVaries }
      case "Variable":
        return { name: node.name, varies: this.#options.variables?.[node.name] ?? true }
      case "Scalar":
        return this.#declare(expr.type, language.scalar(node.name), [])
      case "Constant":
        return this.#declare(expr.type, language.constant(node.value, expr.type), [])
      case "Element": {
        const own = node.at._tag === "Own" ? this.#options.own?.(node.vector) : undefined
        if (own !== undefined) return this.#declare(expr.type, own, [{ name: own, varies: this.#options.indexVaries }])
        const index = this.#elementIndex(node)
        return this.#declare(expr.type, language.load(node.vector, index.name, node.dtype), [index])
      }
      case "Seal": {
        const value = this.#valueOf(node.operands[0])
        if (language.seal === undefined) return value
        const zero = this.#valueOf(node.operands[1])
        return this.#declare(expr.type, language.seal(value.name, zero.name, expr.type), [value, zero])
      }
      case "MultiplyAdd": {
        const [a, b, c] = node.operands
        const values = [this.#valueOf(a), this.#valueOf(b), this.#valueOf(c)] as const
        return this.#declare("u32", language.multiplyAdd(values[0].name, values[1].name, values[2].name), values)
      }
      case "Quotient": {
        const values = [this.#valueOf(node.operands[0]), this.#valueOf(node.operands[1])] as const
        return this.#declare("u32", language.quotient(values[0].name, values[1].name), values)
      }
      case "Apply": {
        const values = node.operands.map((operand) => this.#valueOf(operand))
        const decisive = node.operands[node.operation === "where" ? 1 : 0]!.type
        const text = language.apply(node.operation, values.map(({ name }) => name), decisive, expr.type)
        return this.#declare(expr.type, text, values)
      }
    }
  }

  #elementIndex({ at, dtype, vector }: Extract<Expr["node"], { readonly _tag: "Element" }>): Value {
    if (at._tag === "Own") return this.#own(vector, at.withOffset)
    if (at._tag === "Inside") return this.#valueOf(at.index)
    const index = this.#valueOf(at.index)
    return this.#declare("u32", this.#language.clampedIndex(vector, index.name, at.withOffset, dtype), [index])
  }

  #own(vector: string, withOffset: boolean): Value {
    const { index, indexVaries } = this.#options
    return { name: this.#language.viewIndex(vector, index, withOffset), varies: indexVaries }
  }

  #declare(type: ExprType, text: string, operands: ReadonlyArray<Value>): Value {
    const varies = operands.some((operand) => operand.varies)
    const name = `${this.#prefix}__${this.#count++}`
    const lines = varies ? this.inside : this.before
    lines.push(this.#language.declare(name, type, text))
    return { name, varies }
  }
}
