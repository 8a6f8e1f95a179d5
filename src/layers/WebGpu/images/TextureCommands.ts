/**
 * Recorded commands on images, and how they are encoded.
 *
 * @internal
 */
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { ImageOrigin, ImageRegion, ImageShape } from "../../../domain/images/ImageShape.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { LazyCommand } from "../commands/LazyCommand.ts"
import type { Temporaries } from "../commands/Temporaries.ts"
import { gpuOf } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import * as TextureRows from "./TextureRows.ts"
import { dimensionOf, gpuExtent, gpuOrigin, textureOf, textureUsageBits } from "./WebGpuImage.ts"

interface Names {
  readonly sourceName: string | undefined
  readonly targetName: string | undefined
}

export interface CopyImageCommand extends Names {
  readonly _tag: "copyImage"
  readonly source: DeviceImage
  readonly region: ImageRegion
  readonly target: DeviceImage
  readonly targetOrigin: ImageOrigin
}

export interface FillImageCommand extends Names {
  readonly _tag: "fillImage"
  readonly target: DeviceImage
  readonly region: ImageRegion
  /** Bytes from one row of the pattern to the next. */
  readonly pitch: number
  /** A buffer full of the element, to copy from. */
  readonly pattern: { readonly buffer: WebGpuHandle.Buffer; readonly bytes: number }
}

export interface ImageToBufferCommand extends Names {
  readonly _tag: "imageToBuffer"
  readonly source: DeviceImage
  readonly region: ImageRegion
  readonly rowBytes: number
  readonly target: DeviceBuffer
  readonly offset: number
}

export interface BufferToImageCommand extends Names {
  readonly _tag: "bufferToImage"
  readonly source: DeviceBuffer
  readonly offset: number
  readonly target: DeviceImage
  readonly region: ImageRegion
  readonly rowBytes: number
}

export type TextureCommand = CopyImageCommand | FillImageCommand | ImageToBufferCommand | BufferToImageCommand

/** The command as the queue records it. */
export const recorded = (command: TextureCommand): LazyCommand => ({
  _tag: "later",
  encode: (encoder, temporaries) => encode(encoder, command, temporaries),
  label: () => label(command)
})

const encode = (
  encoder: WebGpuHandle.CommandEncoder,
  command: TextureCommand,
  temporaries: Temporaries
): void => {
  switch (command._tag) {
    case "copyImage":
      return encodeCopy(encoder, command, temporaries)
    case "fillImage":
      return encodeFill(encoder, command)
    case "imageToBuffer":
      return encodeToBuffer(encoder, command)
    case "bufferToImage":
      return encodeFromBuffer(encoder, command)
  }
}

/** Within one image WebGPU copies between different layers of an array only, so other parts take two steps. */
const encodeCopy = (
  encoder: WebGpuHandle.CommandEncoder,
  command: CopyImageCommand,
  temporaries: Temporaries
): void => {
  const { region, source, target, targetOrigin } = command
  if (source.identity !== target.identity || !overlapsLayers(source.shape, region, targetOrigin)) {
    return encodeSlices(encoder, command)
  }
  const from = placeIn(source, region.origin)
  const between = { texture: temporaries.add(asLargeAs(source, region, from.texture.format)) }
  encoder.copyTextureToTexture(from, between, gpuExtent(region.extent))
  encoder.copyTextureToTexture(between, placeIn(target, targetOrigin), gpuExtent(region.extent))
}

/** A texture as large as a region of an image, in its format. */
const asLargeAs = ({ shape }: DeviceImage, { extent }: ImageRegion, format: WebGpuHandle.TextureFormat) => ({
  label: "effect-gpu-pool temporary",
  size: gpuExtent(extent),
  dimension: dimensionOf(shape.kind),
  format,
  usage: textureUsageBits.copySrc | textureUsageBits.copyDst
})

