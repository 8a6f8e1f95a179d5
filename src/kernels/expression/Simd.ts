/**
 * Expressions of 32-bit types in WebAssembly's vector instructions, for the host backend: JavaScript rounds every step to
 * f32 by conversions that cost several times the step itself.
 *
 * Only operations whose results are the same to the last bit are taken, so that it never shows which way a kernel went;
 * with any other, or where elements are not read in order, JavaScript does the whole of it.
 *
 * @internal
 */
import type { DType } from "../../domain/DType.ts"
import type { HostBody } from "../../domain/Kernel.ts"
import type { NumericArgument, VectorArg } from "../../domain/KernelArgument.ts"
import type { Expr } from "../Expr.ts"
import { nodesOf } from "./Inspection.ts"
import type { ExprType, Operation } from "./Operation.ts"
import { type Local, type VectorInstruction, WasmFunction } from "./WasmModule.ts"

/** Elements of a vector that are worked through at a time: what all vectors need then fits the processor's cache. */
const blockElements = 2048
const blockBytes = blockElements * 4
const pageBytes = 65_536

/** What is stored as each element of an output. */
export interface SimdStore {
  readonly vector: VectorArg
  readonly value: Expr<DType>
}

type Element32 = "f32" | "i32" | "u32"

const simple: { readonly [T in Element32]: { readonly [O in Operation]?: VectorInstruction } } = {
  f32: {
    add: "f32x4.add",
    subtract: "f32x4.sub",
    multiply: "f32x4.mul",
    divide: "f32x4.div",
    negate: "f32x4.neg",
    abs: "f32x4.abs",
    min: "f32x4.min",
    max: "f32x4.max",
    sqrt: "f32x4.sqrt",
    floor: "f32x4.floor",
    ceil: "f32x4.ceil",
    trunc: "f32x4.trunc",
    round: "f32x4.nearest",
    equal: "f32x4.eq",
    notEqual: "f32x4.ne",
    less: "f32x4.lt",
    lessEqual: "f32x4.le",
    greater: "f32x4.gt",
    greaterEqual: "f32x4.ge"
  },
  i32: {
    add: "i32x4.add",
    subtract: "i32x4.sub",
    multiply: "i32x4.mul",
    negate: "i32x4.neg",
    abs: "i32x4.abs",
    min: "i32x4.min_s",
    max: "i32x4.max_s",
    bitAnd: "v128.and",
    bitOr: "v128.or",
    bitXor: "v128.xor",
    bitNot: "v128.not",
    equal: "i32x4.eq",
    notEqual: "i32x4.ne",
    less: "i32x4.lt_s",
    lessEqual: "i32x4.le_s",
    greater: "i32x4.gt_s",
    greaterEqual: "i32x4.ge_s"
  },
  u32: {
    add: "i32x4.add",
    subtract: "i32x4.sub",
    multiply: "i32x4.mul",
    negate: "i32x4.neg",
    min: "i32x4.min_u",
    max: "i32x4.max_u",
    bitAnd: "v128.and",
    bitOr: "v128.or",
    bitXor: "v128.xor",
    bitNot: "v128.not",
    equal: "i32x4.eq",
    notEqual: "i32x4.ne",
    less: "i32x4.lt_u",
    lessEqual: "i32x4.le_u",
    greater: "i32x4.gt_u",
    greaterEqual: "i32x4.ge_u"
  }
}

const logic: { readonly [O in Operation]?: VectorInstruction } = { and: "v128.and", or: "v128.or", not: "v128.not" }

const isElement32 = (type: ExprType): type is Element32 => type === "f32" || type === "i32" || type === "u32"

/** A number that the function takes, and where it comes from. */
type NumberSource =
  | { readonly _tag: "Scalar"; readonly name: string }
  /** One element of a vector, for all items. */
  | { readonly _tag: "Single"; readonly vector: string; readonly scalar: string }

/** Consecutive elements of a vector: from the item's own on, or shifted by a scalar argument. */
interface Stream {
  readonly vector: string
  readonly withOffset: boolean
  readonly shift: string | undefined
}

/** Writes the function; `undefined` from a method means that there is no vector instruction for it. */
class Writer {
  readonly streams: Array<Stream> = []
  readonly sources: ReadonlyArray<NumberSource>
  readonly function: WasmFunction
  readonly #sourceIndex: ReadonlyMap<Expr, number>
  readonly #values = new Map<Expr, Local | undefined>()
  readonly #streamLocals: Array<Local> = []

