/**
 * A program for a process of its own: compiles kernels that nest as deeply as they may, and more deeply, and prints how
 * each ended; with the argument "run" it runs them too. A compiler that ends the process leaves the list short.
 */
import { BufferPool, CommandQueue, type GpuError, Kernel, KernelArgument } from "effect-gpu-pool"
import { KernelCache } from "effect-gpu-pool/backend"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as CompilerStack from "../../src/layers/OpenCl/kernels/CompilerStack.ts"
import * as OpenClSource from "../../src/layers/OpenCl/kernels/OpenClSource.ts"
import { type Language, shapes } from "./deepSources.ts"

const [backend, mode] = process.argv.slice(2)
const language: Language = backend === "webgpu" ? "wgsl" : "opencl"

const kernelOf = (body: string) =>
  Kernel.make({
    name: "deep",
    args: [KernelArgument.VectorArg("f32", "x")],
    body: { [language]: body }
  })

const run = (kernel: Kernel.Kernel) =>
  Effect.scoped(Effect.gen(function*() {
    const x = yield* BufferPool.allocate(64)
    yield* CommandQueue.fill(x, 0)
    yield* CommandQueue.dispatch(kernel, { x }, 1)
    yield* CommandQueue.finish
  }))

type Services = BufferPool.BufferPool | CommandQueue.CommandQueue | KernelCache.KernelCache

const attempted = (kernel: Kernel.Kernel): Effect.Effect<void, GpuError.GpuError, Services> =>
  mode === "run" ? run(kernel) : Effect.asVoid(KernelCache.get(kernel))

const attempt = (body: string) =>
  Effect.map(
    Effect.result(attempted(kernelOf(body))),
    (result) => Result.isSuccess(result) ? "done" : result.failure.reason._tag
  )

const accepts = (body: string, stackBytes: number): boolean => {
  const kernel = kernelOf(body)
  const source = OpenClSource.source(kernel, { body, preamble: "", workgroupSize: [64, 1, 1] })
  return CompilerStack.problem(kernel.name, source, stackBytes) === undefined
}

/** The deepest that the library accepts. */
const deepest = (shape: (depth: number) => string, stackBytes: number): number => {
  let [below, above] = [1, 5000]
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2)
    if (accepts(shape(middle), stackBytes)) below = middle
    else above = middle
  }
  return below
}

const depthsOf = (shape: (depth: number) => string, stackBytes: number): ReadonlyArray<number> => {
  if (language === "wgsl") return [60, 64, 65, 600, 10_000]
  const most = deepest(shape, stackBytes)
  return [most, most + 1, 20_000]
}

/** The depth of nesting that usual programs may have. */
const ordinary: ReadonlyArray<readonly [shape: string, depth: number]> = [
  ["parentheses", 40],
  ["terms of a sum", 600],
  ["nested ifs", 50]
]

const attemptAll = (stackBytes: number) =>
  Effect.gen(function*() {
    const known = new Map(shapes(language))
    const planned = mode === "run"
      ? ordinary
      : [...known].flatMap(([name, shape]) =>
        depthsOf((depth) => shape(depth, language), stackBytes).map((depth) => [name, depth] as const)
      )
    for (const [name, depth] of planned) {
      const body = known.get(name)!(depth, language)
      const end = yield* attempt(body)
      yield* Effect.sync(() => process.stdout.write(`${JSON.stringify([name, depth, end])}\n`))
    }
  })

const onWebGpu = attemptAll(0).pipe(Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))))

const onOpenCl = OpenCl.OpenCl.pipe(
  Effect.flatMap(({ api }) => attemptAll(api.asyncStackBytes)),
  Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())))
)

await Effect.runPromise(language === "wgsl" ? onWebGpu : onOpenCl)
