/**
 * Writes kernels that are made of expressions in one language. Everything is text; callers have checked that names and
 * literals are safe to insert.
 *
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"
import type { ScalarArg, VectorArg } from "../kernel/KernelArgument.ts"
import type { HostGroup } from "../kernel/Workgroup.ts"
import type { Language, Turn } from "./Language.ts"
import type { ExprType, Operation } from "./Operation.ts"

/**
 * A body: text, the statements for one item, which see the item's index `i`, the number of items `count` (both unsigned 32-bit)
 * and the arguments by name; or a function, where the language has functions of ranges: of a range of items, or of one
 * workgroup where the kernel is a `GroupKernel` or a `SourceKernel`. A text of the latter is a whole source.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelBody =
  | string
  | ((from: number, to: number, args: never) => void)
  | ((group: HostGroup, args: never) => void)

/**
 * A kernel as one language has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelSource {
  readonly body: KernelBody
  /** Declarations that stand before the kernel, such as functions. */
  readonly preamble: string
  /**
   * Whether the statements of an item have no loop, end nowhere else than after the last one, and change nothing that another item
   * reads, so that one item may run those of several in a loop.
   */
  readonly isStraight?: boolean | undefined
}

/**
 * The value of a literal: a bigint for 64-bit integers, a boolean for `bool`, a number for all other types.
 *
 * @category models
 * @since 0.1.0
 */
export type Constant = number | bigint | boolean

/**
 * An operation with the types of its deciding operand (of `where`, the second) and of its result.
 *
 * @category models
 * @since 0.1.0
 */
export interface UsedOperation {
  readonly operation: Operation
  readonly type: ExprType
  readonly result: ExprType
}

/**
 * What the expressions of a kernel use, each listed once.
 *
 * @category models
 * @since 0.1.0
 */
export interface Used {
  readonly operations: ReadonlyArray<UsedOperation>
  readonly constants: ReadonlyArray<{ readonly value: Constant; readonly type: ExprType }>
}

/**
 * The statements of a kernel.
 *
 * @category models
 * @since 0.1.0
 */
export interface Statements {
  readonly name: string
  readonly args: ReadonlyArray<VectorArg | ScalarArg>
  /** Statements that are the same for all items. */
  readonly before: ReadonlyArray<string>
  /** Statements for item `i`. */
  readonly inside: ReadonlyArray<string>
}

/**
 * A position that starts at a value and advances by a step, a number of times; all are named values of type u32.
 *
 * @category models
 * @since 0.1.0
 */
export interface Moves {
  readonly position: string
  readonly begin: string
  readonly step: string
  readonly times: string
}

/**
 * What kernels for workgroups use of a language besides single items: memory that the items of a workgroup share, and a
 * barrier at which they wait for each other. An item's number in its workgroup is `local_index`, and `group_id.x` is that of
 * the workgroup, as in every `GroupKernel`.
 *
 * @category models
 * @since 0.1.0
 */
export interface GroupStatements {
  /** The statement at which every item waits until all have come, and then sees what they stored. */
  readonly barrier: string
  /** The element of a local memory at an index that is inside it. */
  readonly load: (memory: string, index: string, dtype: DType) => string
  /** The statement that stores a value in a local memory. */
  readonly store: (memory: string, index: string, value: string, dtype: DType) => string
}

/**
 * Writes kernels of expressions in a language. It throws a GpuError for what the language cannot express, and the
 * dispatch fails with it.
 *
 * @category models
 * @since 0.1.0
 */
export interface LanguageWriter {
  readonly language: Language
  /** Names that no argument of a kernel can have in this language, beyond those reserved in all languages. */
  readonly reserved?: ReadonlySet<string> | undefined
  /** Declares a name for a value: `let t__0: f32 = value;`. */
  readonly declare: (name: string, type: ExprType, value: string) => string
  /** A literal that the type holds exactly. */
  readonly constant: (value: Constant, type: ExprType) => string
  /** The element of a vector at an index that is inside it. */
  readonly load: (vector: string, index: string, dtype: DType) => string
  /** The statement that stores a value. */
  readonly store: (vector: string, index: string, value: string, dtype: DType) => string
  /** The scalar argument with that name. */
  readonly scalar: (name: string) => string
  /** An index counted from the start of a vector's view: with an offset, `index + x_offset`. */
  readonly viewIndex: (vector: string, index: string, withOffset: boolean) => string
  /** The same for any index, clamped to the last element. */
  readonly clampedIndex: (vector: string, index: string, withOffset: boolean, dtype: DType) => string
  /** An operation on named values. `type` is that of the deciding operand (of `where`, the second). */
  readonly apply: (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType) => string
  /**
   * Writes a value so that the compiler cannot optimise across it; left out where the language keeps operations as
   * written. `zero` is a u32 that is 0, which the compiler cannot know.
   */
  readonly seal?: ((value: string, zero: string, type: ExprType) => string) | undefined
  /** An index computation modulo 2^32: `a + b * c`. */
  readonly multiplyAdd: (a: string, b: string, c: string) => string
  /** The whole quotient of two u32, the divisor not zero. */
  readonly quotient: (a: string, b: string) => string
  /** Declares a variable: `var a__0: f32 = value;`. */
  readonly variable: (name: string, type: DType, value: string) => string
  readonly assign: (name: string, value: string) => string
  /** Repeats lines for each position. It counts the rounds, since a position near 2^32 would wrap to 0 and never reach an end. */
  readonly walk: (moves: Moves, lines: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Runs lines for each of some named values of one type. */
  readonly each: (values: ReadonlyArray<string>, type: DType, turn: Turn) => ReadonlyArray<string>
  /** Lines to run if a named truth value is true, and lines to run if it is false. */
  readonly when: (
    condition: string,
    lines: ReadonlyArray<string>,
    otherwise?: ReadonlyArray<string>
  ) => ReadonlyArray<string>
  /** Declarations that stand before a kernel with such expressions. */
  readonly preamble: (used: Used) => string
  /** The body of a kernel. */
  readonly body: (statements: Statements) => KernelBody
  /** Needed where bodies are statements of items and a device of the backend has `limits.groups`. */
  readonly groups?: GroupStatements | undefined
}
