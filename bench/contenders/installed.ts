/**
 * What a pool under a device makes of a buffer of 4 KiB that is made and destroyed, on Dawn with a driver: a device without a pool takes
 * turns with one that has it, and with one whose pool is the program's.
 */
import { InstalledPool } from "@effect-gpu-pool/interop/effect"
import { install } from "@effect-gpu-pool/interop/install"
import { Effect, Layer, Schema, type Scope } from "effect"
import { create } from "webgpu"
import * as Contender from "../Contender.ts"

const rounds = { warmUp: 100, measured: 300 }
const pairs = 100

/** Usages storage, copySrc and copyDst. */
const descriptor = { size: 4096, usage: 0x8c }

const Micros = Schema.Array(Schema.Finite)

/** Microseconds for a buffer, by round, on a device without a pool, on one with it, and on one with the program's. */
const Figures = Schema.Struct({ raw: Micros, pooled: Micros, shared: Micros })

const microsPerPair = (device: GPUDevice): number => {
  const from = performance.now()
  for (let done = 0; done < pairs; done++) device.createBuffer(descriptor).destroy()
  return (performance.now() - from) * 1000 / pairs
}

const opened = async (gpu: GPU): Promise<GPUDevice> => {
  const adapter = await gpu.requestAdapter()
  if (adapter === null) throw new Error("Dawn finds no adapter")
  return adapter.requestDevice()
}

const measure = async (scope: Scope.Scope): Promise<typeof Figures.Type> => {
  const gpu = create([])
  const [raw, pooled, shared] = [await opened(gpu), await opened(gpu), await opened(gpu)]
  install(pooled)
  await Effect.runPromise(Layer.buildWithScope(InstalledPool.layer(shared), scope))
  const figures = { raw: Array<number>(), pooled: Array<number>(), shared: Array<number>() }
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    const micros = { raw: microsPerPair(raw), pooled: microsPerPair(pooled), shared: microsPerPair(shared) }
    // What was destroyed is given back after a submit; an engine collects in the turns between.
    for (const { queue } of [raw, pooled, shared]) {
      queue.submit([])
      await queue.onSubmittedWorkDone()
    }
    if (round < 0) continue
    figures.raw.push(micros.raw)
    figures.pooled.push(micros.pooled)
    figures.shared.push(micros.shared)
  }
  for (const device of [raw, pooled, shared]) device.destroy()
  return figures
}

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({}),
  figures: Figures,
  measure: () => Effect.scoped(Effect.flatMap(Effect.scope, (scope) => Effect.promise(() => measure(scope))))
})

if (import.meta.main) Contender.main(contender)
