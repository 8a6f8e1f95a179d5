/**
 * A device that other code has opened, and goes on using: the library changes nothing of it. It only listens to its
 * loss, makes every call in error scopes of its own, and at the end destroys what it has made.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { formatted } from "../../../domain/arguments/Format.ts"
import type { DType } from "../../../domain/data/DType.ts"
import { hasHalves } from "../../../domain/data/HalfSupport.ts"
import { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { submitNothing } from "../commands/SubmittedWork.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { destroyAll, featureHint, lossOf, type OpenDevice, unwatched } from "./OpenDevice.ts"

/**
 * Takes a device into use, until the scope closes. Fails with DeviceLost where it is lost already. Some libraries give a promise of
 * their device, so a value that is not a device has an error of its own.
 */
export const open = Effect.fnUntraced(function*(
  operation: string,
  device: WebGpuHandle.Device
): Effect.fn.Return<OpenDevice, GpuError, Scope.Scope> {
  if (!isDevice(device)) {
    return yield* invalidRequest(
      operation,
      `${formatted(device)} was given for a GPUDevice`,
      "Pass the GPUDevice itself, and await a promise of it before."
    )
  }
  const { opened } = yield* Effect.acquireRelease(
    Effect.sync(() => watch(device)),
    ({ opened, stop }) =>
      Effect.sync(() => {
        stop()
        close(opened)
      })
  )
  // If `device.lost` has settled already, its handler runs before this promise's.
  yield* Effect.promise(() => Promise.resolve())
  return opened.status.error === undefined ? opened : yield* opened.status.error
})

const isDevice = (device: Partial<WebGpuHandle.Device> | null | undefined): boolean =>
  device?.limits !== undefined && device.features !== undefined && device.queue !== undefined

/** Without the submit, the driver would free the memory only after the other code's next one. */
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

/** A promise's handlers cannot be removed, so each device has one handler, however many layers use it. */
const lossOfRaw = (device: WebGpuHandle.Device): DeviceStatus => {
  const known = losses.get(device)
  if (known !== undefined) return known
  const status = new DeviceStatus("webgpu")
  losses.set(device, status)
  void device.lost.then((lost) => status.lose(lossOf(lost)))
  return status
}

/** No hint where the runtime itself has no halves: no feature helps then. */
const missingDTypes = ({ features }: WebGpuHandle.Device): ReadonlyMap<DType, string> => {
  const hint = featureHint({ isShared: true }, features.has("shader-f16") || !hasHalves() ? undefined : "shader-f16")
  return new Map(hint === undefined ? [] : [["f16", hint]])
}
