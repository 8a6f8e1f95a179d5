/**
 * Recorded commands on images.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import { count, type ImageOrigin, type ImageRegion, type ImageShape } from "../../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import { command, type EncodedCommand } from "../commands/EncodedCommand.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import * as TextureRows from "./TextureRows.ts"
import { dimensionOf, gpuExtent, gpuOrigin, textureOf, textureUsageBits } from "./WebGpuImage.ts"

export const bytesOf = ({ format }: DeviceImage, region: ImageRegion): number =>
  count(region) * ImageFormat.elementBytes(format)

/** Bytes of the rows of a region, packed. */
export const rowBytesOf = ({ format }: DeviceImage, { extent }: ImageRegion): number =>
  extent[0] * ImageFormat.elementBytes(format)

/** Within one image WebGPU copies between different layers of an array only, so other parts take two steps. */
export const copy = (
  source: DeviceImage,
  target: DeviceImage,
  targetOrigin: ImageOrigin,
  region: ImageRegion
): EncodedCommand =>
  command(CommandLabel.copy(bytesOf(source, region), source, target), (encoder, temporaries) => {
    if (source.identity !== target.identity || !overlapsLayers(source.shape, region, targetOrigin)) {
      return copySlices(encoder, source, target, targetOrigin, region)
    }
    const size = gpuExtent(region.extent)
    const from = placeIn(source, region.origin)
    const between = {
      texture: temporaries.add({
        label: "effect-gpu-pool temporary",
        size,
        dimension: dimensionOf(source.shape.kind),
        format: from.texture.format,
        usage: textureUsageBits.copySrc | textureUsageBits.copyDst
      })
    }
    encoder.copyTextureToTexture(from, between, size)
    encoder.copyTextureToTexture(between, placeIn(target, targetOrigin), size)
  })

export const placeIn = (image: DeviceImage, [x, y, z]: ImageOrigin, slice = 0) => ({
  texture: textureOf(image),
  origin: gpuOrigin([x, y, z + slice])
})

/**
 * Between an array of images and a volume each slice is a copy of its own: wgpu, which Deno has, silently copies the
 * wrong ones when one command copies several.
 */
const copySlices = (
  encoder: WebGpuHandle.CommandEncoder,
  source: DeviceImage,
  target: DeviceImage,
  targetOrigin: ImageOrigin,
  { extent: [width, height, depth], origin }: ImageRegion
): void => {
  const step = dimensionOf(source.shape.kind) === dimensionOf(target.shape.kind) ? depth : 1
  for (let slice = 0; slice < depth; slice += step) {
    const size = gpuExtent([width, height, step])
    encoder.copyTextureToTexture(placeIn(source, origin, slice), placeIn(target, targetOrigin, slice), size)
  }
}

const overlapsLayers = ({ kind }: ImageShape, { extent, origin }: ImageRegion, target: ImageOrigin): boolean =>
  kind !== "2dArray" || Math.abs(origin[2] - target[2]) < extent[2]

/** Copies a region into a buffer, with rows every `pitch` bytes from `offset` on. */
export const copyRows = (
  encoder: WebGpuHandle.CommandEncoder,
  source: DeviceImage,
  region: ImageRegion,
  pitch: number,
  target: WebGpuHandle.Buffer,
  offset: number
): void => {
  for (const rows of TextureRows.rows(region, pitch)) {
    encoder.copyTextureToBuffer(
      placeIn(source, rows.origin),
      layout(target, offset + rows.offset, rows.bytesPerRow, rows.extent[1]),
      gpuExtent(rows.extent)
    )
  }
}

type BufferRows = Parameters<WebGpuHandle.CommandEncoder["copyBufferToTexture"]>[0]

export const layout = (
  buffer: WebGpuHandle.Buffer,
  offset: number,
  bytesPerRow: number | undefined,
  rowsPerImage: number
): BufferRows => bytesPerRow === undefined ? { buffer, offset } : { buffer, offset, bytesPerRow, rowsPerImage }
