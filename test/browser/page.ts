/**
 * What runs inside the page: programs on the browser's own WebGPU, bundled from the public API. The test calls these
 * functions by name and gets plain data back.
 */
import { install } from "@effect-gpu-pool/interop/install"
import { Conformance } from "@effect-gpu-pool/testing"
import { BufferPool, CommandQueue, DeviceContext, Kernel, KernelArgument, type PoolStats } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Heat from "../../examples/render/Heat.ts"
import { rules, soil } from "../../packages/interop/test/BufferRules.ts"
import { type FramesReport, runFrames } from "../support/sharedFrames.ts"

/** Plain data from a first program in the page. */
export interface Report {
  readonly backend: string
  readonly device: string
  readonly values: ReadonlyArray<number>
  readonly stats: PoolStats.PoolStats
  /** The closed device's driver objects, by kind. */
  readonly driverObjects: Readonly<Record<string, number>>
}

export interface Page {
  /** Writes, dispatches and reads, twice, so that the second round finds its memory in the pool. */
  readonly program: () => Promise<Report>
  /** Runs tests of one group of the conformance suite on a device of their own, with a part of the heavy tests' work. */
  readonly conformance: (
    group: string,
    names: ReadonlyArray<string>,
    workScale: number
  ) => Promise<ReadonlyArray<Conformance.Outcome>>
  /** Prints a lease and its pool as they are, and as a message of Effect's pretty logger. */
  readonly print: () => Promise<void>
  /** The errors of the two layers where the browser has no WebGPU. */
  readonly withoutWebGpu: () => Promise<ReadonlyArray<string>>
  /** An animation that loses its device in the middle, and one that keeps it. */
  readonly animations: () => Promise<{ readonly lost: Heat.Animation; readonly kept: Heat.Animation }>
  /** Explores a program with a race, and answers what was found. */
  readonly schedules: () => Promise<{ readonly kind: string; readonly trace: string }>
  /** Shares a device with other code for some frames. */
  readonly sharedFrames: (frames: number) => Promise<FramesReport>
  /** Checks WebGPU's rules of buffers on a device without a pool, or with one that holds bytes of others; answers what is wrong. */
  readonly bufferRules: (hasPool: boolean) => Promise<ReadonlyArray<string>>
}

declare global {
  var effectGpuPoolPage: Page
}

const axpy = Kernel.make({
  name: "axpy",
  args: [
    KernelArgument.VectorArg("f32", "x", { access: "read" }),
    KernelArgument.VectorArg("f32", "y"),
    KernelArgument.ScalarArg("f32", "a")
  ],
  body: { wgsl: "y[i] = a * x[i] + y[i];" }
})

const count = 1000

const round = Effect.scoped(Effect.gen(function*() {
  const x = yield* BufferPool.allocate(4 * count)
  const y = yield* BufferPool.allocate(4 * count)
  yield* CommandQueue.write(x, Float32Array.from({ length: count }, (_, i) => i))
  yield* CommandQueue.write(y, new Float32Array(count).fill(1))
  yield* CommandQueue.dispatch(axpy, { x, y, a: 2 }, count)
  return yield* CommandQueue.read(y, Float32Array)
}))

const device = WebGpu.layer()

const program = Effect.gen(function*() {
  const { driverObjects, info } = yield* DeviceContext.DeviceContext
  yield* round
  const values = yield* round
  return {
    backend: info.backend,
    device: info.name,
    values: [...values],
    stats: yield* BufferPool.stats,
    driverObjects
  }
}).pipe(Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(device))))

const printing = BufferPool.BufferPool.use((pool) =>
  BufferPool.use(
    64,
    (lease) => Effect.andThen(Effect.sync(() => console.log(lease, pool, String(lease))), Effect.log(lease))
  )
).pipe(
  Effect.provide(BufferPool.layer()),
  Effect.provide(device),
  Effect.provide(Logger.layer([Logger.consolePretty()]))
)

const racing = Effect.suspend(() => {
  let count = 0
  const increment = Effect.flatMap(Effect.sync(() => count), (seen) =>
    Effect.sync(() => {
      count = seen + 1
    }))
  return Effect.all([increment, increment], { concurrency: 2 }).pipe(
    Effect.andThen(Effect.suspend(() => count === 2 ? Effect.void : Effect.fail(`counted ${count}`)))
  )
})

const animate = (loseAt?: number): Promise<Heat.Animation> =>
  Effect.runPromise(Effect.provide(Heat.animate({ size: 16, frames: 8, loseAt }), Heat.Gpu.layer))

const problemOf = async (
  check: (device: GPUDevice) => Promise<void>,
  hasPool: boolean
): Promise<string | undefined> => {
  const adapter = await navigator.gpu.requestAdapter()
  const device = await adapter!.requestDevice()
  if (hasPool) {
    install(device)
    soil(device)
  }
  try {
    await check(device)
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    device.destroy()
  }
}

globalThis.effectGpuPoolPage = {
  program: async () => {
    const report = await Effect.runPromise(program)
    return { ...report, driverObjects: report.driverObjects.liveByKind }
  },
  conformance: (group, names, workScale) =>
    Effect.runPromise(Effect.provideService(
      Conformance.runAll(
        device,
        Conformance.suite(device).filter((test) => test.group === group && names.includes(test.name))
      ),
      Conformance.workScale,
      workScale
    )),
  print: () => Effect.runPromise(printing),
  withoutWebGpu: async () => {
    const gpu = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu")!
    Object.defineProperty(Navigator.prototype, "gpu", { ...gpu, get: () => undefined })
    const layers = [WebGpu.layer(), WebGpu.layerFrom(navigator.gpu)]
    const failing = Effect.forEach(layers, (layer) => Effect.flip(Effect.scoped(Layer.build(layer))))
    const errors = await Effect.runPromise(failing)
    Object.defineProperty(Navigator.prototype, "gpu", gpu)
    return errors.map(({ message, reason }) => `${reason._tag}: ${message}`)
  },
  animations: async () => {
    return { lost: await animate(3), kept: await animate() }
  },
  schedules: async () => {
    const { kind, trace } = await Effect.runPromise(Effect.flip(Schedules.explore(racing)))
    return { kind, trace }
  },
  sharedFrames: async (frames) => {
    const adapter = await navigator.gpu.requestAdapter()
    const device = await adapter!.requestDevice()
    const report = await runFrames(device, frames)
    device.destroy()
    return report
  },
  bufferRules: async (hasPool) => {
    const problems: Array<string> = []
    for (const { check, name } of rules) {
      const problem = await problemOf(check, hasPool)
      if (problem !== undefined) problems.push(`${name}: ${problem}`)
    }
    return problems
  }
}
