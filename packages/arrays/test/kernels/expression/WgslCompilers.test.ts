/**
 * Freedoms that WGSL gives to compilers change no result by more than its tolerance. The compilers here do not use
 * them, so the tests rewrite the text as other compilers would.
 */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { inWgsl } from "../../../../../test/support/writtenSource.ts"
import { hypotenuseOf } from "../../../src/kernels/expression/Hypotenuse.ts"

type Real = Expr.Expr<"f32">

interface Case {
  readonly of: (x: Real, y: Real) => Real
  readonly exact: (x: number, y: number) => number
}

/** A compiler's rewrite of a text, with the functions that the result calls. */
interface Compiler {
  readonly preamble: string
  readonly compiled: (wgsl: string) => string
}

type Pairs = ReadonlyArray<readonly [number, number]>

/** Computes an operation on pairs of numbers as a compiler's output does. */
const computed = Effect.fnUntraced(function*(of: Case["of"], pairs: Pairs, compiler: Compiler) {
  const generated = ElementwiseKernel.make({
    name: "compiled",
    args: [
      KernelArgument.VectorArg("f32", "x", { access: "read" }),
      KernelArgument.VectorArg("f32", "y", { access: "read" }),
      KernelArgument.VectorArg("f32", "result", { access: "write" })
    ],
    outputs: ({ x, y }) => ({ result: of(x, y) })
  })
  const { body, preamble } = inWgsl(generated)
  const kernel = Kernel.make({
    name: generated.name,
    args: generated.args,
    body: { wgsl: compiler.compiled(body) },
    preamble: { wgsl: `${compiler.preamble}\n${compiler.compiled(preamble)}` }
  })
  const [x, y, result] = yield* Effect.all([0, 0, 0].map(() => BufferPool.allocate(pairs.length * 4)))
  yield* CommandQueue.write(x!, Float32Array.from(pairs, ([x]) => x))
  yield* CommandQueue.write(y!, Float32Array.from(pairs, ([, y]) => y))
  yield* CommandQueue.dispatch(kernel, { x: x!, y: y!, result: result! }, pairs.length)
  return Array.from(yield* CommandQueue.read(result!, Float32Array))
}, Effect.scoped)

const agree = (cases: Readonly<Record<string, Case>>, pairs: Pairs, compiler: Compiler) =>
  Effect.forEach(Object.entries(cases), ([name, { exact, of }]) =>
    Effect.gen(function*() {
      const found = yield* computed(of, pairs, compiler)
      pairs.forEach(([x, y], at) => {
        const expected = exact(Math.fround(x), Math.fround(y))
        const distance = Math.abs(found[at]! - expected)
        assert(distance <= 2 ** -15 * Math.abs(expected), `${name} of ${x}, ${y} is ${found[at]}, not ${expected}`)
      })
    }), { discard: true })

/** The last two factors of three are multiplied first. The driver's compiler cannot undo that. */
const regrouped: Compiler = {
  preamble: `fn pair__f32(a: f32, b: f32) -> f32 {
  let bits = bitcast<u32>(a * b);
  return bitcast<f32>(bits | u32(bits == 0x7f800000u));
}`,
  compiled: (wgsl) =>
    wgsl
      .replaceAll(/\(([\w.]+f) \* (\w+)\) \* (\w+)/g, "$1 * pair__f32($2, $3)")
      .replaceAll(/\b([\w.]+f) \* (\w+) \* (\w+)/g, "$1 * pair__f32($2, $3)")
}

/** Quotients are products with a reciprocal, and subnormal numbers are zeros. */
const reciprocal: Compiler = {
  preamble: `fn normal__f32(a: f32) -> f32 {
  let bits = bitcast<u32>(a);
  return bitcast<f32>(select(bits, bits & 0x80000000u, (bits & 0x7f800000u) == 0u));
}
fn inverse__f32(a: f32) -> f32 { return normal__f32(1.0f / normal__f32(a)); }`,
  compiled: (wgsl) => wgsl.replaceAll(/ \/ (\w[\w.]*(?:\([^()]*\))?|\((?:[^()]|\([^()]*\))*\))/g, " * inverse__f32($1)")
}

const hyperbolic: Readonly<Record<string, Case>> = {
  sinh: { of: (x) => Expr.sinh(x), exact: (x) => Math.sinh(x) },
  cosh: { of: (x) => Expr.cosh(x), exact: (x) => Math.cosh(x) }
}

/** All operations on floats that divide, except `divide`. */
const dividing: Readonly<Record<string, Case>> = {
  fmod: { of: (x, y) => Expr.fmod(x, y), exact: (x, y) => x % y },
  floorDivide: { of: (x, y) => Expr.floorDivide(x, y), exact: (x, y) => Math.floor(x / y) },
  remainder: { of: (x, y) => Expr.remainder(x, y), exact: (x, y) => x - y * Math.floor(x / y) },
  hypot: { of: (x, y) => hypotenuseOf(x, y) as Real, exact: Math.hypot },
  atan2: { of: (x, y) => Expr.atan2(x, y), exact: Math.atan2 },
  atan: { of: (x) => Expr.atan(x), exact: (x) => Math.atan(x) },
  tanh: { of: (x) => Expr.tanh(x), exact: (x) => Math.tanh(x) },
  asinh: { of: (x) => Expr.asinh(x), exact: (x) => Math.asinh(x) },
  acosh: { of: (x) => Expr.acosh(Expr.abs(x)), exact: (x) => Math.acosh(Math.abs(x)) }
}

describeWith(["webgpu"], "WGSL compilers", () => {
  layer(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())))((it) => {
    it.effect("may multiply in another order: sinh and cosh are finite up to 89.4", () => {
      const pairs = [1, 10, 88, 88.5, 89, 89.4].flatMap((x) => [[x, 0], [-x, 0]] as const)
      return agree(hyperbolic, pairs, regrouped)
    })

    it.effect("may divide by reciprocals: only divide is affected where those are subnormal", () =>
      agree(dividing, [[2.5e38, 1e38], [-2.5e38, 1e38], [1.5e38, -1e38], [1e38, 3e37], [3e37, 1.25e37]], reciprocal))

    it.effect("may take subnormal products for zero: negative powers are finite up to the largest number", () => {
      const bases = [[2 ** -42.2, -3], [2 ** -9, -14], [-(2 ** -31.75), -4], [0.1, -2], [3, -5]] as const
      return agree({ power: { of: (x, y) => Expr.power(x, y), exact: (x, y) => x ** y } }, bases, reciprocal)
    })
  })
})
