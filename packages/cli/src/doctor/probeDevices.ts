/**
 * A program for a process of its own: lists the devices of the backend that its argument names, opens each, and computes
 * on it.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
import type { Backend } from "effect-gpu-pool/Backend"
import { Backends } from "effect-gpu-pool/Devices"
import * as Devices from "effect-gpu-pool/Devices"
import * as DeviceSelector from "effect-gpu-pool/DeviceSelector"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { ListedDevice } from "effect-gpu-pool/ListedDevice"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { printAnswer, printStep, type ProbedDevice, type ProbeResult } from "./ChildAnswer.ts"

const increment = Kernel.make({
  name: "doctor",
  args: [KernelArgument.VectorArg("u32", "x")],
  body: {
    wgsl: "x[i] = x[i] + 1u;",
    opencl: "x[i] = x[i] + 1;",
    host: (from, to, { x }) => {
      for (let i = from; i < to; i++) x[i] = x[i]! + 1
    }
  }
})

const written = Uint32Array.of(1, 2, 3, 4)

/** Memory, a write, a kernel and a read: what every program needs. */
const compute: Effect.Effect<string | null, GpuError, BufferPool.BufferPool | CommandQueue.CommandQueue> = BufferPool
  .use(written.byteLength, (x) =>
    Effect.gen(function*() {
      yield* CommandQueue.write(x, written)
      yield* CommandQueue.dispatch(increment, { x }, written.length)
      const read = yield* CommandQueue.read(x, Uint32Array)
      return written.every((value, at) => read[at] === value + 1)
        ? null
        : `it computes wrong numbers: ${read.join(", ")}`
    }))

const probeDevice = (backend: Backend, device: ListedDevice): Effect.Effect<ProbedDevice> =>
  Effect.suspend(() => {
    const selector = DeviceSelector.format(DeviceSelector.of(device))
    const name = device.device?.name ?? ""
    const common = { selector, name, type: device.type ?? null, driver: device.driver }
    if (device.device === undefined || device.unusable !== undefined) {
      return Effect.succeed({ ...common, why: device.unusable ?? "it has no device" })
    }
    printStep(`while it used ${selector} ${name}`)
    const pool = BufferPool.layer().pipe(Layer.provideMerge(backend.open(device, {})))
    return Effect.match(Effect.provide(compute, pool), {
      onFailure: ({ message }) => ({ ...common, why: message }),
      onSuccess: (why) => ({ ...common, why })
    })
  })

const probeAll = (name: string): Effect.Effect<ProbeResult> =>
  Effect.flatMap(Backends, (backends) => {
    const backend = backends.find((one) => one.name === name)
    if (backend === undefined) return Effect.die(new Error(`there is no backend ${name}`))
    printStep("while it listed devices")
    return Devices.list.pipe(
      Effect.provideService(Backends, [backend]),
      Effect.flatMap(Effect.forEach((device) => probeDevice(backend, device)))
    )
  })

printAnswer(await Effect.runPromise(probeAll(process.argv[2] ?? "")))
