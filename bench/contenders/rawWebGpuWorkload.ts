/**
 * The touched workload straight on a GPUDevice: createBuffer and destroy for each buffer. A program that only submits lets the
 * driver fall behind, and destroyed memory piles up until it has caught up; one that waits for each submit does not.
 */
import { Effect, Schema } from "effect"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Contender from "../Contender.ts"
import * as Workload from "../Workload.ts"

/** STORAGE, COPY_SRC and COPY_DST; Node has no global `GPUBufferUsage`. */
const usage = 0x80 | 0x04 | 0x08

/** Every buffer is destroyed after the submit that uses it last. */
const workload = async (
  device: GPUDevice,
  plan: ReadonlyArray<Workload.Step>,
  waits: boolean
): Promise<void> => {
  const source = device.createBuffer({ size: Workload.copyBytes, usage })
  const live: Array<GPUBuffer | undefined> = Array.from({ length: Workload.slots })
  let replaced: Array<GPUBuffer> = []
  let encoder = device.createCommandEncoder()
  const submit = (): void => {
    device.queue.submit([encoder.finish()])
    for (const buffer of replaced) buffer.destroy()
    replaced = []
    encoder = device.createCommandEncoder()
  }
  for (const [index, { size, slot }] of plan.entries()) {
    const old = live[slot]
    if (old !== undefined) replaced.push(old)
    const buffer = device.createBuffer({ size, usage })
    live[slot] = buffer
    encoder.copyBufferToBuffer(source, 0, buffer, 0, Workload.copyBytes)
    if ((index + 1) % Workload.stepsPerFlush !== 0) continue
    submit()
    if (waits) await device.queue.onSubmittedWorkDone()
  }
  submit()
  await device.queue.onSubmittedWorkDone()
  for (const buffer of [source, ...live]) buffer?.destroy()
}

const timedRun = Effect.fnUntraced(function*(device: GPUDevice, run: number, waits: boolean) {
  const plan = Workload.plan(run)
  const from = performance.now()
  yield* Effect.promise(() => workload(device, plan, waits))
  return { millis: performance.now() - from, peakLiveBytes: Workload.peakLiveBytes(plan) }
})

const measure = Effect.fnUntraced(function*(waits: boolean) {
  const { device } = yield* WebGpu.WebGpu
  return Workload.figures(yield* Workload.eachRun((run) => timedRun(device, run, waits)), undefined)
}, Effect.provide(WebGpu.layer()))

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ waits: Schema.Boolean }),
  figures: Workload.Figures,
  measure: ({ waits }) => measure(waits)
})

if (import.meta.main) Contender.main(contender)
