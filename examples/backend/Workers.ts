/** The backend: a layer that opens a device of threads, and provides what every backend provides. */
import { Context, Effect, Layer } from "effect"
import { GpuError } from "effect-gpu-pool"
import { BufferLike, Device, KernelCache } from "effect-gpu-pool/backend"
import { availableParallelism } from "node:os"
import { noImages } from "./NoImages.ts"
import { Pipeline } from "./Pipeline.ts"
import { Threads } from "./Threads.ts"
import type { WorkersBuffer } from "./WorkersBuffer.ts"
import { WorkersDevice } from "./WorkersDevice.ts"
import { compiler, javaScript, type ThreadLanguage } from "./WorkersKernel.ts"
import { WorkersQueue } from "./WorkersQueue.ts"

export interface WorkersOptions {
  /** As many as the machine can run at a time, when left out. */
  readonly threads?: number | undefined
  /** The language of kernels: JavaScript when left out. */
  readonly language?: ThreadLanguage | undefined
}

/** What only this backend has. */
export class Workers extends Context.Service<Workers, {
  readonly threads: number
  /**
   * The memory of a lease or a buffer, which the program can share with threads of its own. Finish first: recorded work
   * is not in it yet. When the lease ends, the memory goes to the next owner.
   */
  readonly memory: (buffer: BufferLike.BufferLike) => Effect.Effect<Uint8Array<SharedArrayBuffer>, GpuError.GpuError>
}>()("examples/backend/Workers") {}

const memory = ({ info, status }: WorkersDevice, buffer: BufferLike.BufferLike) =>
  Effect.suspend(() => {
    const problem = status.error ?? BufferLike.problem("Workers.memory", buffer, info)
    if (problem !== undefined) return problem
    // A buffer of no bytes has no memory.
    const own = BufferLike.deviceBuffer(buffer) as WorkersBuffer | undefined
    return Effect.succeed(new Uint8Array(own?.memory ?? new SharedArrayBuffer(0), own?.origin ?? 0, buffer.size))
  })

const make = Effect.fnUntraced(function*(
  { language = javaScript, threads: count = availableParallelism() }: WorkersOptions
) {
  if (!Number.isInteger(count) || count < 1) {
    return yield* GpuError.invalidRequest(
      "Workers.layer",
      `threads ${count} is no whole number of at least 1`,
      "Leave it out."
    )
  }
  const device = new WorkersDevice(count, language.writer.language)
  const threads = yield* Threads.open(count, device)
  yield* Effect.addFinalizer(() => Effect.sync(() => device.close()))
  const pipeline = new Pipeline(threads, device.status)
  const { info, status } = device
  const cache = yield* KernelCache.make(compiler(threads, pipeline, language, device), { info, status })
  const queue = new WorkersQueue(device, pipeline, count)
  const services = Device.fromDrivers({ device, cache, queue, images: noImages })
  return Context.add(services, Workers, { threads: count, memory: (buffer) => memory(device, buffer) })
})

export const layer = (options: WorkersOptions = {}) => Layer.effectContext(make(options))
