/** The same block without arrays: token by token, in float64. */
import { type DrawnWeights, drawTokens, type Sizes, widthOf } from "./Weights.ts"

type Vector = ReadonlyArray<number>
type Numbers = ArrayLike<number>

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)
const sumOf = (x: Vector) => x.reduce((sum, value) => sum + value, 0)
const add = (x: Vector, y: Numbers): Vector => x.map((value, at) => value + y[at]!)
const dot = (x: Vector, y: Numbers) => x.reduce((sum, value, at) => sum + value * y[at]!, 0)

const linear = (x: Vector, matrix: Numbers, bias: Numbers): Vector => {
  const sums = Array.from(bias)
  for (const [row, value] of x.entries()) {
    for (let column = 0; column < sums.length; column++) sums[column]! += value * matrix[row * sums.length + column]!
  }
  return sums
}

const normalised = (x: Vector, scale: Numbers, shift: Numbers): Vector => {
  const mean = sumOf(x) / x.length
  const deviation = Math.sqrt(sumOf(x.map((value) => (value - mean) ** 2)) / x.length + 1e-5)
  return x.map((value, at) => (value - mean) / deviation * scale[at]! + shift[at]!)
}

const softmax = (scores: Vector): Vector => {
  const most = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - most))
  const total = sumOf(powers)
  return powers.map((power) => power / total)
}

const gelu = (x: number): number => x / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))

/** What each token becomes, row by row. */
export const decode = (sizes: Sizes, weights: DrawnWeights): Vector => {
  const { depth, heads, tokens } = sizes
  const width = widthOf(sizes)
  const ofHead = (x: Vector, head: number) => x.slice(head * depth, (head + 1) * depth)
  const all = Array.from(drawTokens(sizes).values)
  const keys: Array<Vector> = []
  const values: Array<Vector> = []
  return upTo(tokens).flatMap((at) => {
    const token = all.slice(at * width, (at + 1) * width)
    const first = normalised(token, weights.firstScale.values, weights.firstShift.values)
    const parts = linear(first, weights.attention.values, weights.attentionBias.values)
    keys.push(parts.slice(width, 2 * width))
    values.push(parts.slice(2 * width))
    const seen = upTo(heads).flatMap((head) => {
      const query = ofHead(parts, head)
      const shares = softmax(keys.map((key) => dot(query, ofHead(key, head)) / Math.sqrt(depth)))
      return upTo(depth).map((axis) => dot(shares, values.map((value) => value[head * depth + axis]!)))
    })
    const attended = add(token, linear(seen, weights.projection.values, weights.projectionBias.values))
    const second = normalised(attended, weights.secondScale.values, weights.secondShift.values)
    const hidden = linear(second, weights.hidden.values, weights.hiddenBias.values).map(gelu)
    return add(attended, linear(hidden, weights.output.values, weights.outputBias.values))
  })
}
