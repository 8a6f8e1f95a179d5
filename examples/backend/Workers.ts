/** The backend: a layer that opens a device of threads, and provides what every backend provides. */
import { Context, Effect, Layer } from "effect"
import { Device, GpuError, KernelCache } from "effect-gpu-pool"
import { availableParallelism } from "node:os"
import { noImages } from "./NoImages.ts"
import { Pipeline } from "./Pipeline.ts"
import { Threads } from "./Threads.ts"
import { WorkersDevice } from "./WorkersDevice.ts"
import { compiler } from "./WorkersKernel.ts"
import { WorkersQueue } from "./WorkersQueue.ts"

export interface WorkersOptions {
  /** As many as the machine can run at a time, without it. */
  readonly threads?: number | undefined
}

/** What only this backend has. */
export class Workers extends Context.Service<Workers, {
  readonly threads: number
}>()("examples/backend/Workers") {}

const make = Effect.fnUntraced(function*({ threads: count = availableParallelism() }: WorkersOptions) {
  if (!Number.isInteger(count) || count < 1) {
    return yield* GpuError.invalidRequest(
      "Workers.layer",
      `threads ${count} is no whole number of at least 1`,
      "Leave it out."
    )
  }
  const device = new WorkersDevice(count)
  const { driverObjects, info, status } = device
  const threads = yield* Threads.open(count, device)
  yield* Effect.addFinalizer(() => Effect.sync(() => device.close()))
  const pipeline = new Pipeline(threads, status)
  const cache = yield* KernelCache.make(compiler(threads, pipeline, driverObjects), { info, status })
  const queue = new WorkersQueue(device, pipeline, count)
  return Context.add(Device.fromDrivers({ device, cache, queue, images: noImages }), Workers, { threads: count })
})

export const layer = (options: WorkersOptions = {}) => Layer.effectContext(make(options))
