/**
 * The driver of a WebGPU device's images, without what is loaded with the first image or sampler: programs without images need
 * only what a device can do.
 *
 * @internal
 */
import type { ImageKind, ImageShape } from "../../../domain/images/ImageShape.ts"
import type { LazyModule } from "../../../services/calls/LazyModule.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import type { WebGpuQueue } from "../commands/WebGpuQueue.ts"
import { later } from "../LazyPart.ts"
import { featureHint, type OpenDevice } from "../opening/OpenDevice.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import * as WebGpuImageFormat from "./WebGpuImageFormat.ts"
import type { WebGpuImages } from "./WebGpuImages.ts"

export const imagesOf = (opened: OpenDevice, queue: WebGpuQueue): LazyModule<WebGpuImages> =>
  later.map(({ WebGpuImages }) => new WebGpuImages(opened, queue))

export const make = (
  opened: OpenDevice,
  images: LazyModule<WebGpuImages>
): ImageDriver["Service"] => ({
  largest: (kind) => largest(opened.device.limits, kind),
  formats: (usage, kind) => isKnown(kind) ? WebGpuImageFormat.supported(opened.device.features, usage) : [],
  missing: (format, usage, kind) =>
    isKnown(kind)
      ? featureHint(opened, WebGpuImageFormat.missingFeature(opened.device.features, format, usage))
      : undefined,
  ...images.effects(["create", "createFromHost", "createSampler"]),
  ...images.calls([
    "destroyUnsafe",
    "writeUnsafe",
    "readUnsafe",
    "fillUnsafe",
    "copyUnsafe",
    "toBufferUnsafe",
    "fromBufferUnsafe",
    "destroySamplerUnsafe"
  ])
})

const isKnown = (kind: ImageKind): boolean => kind !== "1dArray" && kind !== "1dBuffer"

const largest = (limits: WebGpuApi.Limits, kind: ImageKind): Omit<ImageShape, "kind"> => {
  const [flat, solid] = [limits.maxTextureDimension2D, limits.maxTextureDimension3D]
  switch (kind) {
    case "1d":
      return { width: limits.maxTextureDimension1D, height: 1, depth: 1, layers: 1 }
    case "1dArray":
    case "1dBuffer":
      return { width: 0, height: 0, depth: 0, layers: 0 }
    case "2d":
      return { width: flat, height: flat, depth: 1, layers: 1 }
    case "2dArray":
      return { width: flat, height: flat, depth: 1, layers: limits.maxTextureArrayLayers }
    case "3d":
      return { width: solid, height: solid, depth: solid, layers: 1 }
  }
}
