/**
 * The backend's side of images. `Device.fromDrivers` builds the service that programs use over it. Everything that arrives here
 * is checked: right device, not released, right usage, in bounds.
 *
 * The calls ending in `Unsafe` take effect when called, in queue order with the commands of the device's `QueueDriver`.
 * Data is packed: element after element, row after row, slice after slice, without gaps.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import type { ImageFormat } from "../../domain/images/ImageFormat.ts"
import type { ImageKind, ImageOrigin, ImageRegion, ImageShape } from "../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../domain/images/ImageUsage.ts"
import type { Resolved } from "../../domain/images/SamplerOptions.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import type { HostMode } from "./DeviceContext.ts"
import type { DeviceImage, ImageDescription } from "./DeviceImage.ts"
import type { DeviceSampler } from "./DeviceSampler.ts"
import type { DriverMapping, MapAccess, ReadAnswer } from "./QueueDriver.ts"

/**
 * Memory of an image that is mapped, from the first element of the region to the last, and the pitches of its rows.
 *
 * @category models
 * @since 0.1.0
 */
export interface DriverImageMapping extends DriverMapping {
  /** Bytes from a row to the next, a multiple of an element's. */
  readonly rowPitch: number
  /** Bytes from a slice to the next, likewise. */
  readonly slicePitch: number
}

/**
 * The service: the backend's side of the device's images, for pools and whatever else works below the checks. Programs use
 * `Images`.
 *
 * **Example** (The largest picture, as the driver says it)
 *
 * ```ts
 * import { ImageDriver } from "effect-gpu-pool/backend"
 *
 * const largest = ImageDriver.ImageDriver.useSync((driver) => driver.largest("2d"))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ImageDriver extends Context.Service<ImageDriver, {
  /** The largest dimensions of a kind, in elements. */
  readonly largest: (kind: ImageKind) => Omit<ImageShape, "kind">
  /** The formats that an image of that usage and kind can have. */
  readonly formats: (usage: ImageUsage, kind: ImageKind) => ReadonlyArray<ImageFormat>
  /**
   * Advice for errors about a format that is not among these: a sentence, or `undefined`. A driver without such advice
   * leaves it out.
   */
  readonly missing?: (format: ImageFormat, usage: ImageUsage, kind: ImageKind) => string | undefined
  /** Errors name `operation`, since a pool creates images too. */
  readonly create: (operation: string, image: ImageDescription) => Effect.Effect<DeviceImage, GpuError>
  /**
   * An image that begins with the bytes of the program's data: a copy of them, which are packed and copied in the step
   * that creates the image; or, with mode "use", the data itself, at those pitches, which the image keeps as `pinned`.
   * The first contents need no usage. Fails as `create`, and with Unsupported where a device cannot use the program's
   * memory so.
   */
  readonly createFromHost: (
    data: Uint8Array<ArrayBuffer>,
    mode: HostMode,
    pitches: { readonly rowPitch: number; readonly slicePitch: number },
    image: ImageDescription
  ) => Effect.Effect<DeviceImage, GpuError>
  /**
   * An image of the kind `1dBuffer` in the memory of a buffer, from its first byte on, when called; the buffer outlives
   * it. A driver without such images leaves it out.
   */
  readonly createOverUnsafe?: (buffer: DeviceBuffer, image: ImageDescription) => Exit.Exit<DeviceImage, GpuError>
  /** `Images` has submitted the recorded commands that use it. A second call does nothing. */
  readonly destroyUnsafe: (image: DeviceImage) => Exit.Exit<void, GpuError>
  /** Copies `data` before it returns. */
  readonly writeUnsafe: (
    target: DeviceImage,
    region: ImageRegion,
    data: Uint8Array<ArrayBuffer>
  ) => Exit.Exit<void, GpuError>
  /** In queue order, into memory of its own; begins when called, as `QueueDriver.readUnsafe` does. */
  readonly readUnsafe: (source: DeviceImage, region: ImageRegion, answer: ReadAnswer) => () => void
  /** Sets every element of the region to `element`, the bytes of one element. */
  readonly fillUnsafe: (
    target: DeviceImage,
    region: ImageRegion,
    element: Uint8Array<ArrayBuffer>
  ) => Exit.Exit<void, GpuError>
  /** Two images of one format; regions of one image do not overlap. */
  readonly copyUnsafe: (
    source: DeviceImage,
    target: DeviceImage,
    targetOrigin: ImageOrigin,
    region: ImageRegion
  ) => Exit.Exit<void, GpuError>
  /** Packed into the buffer from `offset` on, which is a multiple of 4 and of an element's bytes. */
  readonly toBufferUnsafe: (
    source: DeviceImage,
    region: ImageRegion,
    target: DeviceBuffer,
    offset: number
  ) => Exit.Exit<void, GpuError>
  readonly fromBufferUnsafe: (
    source: DeviceBuffer,
    offset: number,
    target: DeviceImage,
    region: ImageRegion
  ) => Exit.Exit<void, GpuError>
  /**
   * Maps a region in place, of at least one element. `packed` asks for memory without gaps between rows and slices.
   * Where it returns `undefined`, the region is copied, as with a driver that leaves this out.
   */
  readonly mapUnsafe?: (
    image: DeviceImage,
    region: ImageRegion,
    access: MapAccess,
    packed: boolean
  ) => Exit.Exit<DriverImageMapping | undefined, GpuError>
  readonly createSampler: (options: Resolved) => Effect.Effect<DeviceSampler, GpuError>
  readonly destroySamplerUnsafe: (sampler: DeviceSampler) => Exit.Exit<void, GpuError>
}>()("effect-gpu-pool/ImageDriver") {}
