/**
 * All that the library and the driver know of a device. Asking opens the device and closes it again.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DeviceInfo } from "../domain/device/DeviceInfo.ts"
import type { DriverFacts } from "../domain/device/DriverFacts.ts"
import type { GpuError } from "../domain/GpuError.ts"
import * as ImageFormat from "../domain/images/ImageFormat.ts"
import { type ImageKind, kinds } from "../domain/images/ImageShape.ts"
import * as ImageUsage from "../domain/images/ImageUsage.ts"
import type { ListedDevice } from "../domain/selection/ListedDevice.ts"
import type { Backend } from "../services/backend/Backend.ts"
import type { Services } from "../services/backend/Device.ts"
import * as DeviceContext from "../services/device/DeviceContext.ts"
import * as Images from "../services/images/Images.ts"
import * as CommandQueue from "../services/queue/CommandQueue.ts"
import { Backends } from "./Backends.ts"
import { layerOf } from "./Devices.ts"

/**
 * The largest image of a kind, in elements, and the formats that kernels read and write.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageDetails {
  readonly width: number
  readonly height: number
  readonly depth: number
  readonly layers: number
  readonly read: ReadonlyArray<string>
  readonly written: ReadonlyArray<string>
}

/**
 * What the library and the driver know of a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceDetails {
  readonly info: DeviceInfo
  /** Whether it has queues besides the first. */
  readonly severalQueues: boolean
  /** By kind; kinds that the device lacks are left out. */
  readonly images: { readonly [K in ImageKind]?: ImageDetails }
  /** What its driver reports besides. */
  readonly facts: DriverFacts
}

/**
 * Opens the device, asks and closes it. Fails as its layer does.
 *
 * @category functions
 * @since 0.1.0
 */
export const detailsOf = (device: ListedDevice): Effect.Effect<DeviceDetails, GpuError> =>
  Effect.flatMap(
    Backends,
    (backends) =>
      Effect.provide(ask(backends.find(({ name }) => name === device.backend)), Layer.unwrap(layerOf(device, {})))
  )

const ask = (backend: Backend | undefined): Effect.Effect<DeviceDetails, GpuError, Services> =>
  Effect.all({
    info: DeviceContext.info,
    severalQueues: Effect.map(Effect.result(Effect.scoped(CommandQueue.make())), ({ _tag }) => _tag === "Success"),
    images: allImages,
    facts: backend?.facts ?? Effect.succeed({})
  })

const allImages = Effect.map(
  Effect.forEach(kinds, (kind) => Effect.map(imagesOf(kind), (found) => [kind, found] as const)),
  (found) => Object.fromEntries(found.filter(([, { read, written }]) => read.length + written.length > 0))
)

const imagesOf = (kind: ImageKind): Effect.Effect<ImageDetails, GpuError, Images.Images> =>
  Effect.map(
    Effect.all([
      Images.largest(kind),
      Images.formats(ImageUsage.sampled, kind),
      Images.formats(ImageUsage.storage, kind)
    ]),
    ([largest, read, written]) => ({
      ...largest,
      read: read.map(ImageFormat.format),
      written: written.map(ImageFormat.format)
    })
  )
