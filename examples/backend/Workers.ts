/** The backend: a layer that opens a device of threads, and provides what every backend provides. */
import { Context, Effect, Layer } from "effect"
import { CommandQueue, DeviceContext, GpuError, Images, KernelCache } from "effect-gpu-pool"
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
  const queue = CommandQueue.fromDriver({ driver: new WorkersQueue(device, pipeline, count), device, cache })
  return Context.make(DeviceContext.DeviceContext, device).pipe(
    Context.add(KernelCache.KernelCache, cache),
    Context.add(CommandQueue.CommandQueue, queue),
    Context.add(Images.Images, Images.fromDriver({ driver: noImages, device, queue })),
    Context.add(Workers, { threads: count })
  )
})

export const layer = (options: WorkersOptions = {}) => Layer.effectContext(make(options))
