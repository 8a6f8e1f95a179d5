/** Models as ONNX writes them: protocol buffers of numbers and of nested fields. */

type Bytes = ReadonlyArray<number>

const varint = (value: number): Bytes => value < 128 ? [value] : [value & 127 | 128, ...varint(value >>> 7)]

const number = (field: number, value: number): Bytes => [...varint(field << 3), ...varint(value)]

/** Spread arguments of some megabytes would not fit on the stack. */
const nested = (field: number, bytes: Bytes): Bytes => varint(field << 3 | 2).concat(varint(bytes.length), bytes)

const text = (field: number, value: string): Bytes => nested(field, [...new TextEncoder().encode(value)])

/** A size, or the name of one that is known when the model runs. */
export type Dimension = number | string

export interface Value {
  readonly name: string
  readonly dims: ReadonlyArray<Dimension>
}

/** Of `float32`. */
export interface Weights {
  readonly name: string
  readonly dims: ReadonlyArray<number>
  readonly values: Float32Array
}

export interface Node {
  readonly operator: string
  readonly inputs: ReadonlyArray<string>
  readonly outputs: ReadonlyArray<string>
  /** Integers from 0, and lists of them. */
  readonly attributes?: Readonly<Record<string, number | ReadonlyArray<number>>>
}

export interface Model {
  readonly inputs: ReadonlyArray<Value>
  readonly outputs: ReadonlyArray<Value>
  readonly weights: ReadonlyArray<Weights>
  readonly nodes: ReadonlyArray<Node>
}

const float32 = 1

const valueOf = ({ dims, name }: Value): Bytes => {
  const shape = dims.flatMap((dim) => nested(1, typeof dim === "number" ? number(1, dim) : text(2, dim)))
  return [...text(1, name), ...nested(2, nested(1, [...number(1, float32), ...nested(2, shape)]))]
}

const weightsOf = ({ dims, name, values }: Weights): Bytes => {
  const raw = [...new Uint8Array(values.buffer, values.byteOffset, values.byteLength)]
  return [...dims.flatMap((dim) => number(1, dim)), ...number(2, float32), ...text(8, name)].concat(nested(9, raw))
}

const attributeOf = ([name, value]: readonly [string, number | ReadonlyArray<number>]): Bytes => {
  const [integer, integers] = [2, 7]
  return typeof value === "number"
    ? [...text(1, name), ...number(3, value), ...number(20, integer)]
    : [...text(1, name), ...value.flatMap((one) => number(8, one)), ...number(20, integers)]
}

const nodeOf = ({ attributes = {}, inputs, operator, outputs }: Node): Bytes => [
  ...inputs.flatMap((name) => text(1, name)),
  ...outputs.flatMap((name) => text(2, name)),
  ...text(4, operator),
  ...Object.entries(attributes).flatMap((attribute) => nested(5, attributeOf(attribute)))
]

/** The file of a model. */
export const encode = ({ inputs, nodes, outputs, weights }: Model): Uint8Array => {
  const graph = [
    nodes.flatMap((node) => nested(1, nodeOf(node))),
    text(2, "model"),
    ...weights.map((one) => nested(5, weightsOf(one))),
    inputs.flatMap((one) => nested(11, valueOf(one))),
    outputs.flatMap((one) => nested(12, valueOf(one)))
  ]
  const [version, operators] = [8, 17]
  return Uint8Array.from(
    number(1, version).concat(nested(7, new Array<number>().concat(...graph)), nested(8, number(2, operators)))
  )
}