const placeIn = (image: DeviceImage, [x, y, z]: ImageOrigin, slice = 0) => ({
  texture: textureOf(image),
  origin: gpuOrigin([x, y, z + slice])
})

/**
 * Between an array of images and a volume each slice is a copy of its own: wgpu, which Deno has, silently copies the
 * wrong ones when one command copies several.
 */
const encodeSlices = (encoder: WebGpuHandle.CommandEncoder, command: CopyImageCommand): void => {
  const { region, source, target, targetOrigin } = command
  const [width, height, depth] = region.extent
  const step = dimensionOf(source.shape.kind) === dimensionOf(target.shape.kind) ? depth : 1
  for (let slice = 0; slice < depth; slice += step) {
    const size = gpuExtent([width, height, step])
    encoder.copyTextureToTexture(placeIn(source, region.origin, slice), placeIn(target, targetOrigin, slice), size)
  }
}

const overlapsLayers = ({ kind }: ImageShape, { extent, origin }: ImageRegion, target: ImageOrigin): boolean =>
  kind !== "2dArray" || Math.abs(origin[2] - target[2]) < extent[2]

const encodeFill = (
  encoder: WebGpuHandle.CommandEncoder,
  { pattern, pitch, region, target }: FillImageCommand
): void => {
  for (const { bytesPerRow, extent, origin } of TextureRows.repeated(region, pitch, pattern.bytes)) {
    encoder.copyBufferToTexture(
      layout(pattern.buffer, 0, bytesPerRow, extent[1]),
      { texture: textureOf(target), origin: gpuOrigin(origin) },
      gpuExtent(extent)
    )
  }
}

const encodeToBuffer = (encoder: WebGpuHandle.CommandEncoder, command: ImageToBufferCommand): void => {
  const { offset, region, rowBytes, source, target } = command
  copyRows(encoder, textureOf(source), region, rowBytes, gpuOf(target), target.origin + offset)
}

/** Copies a region into a buffer, with rows every `pitch` bytes from `offset` on. */
export const copyRows = (
  encoder: WebGpuHandle.CommandEncoder,
  texture: WebGpuHandle.Texture,
  region: ImageRegion,
  pitch: number,
  target: WebGpuHandle.Buffer,
  offset: number
): void => {
  for (const rows of TextureRows.rows(region, pitch)) {
    encoder.copyTextureToBuffer(
      { texture, origin: gpuOrigin(rows.origin) },
      layout(target, offset + rows.offset, rows.bytesPerRow, rows.extent[1]),
      gpuExtent(rows.extent)
    )
  }
}

const encodeFromBuffer = (encoder: WebGpuHandle.CommandEncoder, command: BufferToImageCommand): void => {
  const { offset, region, rowBytes, source, target } = command
  for (const rows of TextureRows.rows(region, rowBytes)) {
    encoder.copyBufferToTexture(
      layout(gpuOf(source), source.origin + offset + rows.offset, rows.bytesPerRow, rows.extent[1]),
      { texture: textureOf(target), origin: gpuOrigin(rows.origin) },
      gpuExtent(rows.extent)
    )
  }
}

type BufferRows = Parameters<WebGpuHandle.CommandEncoder["copyBufferToTexture"]>[0]

const layout = (
  buffer: WebGpuHandle.Buffer,
  offset: number,
  bytesPerRow: number | undefined,
  rowsPerImage: number
): BufferRows => bytesPerRow === undefined ? { buffer, offset } : { buffer, offset, bytesPerRow, rowsPerImage }

/** Its name in errors. */
const label = ({ _tag, sourceName, targetName }: TextureCommand): string => {
  const source = CommandLabel.name(sourceName)
  const target = CommandLabel.name(targetName)
  switch (_tag) {
    case "copyImage":
      return `copy image ${source} -> image ${target}`
    case "fillImage":
      return `fill -> image ${target}`
    case "imageToBuffer":
      return `copy image ${source} -> ${target}`
    case "bufferToImage":
      return `copy ${source} -> image ${target}`
  }
}