  constructor(expressions: ReadonlyArray<Expr>) {
    const sources = numbersOf(expressions)
    this.sources = sources.map(({ source }) => source)
    this.#sourceIndex = new Map(sources.map(({ expr }, index) => [expr, index]))
    this.function = new WasmFunction(sources.map(({ expr }) => expr.type === "f32" ? "f32" : "i32"))
  }

  value(expr: Expr): Local | undefined {
    if (this.#values.has(expr)) return this.#values.get(expr)
    const local = this.#compute(expr)
    this.#values.set(expr, local)
    return local
  }

  #compute(expr: Expr): Local | undefined {
    const { node, type } = expr
    if (type !== "bool" && !isElement32(type)) return undefined
    const number = this.#sourceIndex.get(expr)
    if (number !== undefined) return this.function.number(number)
    switch (node._tag) {
      case "Index":
        return this.function.index()
      case "Constant":
        return this.function.constant(bitsOf(node.value, type))
      case "Element": {
        const stream = streamOf(expr)
        return stream === undefined ? undefined : this.#load(stream)
      }
      case "Seal":
        return this.value(node.operands[0])
      case "Apply": {
        const operands = node.operands.map((operand) => this.value(operand))
        return operands.includes(undefined)
          ? undefined
          : this.#apply(node.operation, node.operands, operands as ReadonlyArray<Local>, type)
      }
      default:
        return undefined
    }
  }

  #load(stream: Stream): Local {
    const known = this.streams.findIndex((other) =>
      other.vector === stream.vector && other.withOffset === stream.withOffset && other.shift === stream.shift
    )
    if (known !== -1) return this.#streamLocals[known]!
    const local = this.function.load((this.streams.push(stream) - 1) * blockBytes)
    this.#streamLocals.push(local)
    return local
  }

  #apply(
    operation: Operation,
    operands: ReadonlyArray<Expr>,
    locals: ReadonlyArray<Local>,
    result: ExprType
  ): Local | undefined {
    const [a, b, c] = locals as readonly [Local, Local, Local]
    const { type } = operands[0]!
    if (operation === "select") return this.function.apply("v128.bitselect", b, c, a)
    if (operation === "cast") return this.#cast(a, type, result)
    if (type === "bool") {
      const instruction = logic[operation]
      return instruction === undefined ? undefined : this.function.apply(instruction, ...locals)
    }
    if (!isElement32(type)) return undefined
    const instruction = simple[type][operation]
    return instruction === undefined
      ? this.#composite(operation, type, a, b, c)
      : this.function.apply(instruction, ...locals)
  }

  #composite(operation: Operation, type: Element32, a: Local, b: Local, c: Local): Local | undefined {
    const write = this.function
    switch (operation) {
      case "abs":
        return a
      case "clamp": {
        const { max, min } = simple[type]
        return write.apply(min!, write.apply(max!, a, b), c)
      }
      case "isNaN":
        return write.apply("f32x4.ne", a, a)
      case "isFinite":
        return write.apply("f32x4.lt", write.apply("f32x4.abs", a), write.constant(bitsOf(Infinity, "f32")))
      case "remainder": {
        if (type !== "f32") return undefined
        const quotient = write.apply("f32x4.trunc", write.apply("f32x4.div", a, b))
        return write.apply("f32x4.sub", a, write.apply("f32x4.mul", b, quotient))
      }
      default:
        return undefined
    }
  }

  #cast(a: Local, type: ExprType, result: ExprType): Local | undefined {
    const write = this.function
    if (type === result) return a
    if (result === "bool") return write.apply(type === "f32" ? "f32x4.ne" : "i32x4.ne", a, write.constant(0))
    if (type === "bool") return write.apply("v128.and", a, write.constant(bitsOf(1, result)))
    if (type === "f32") return write.apply(result === "i32" ? "i32x4.trunc_sat_f32x4_s" : "i32x4.trunc_sat_f32x4_u", a)
    if (result !== "f32") return a
    return write.apply(type === "i32" ? "f32x4.convert_i32x4_s" : "f32x4.convert_i32x4_u", a)
  }
}

const word = new DataView(new ArrayBuffer(4))

const bitsOf = (value: number | boolean, type: ExprType): number => {
  if (typeof value === "boolean") return value ? -1 : 0
  if (type !== "f32") return value | 0
  word.setFloat32(0, value)
  return word.getInt32(0)
}

