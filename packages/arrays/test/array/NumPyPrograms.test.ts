/**
 * Random programs of arrays of every type, whose results NumPy has computed: `numpy/programs.py` wrote them, with the seed that
 * it names. Bits are compared, but for divisions and means of floats, which may differ by a few roundings, for functions of complex
 * numbers, and for NaN.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, layer } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { CommandQueue, DType, type GpuError } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { some } from "../../../../test/support/explore.ts"
import { type GpuLayer, onEveryBackend } from "./ArrayBackends.ts"

/** The element type, the shape, and the bytes in hexadecimal. */
type Written = readonly [dtype: DType.DType, shape: ReadonlyArray<number>, bytes: string]

/** The name of an operation, and its operands. */
interface Branch extends ReadonlyArray<Tree> {
  readonly 0: string
}

/** The place of an input, an option, a number, or an operation with its operands. */
type Tree = number | string | { readonly axis: number } | { readonly value: number } | Branch

const isBranch = (tree: Tree): tree is Branch => Array.isArray(tree)

interface Program {
  readonly inputs: ReadonlyArray<Written>
  readonly tree: Branch | number
  readonly types: ReadonlyArray<DType.DType>
  readonly expected: Written
}

const programs: ReadonlyArray<Program> = readFileSync(new URL("numpy/programs.jsonl", import.meta.url), "utf8")
  .trimEnd().split("\n").map((line): Program => JSON.parse(line))

const elementsOf = ([dtype, , bytes]: Written): DType.TypedArrayOf[DType.DType] => {
  const buffer = Uint8Array.from(bytes.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)).buffer
  return DType.viewUnsafe(dtype, buffer, 0, buffer.byteLength / DType.byteSize(dtype))
}

const upload = (written: Written): DeviceArray.Computed =>
  DeviceArray.fromHost(elementsOf(written) as Uint8Array, { dtype: written[0] as "bool", shape: written[1] })

const operations = DeviceArray as unknown as {
  readonly [name: string]: (...operands: ReadonlyArray<unknown>) => DeviceArray.Computed
}

const compute = (tree: Branch | number, inputs: ReadonlyArray<DeviceArray.DeviceArray>): DeviceArray.Computed => {
  if (typeof tree === "number") return Effect.succeed(inputs[tree]!)
  const valueOf = (operand: Tree): Effect.Effect<unknown, GpuError.GpuError, DeviceArray.ArrayServices> =>
    typeof operand === "number" || isBranch(operand)
      ? compute(operand, inputs)
      : Effect.succeed(typeof operand === "object" && "value" in operand ? operand.value : operand)
  const operands = Effect.forEach(tree.slice(1), valueOf)
  return Effect.flatMap(operands, (values) => operations[tree[0]]!(...values))
}

/** How many last places divisions and means may differ by: OpenCL and WebGPU allow 2.5 of divisions, and means add first. */
const roundings = 6

const epsilons: { readonly [dtype: string]: number } = { f16: 2 ** -10, f32: 2 ** -23, f64: 2 ** -52, c64: 2 ** -23 }

const agree = (found: number, expected: number, error: number): boolean =>
  found === expected || (Number.isNaN(found) && Number.isNaN(expected)) || Math.abs(found - expected) <= error

/** Functions of complex numbers near 0, whose results are, too. */
const approximate = new Set(
  ["abs", "angle", "sign", "sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "reciprocal", "power"]
    .concat("divide", "variance", "std")
)

/** WebGPU promises no more of sines and cosines. */
const inexact = 2 ** -10

/** How far the last operation may be off, of an element that should be `expected`. */
const errorOf = ({ expected: [dtype], inputs, tree }: Program, expected: number): number => {
  const last = typeof tree === "number" ? "" : tree[0]
  const error = roundings * (epsilons[dtype] ?? 0)
  if (approximate.has(last) && inputs.every(([dtype]) => dtype === "c64")) return inexact * (1 + Math.abs(expected))
  if (last === "divide") return error * Math.abs(expected)
  if (last !== "mean") return 0
  // The elements of a sum may cancel out.
  return error *
    Math.max(...Array.from(elementsOf(inputs[0]!) as ArrayLike<number | bigint>, (x) => Math.abs(Number(x))))
}

const run = Effect.fnUntraced(function*(program: Program, isLazy: boolean) {
  const { expected, inputs, tree } = program
  const arrays = yield* Effect.forEach(inputs, upload)
  const text = `${JSON.stringify(tree)} of ${JSON.stringify(inputs)}`
  const made = compute(tree, arrays)
  const array = yield* isLazy ? DeviceArray.lazy(made) : made
  strictEqual(array.dtype, expected[0], text)
  strictEqual(String(array.shape), String(expected[1]), text)
  const found = Array.from((yield* DeviceArray.toHost(array)) as ArrayLike<number | bigint>)
  const wanted = Array.from(elementsOf(expected) as ArrayLike<number | bigint>)
  wanted.forEach((value, at) => {
    const isRight = typeof value === "bigint"
      ? found[at] === value
      : agree(found[at] as number, value, errorOf(program, value))
    assert.isTrue(isRight, `${text}: element ${at} is ${found[at]}, and NumPy's ${value}`)
  })
})

const laws = (gpu: GpuLayer): void => {
  layer(gpu)((it) => {
    for (const isLazy of [false, true]) {
      it.effect(`give NumPy's results, ${isLazy ? "in one kernel" : "one operation at a time"}`, () =>
        Effect.gen(function*() {
          const { dtypes, traits } = (yield* CommandQueue.CommandQueue).info
          const known = programs.filter(({ types }) => types.every((dtype) => dtypes.has(dtype)))
          assert.isAbove(known.length, programs.length / 4)
          // What is fused is the same on every device. Where kernels compile slowly, a third shows what their language makes of it,
          // and fewer are enough where each operation has a kernel.
          const every = traits.compiling === "none" ? 1 : isLazy ? 3 : 12
          const tried = known.filter((_, at) => at % every === 0)
          for (const program of some(tried, 10)) {
            yield* Effect.scoped(run(program, isLazy))
          }
        }))
    }
  })
}

describe("Programs of arrays", () => {
  onEveryBackend(laws)
})
