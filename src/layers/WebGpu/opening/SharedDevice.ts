/**
 * A device that other code has opened, and goes on using: nothing of it is changed. The library only listens to its loss, makes
 * every call in error scopes of its own, and destroys in the end what it has made.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { DType } from "../../../domain/data/DType.ts"
import { hasHalves } from "../../../domain/data/HalfSupport.ts"
import { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { submitNothing } from "../commands/SubmittedWork.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { featureHint } from "./FeatureHint.ts"
import { destroyAll, lossOf, type OpenDevice, unwatched } from "./OpenDevice.ts"

/** Takes a device into use, until the scope closes. Fails with DeviceLost where it is lost already. */
export const open = Effect.fnUntraced(function*(
  device: WebGpuHandle.Device
): Effect.fn.Return<OpenDevice, GpuError, Scope.Scope> {
  const { opened } = yield* Effect.acquireRelease(
    Effect.sync(() => watch(device)),
    ({ opened, stop }) =>
      Effect.sync(() => {
        stop()
        close(opened)
      })
  )
  // A promise that is settled tells its listeners before this one.
  yield* Effect.promise(() => Promise.resolve())
  return opened.status.error === undefined ? opened : yield* opened.status.error
})

/** Without the submit its memory would come back only with one of the other code's. */
const close = (opened: OpenDevice): void => {
  destroyAll(opened)
  submitNothing(opened)
}

const watch = (device: WebGpuHandle.Device): { readonly opened: OpenDevice; readonly stop: () => void } => {
  const known = unwatched(device, device.adapterInfo)
  const info = { ...known.info, missingDTypes: missingDTypes(device) }
  const opened = { ...known, info, gpu: undefined, adapter: undefined, isShared: true }
  const stop = lossOfRaw(device).onLost(({ message, reason }) => {
    opened.status.lose(reason._tag === "DeviceLost" ? reason.detail : message)
  })
  return { opened, stop }
}

const losses = new WeakMap<WebGpuHandle.Device, DeviceStatus>()

/** A promise forgets no listener, so each device has one, however many layers it sees. */
const lossOfRaw = (device: WebGpuHandle.Device): DeviceStatus => {
  const known = losses.get(device)
  if (known !== undefined) return known
  const status = new DeviceStatus("webgpu")
  losses.set(device, status)
  void device.lost.then((lost) => status.lose(lossOf(lost)))
  return status
}

/** Where the runtime has no halves, no feature helps. */
const missingDTypes = ({ features }: WebGpuHandle.Device): ReadonlyMap<DType, string> => {
  const hint = featureHint({ isShared: true }, features.has("shader-f16") || !hasHalves() ? undefined : "shader-f16")
  return new Map(hint === undefined ? [] : [["f16", hint]])
}