const streamOf = ({ node }: Expr): Stream | undefined => {
  if (node._tag !== "Element") return undefined
  const { at, vector } = node
  if (at._tag === "Own") return { vector, withOffset: at.withOffset, shift: undefined }
  if (at._tag !== "Inside" || at.index.node._tag !== "MultiplyAdd") return undefined
  const [shift, item, stride] = at.index.node.operands
  const isShift = shift.node._tag === "Scalar" && item.node._tag === "Index" &&
    stride.node._tag === "Constant" && stride.node.value === 1
  return isShift && shift.node._tag === "Scalar" ? { vector, withOffset: false, shift: shift.node.name } : undefined
}

const numbersOf = (
  expressions: ReadonlyArray<Expr>
): ReadonlyArray<{ readonly expr: Expr; readonly source: NumberSource }> =>
  [...nodesOf(expressions)].flatMap((expr): ReadonlyArray<{ readonly expr: Expr; readonly source: NumberSource }> => {
    const { node } = expr
    if (node._tag === "Scalar") return [{ expr, source: { _tag: "Scalar", name: node.name } }]
    if (node._tag !== "Element" || node.at._tag !== "Inside" || node.at.index.node._tag !== "Scalar") return []
    return [{ expr, source: { _tag: "Single", vector: node.vector, scalar: node.at.index.node.name } }]
  })

/** Blocks are copied here and back; kernels run one after the other, so all of them can share it. */
let memory: WebAssembly.Memory | undefined

const memoryOf = (bytes: number): WebAssembly.Memory => {
  memory ??= new WebAssembly.Memory({ initial: 1 })
  const missing = bytes - memory.buffer.byteLength
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
  return memory
}

type Run = (bytes: number, first: number, ...numbers: ReadonlyArray<number>) => void

/** `undefined` where a page's policy forbids it, or an engine has no vectors: JavaScript then says what there is to say. */
const compile = (bytes: Uint8Array<ArrayBuffer>, memory: WebAssembly.Memory): Run | undefined => {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } })
    return exports["run"] as Run
  } catch (cause) {
    if (cause instanceof WebAssembly.CompileError) return undefined
    throw cause
  }
}

type Views = Readonly<Record<string, Float32Array | Int32Array | Uint32Array | number>>

/**
 * A body in vector instructions, or `undefined` where there is one missing.
 *
 * @internal
 */
export const makeSimdBody = <Args extends ReadonlyArray<NumericArgument>>(
  stores: ReadonlyArray<SimdStore>
): HostBody<Args> | undefined => {
  const expressions = stores.map(({ value }) => value)
  const writer = new Writer(expressions)
  const values = expressions.map((expression) => writer.value(expression))
  if (values.includes(undefined)) return undefined
  const { sources, streams } = writer
  values.forEach((value, index) => writer.function.store((streams.length + index) * blockBytes, value!))
  const bytes = (streams.length + stores.length) * blockBytes
  const run = compile(writer.function.module(), memoryOf(bytes))
  if (run === undefined) return undefined
  return (from, to, args) => {
    const views = args as unknown as Views
    const numbers = sources.map((source) => numberOf(source, views))
    const inputs = streams.map((stream, index) => ({ start: startOf(stream, views), block: index, ...stream }))
    for (let first = from; first < to; first += blockElements) {
      const count = Math.min(blockElements, to - first)
      for (const { block, start, vector } of inputs) {
        const source = views[vector] as Float32Array
        blockOf(source, block, count).set(source.subarray(start + first, start + first + count))
      }
      run(count * 4, first, ...numbers)
      stores.forEach(({ vector }, index) => {
        const target = views[vector.name] as Float32Array
        const start = vector.withOffset ? views[`${vector.name}_offset`] as number : 0
        target.set(blockOf(target, streams.length + index, count), start + first)
      })
    }
  }
}

/** A block of the shared memory in the type of a vector. */
const blockOf = (like: Float32Array | Int32Array | Uint32Array, block: number, count: number) => {
  const { buffer } = memory!
  const start = block * blockBytes
  if (like instanceof Float32Array) return new Float32Array(buffer, start, count)
  return like instanceof Int32Array ? new Int32Array(buffer, start, count) : new Uint32Array(buffer, start, count)
}

const startOf = ({ shift, vector, withOffset }: Stream, views: Views): number => {
  if (shift !== undefined) return views[shift] as number
  return withOffset ? views[`${vector}_offset`] as number : 0
}

const numberOf = (source: NumberSource, views: Views): number =>
  source._tag === "Scalar"
    ? views[source.name] as number
    : (views[source.vector] as Float32Array)[views[source.scalar] as number]!
