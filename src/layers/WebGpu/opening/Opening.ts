/**
 * What all layers of this backend do to open a device. Each makes its services of the opened device, and so decides which code a program
 * has.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { format } from "../../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { LazyModule } from "../../../services/calls/LazyModule.ts"
import * as WebGpuQueue from "../commands/WebGpuQueue.ts"
import { type StagingPart, WebGpuDevice } from "../WebGpuDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { unavailable } from "./NoDevice.ts"
import * as OpenDevice from "./OpenDevice.ts"
import type { Options } from "./OpenOptions.ts"

/** Opens a device of a GPU object. */
export const open = Effect.fn("WebGpu.open")(function*<Given extends Options, S>(
  gpu: WebGpuHandle.Gpu,
  given: Given,
  servicesOf: (
    opened: OpenDevice.OpenDevice,
    given: Given
  ) => Effect.Effect<Context.Context<S>, GpuError, Scope.Scope>
): Effect.fn.Return<Context.Context<S>, GpuError, Scope.Scope> {
  const opened = yield* Effect.catch(
    OpenDevice.open(gpu, given),
    (refused) => unavailable(({ noDevice }, runtime) => noDevice(runtime, given, refused))
  )
  yield* Effect.annotateCurrentSpan("gpu.device", format(opened.info))
  return yield* servicesOf(opened, given)
})

/** The buffers of an open device, and its queue. They end with the scope. */
export const memoryOf = Effect.fnUntraced(function*(
  opened: OpenDevice.OpenDevice,
  later: LazyModule<StagingPart & WebGpuQueue.ScratchPart>,
  rectangles: WebGpuQueue.Rectangles
): Effect.fn.Return<
  { readonly device: WebGpuDevice; readonly queue: WebGpuQueue.WebGpuQueue },
  never,
  Scope.Scope
> {
  const queue = yield* WebGpuQueue.make(opened, later, rectangles)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      // The program's own buffers outlive the layer, and what was recorded with them counts.
      if (opened.isShared) queue.flushUnsafe()
      opened.status.lose("its layer is closed")
    })
  )
  return { device: new WebGpuDevice(opened, later), queue }
})
