/**
 * The bytes of textures.
 *
 * @internal
 */

interface Block {
  readonly bytes: number
  readonly width: number
  readonly height: number
}

/** Formats by their names' parts; see {@link blockOf}. */
const channels: { readonly [prefix: string]: number } = { r: 1, rg: 2, rgba: 4, bgra: 4 }

const others: { readonly [format: string]: number } = {
  rgb9e5ufloat: 4,
  rgb10a2uint: 4,
  rgb10a2unorm: 4,
  rg11b10ufloat: 4,
  stencil8: 1,
  depth16unorm: 2,
  // The specification leaves the bytes of these to the driver: this is what the common ones take.
  depth24plus: 4,
  "depth24plus-stencil8": 4,
  depth32float: 4,
  "depth32float-stencil8": 8
}

/** Eight bytes for each block of 4 by 4 texels; other compressed formats of such blocks have 16. */
const small = /^(?:bc[14]-|etc2-rgb8|eac-r11)/

/**
 * The texels that are stored together, and their bytes.
 *
 * @see https://www.w3.org/TR/webgpu/#texture-format-caps
 */
const blockOf = (format: string): Block | undefined => {
  const known = others[format]
  if (known !== undefined) return { bytes: known, width: 1, height: 1 }
  const plain = /^(r|rg|rgba|bgra)(8|16|32)(?:unorm|snorm|uint|sint|float)(?:-srgb)?$/.exec(format)
  if (plain !== null) return { bytes: channels[plain[1]!]! * Number(plain[2]) / 8, width: 1, height: 1 }
  const astc = /^astc-(\d+)x(\d+)-/.exec(format)
  if (astc !== null) return { bytes: 16, width: Number(astc[1]), height: Number(astc[2]) }
  if (small.test(format)) return { bytes: 8, width: 4, height: 4 }
  return /^(?:bc|etc2|eac)/.test(format) ? { bytes: 16, width: 4, height: 4 } : undefined
}

/** A texture, as its own properties say. */
export interface TextureShape {
  readonly width: number
  readonly height: number
  readonly depthOrArrayLayers: number
  readonly mipLevelCount: number
  readonly sampleCount: number
  readonly dimension: string
  readonly format: string
}

/** The bytes of its texels, without what a driver adds; 0 for a format of a later version of WebGPU. */
export const textureBytes = (
  { depthOrArrayLayers, dimension, format, height, mipLevelCount, sampleCount, width }: TextureShape
): number => {
  const block = blockOf(format)
  if (block === undefined) return 0
  let bytes = 0
  for (let level = 0; level < mipLevelCount; level++) {
    const part = (length: number): number => Math.max(1, Math.floor(length / 2 ** level))
    const layers = dimension === "3d" ? part(depthOrArrayLayers) : depthOrArrayLayers
    bytes += Math.ceil(part(width) / block.width) * Math.ceil(part(height) / block.height) * layers * block.bytes
  }
  return bytes * sampleCount
}

/** The rows of a texture in a buffer. */
interface Rows {
  readonly bytesPerRow: number | undefined
  readonly rowsPerImage: number | undefined
}

/** Of a format with several aspects, the one that is copied. */
const aspects: { readonly [aspect: string]: string } = { "stencil-only": "stencil8", "depth-only": "depth16unorm" }

const blockOfAspect = (format: string, aspect: string): Block | undefined => {
  const isDepth = format.startsWith("depth")
  if (!isDepth || aspect === "all") return blockOf(format)
  return blockOf(aspect === "depth-only" && format.startsWith("depth32") ? "depth32float" : aspects[aspect] ?? format)
}

const extentOf = (size: unknown): readonly [width: number, height: number, layers: number] => {
  if (typeof size === "object" && size !== null && Symbol.iterator in size) {
    const [width = 1, height = 1, layers = 1] = [...size as Iterable<number>]
    return [width, height, layers]
  }
  const { depthOrArrayLayers = 1, height = 1, width } = size as {
    readonly width: number
    readonly height?: number
    readonly depthOrArrayLayers?: number
  }
  return [width, height, depthOrArrayLayers]
}

/**
 * The bytes that a copy between a texture and a buffer reaches over in the buffer; 0 for a format of a later version of WebGPU.
 *
 * @see https://www.w3.org/TR/webgpu/#abstract-opdef-validating-linear-texture-data
 */
export const bytesOfCopy = (
  format: string,
  aspect: string,
  { bytesPerRow, rowsPerImage }: Rows,
  size: unknown
): number => {
  const block = blockOfAspect(format, aspect)
  const [width, height, layers] = extentOf(size)
  if (block === undefined || width === 0 || height === 0 || layers === 0) return 0
  const [columns, rows] = [Math.ceil(width / block.width), Math.ceil(height / block.height)]
  const row = bytesPerRow ?? columns * block.bytes
  return (layers - 1) * (rowsPerImage ?? rows) * row + (rows - 1) * row + columns * block.bytes
}
