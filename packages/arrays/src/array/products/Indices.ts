/**
 * Computes indices in the body of a kernel: each gets a name, since languages write operations on named values.
 *
 * @internal
 */
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type { ExprType, Operation } from "effect-gpu-pool/Operation"

export class Indices {
  readonly writer: LanguageWriter
  /** The statements so far. */
  readonly lines: Array<string> = []
  readonly #names: { count: number }

  constructor(writer: LanguageWriter, names: { count: number } = { count: 0 }) {
    this.writer = writer
    this.#names = names
  }

  /** The statements of an inner block, which can use the names before it. */
  within(): Indices {
    return new Indices(this.writer, this.#names)
  }

  /** A name for a value. */
  named(type: ExprType, value: string): string {
    const name = this.fresh()
    this.lines.push(this.writer.declare(name, type, value))
    return name
  }

  /** A unique name. */
  fresh(): string {
    return `n__${this.#names.count++}`
  }

  /** An operation on named values. */
  apply(operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result = type): string {
    return this.named(result, this.writer.apply(operation, operands, type, result))
  }

  constant(value: number): string {
    return this.named("u32", this.writer.constant(value, "u32"))
  }

  scalar(name: string): string {
    return this.named("u32", this.writer.scalar(name))
  }

  add(a: string, b: string): string {
    return this.apply("add", [a, b], "u32")
  }

  /** A named value plus a number. */
  plus(a: string, count: number): string {
    return count === 0 ? a : this.add(a, this.constant(count))
  }

  subtract(a: string, b: string): string {
    return this.apply("subtract", [a, b], "u32")
  }

  multiply(a: string, b: string): string {
    return this.apply("multiply", [a, b], "u32")
  }

  minimum(a: string, b: string): string {
    return this.apply("minimum", [a, b], "u32")
  }

  /** An index plus places times strides, which are scalars with numbered names; modulo 2^32, in which strides may be negative. */
  strided(from: string, stride: string, places: ReadonlyArray<string>): string {
    return places.reduce(
      (sum, place, axis) => this.add(sum, this.multiply(place, this.scalar(`${stride}${axis}`))),
      from
    )
  }

  /** The integer quotient and the remainder. */
  divide(a: string, b: string): readonly [quotient: string, rest: string] {
    const quotient = this.named("u32", this.writer.quotient(a, b))
    return [quotient, this.subtract(a, this.multiply(quotient, b))]
  }

  compare(operation: "less" | "equal", a: string, b: string): string {
    return this.apply(operation, [a, b], "u32", "bool")
  }
}
