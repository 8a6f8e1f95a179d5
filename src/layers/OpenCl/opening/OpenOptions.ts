/**
 * The options of the layers.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { formatted } from "../../../domain/arguments/Format.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type { Selector } from "./OpenClPlatform.ts"

const selectorProblem = (operation: string, name: string, selector: unknown): GpuError | undefined =>
  selector === undefined || typeof selector === "string" || Number.isSafeInteger(selector) ? undefined : invalidRequest(
    operation,
    `the ${name} ${formatted(selector)} is neither an index nor a name`,
    "Pass its index in the list, a part of its name, or leave it out."
  )

const selector = LayerOptions.instance<Selector>(
  (operation, name, value) => selectorProblem(operation, name, value),
  Schema.Union([Schema.Int, Schema.String])
)

/** The file of the OpenCL loader. */
export const library = LayerOptions.instance<string>(
  (operation, _, library) =>
    library === undefined || typeof library === "string"
      ? undefined
      : invalidRequest(
        operation,
        `the library ${formatted(library)} is no string`,
        "Pass the name of the loader's file."
      ),
  Schema.String
)

/**
 * Which device to open.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions extends Schema.Schema.Type<typeof DeviceOptions> {}

/** Of {@link DeviceOptions}. */
export const DeviceOptions = Schema.Struct({
  /** The platform, by index or by a part of its name in any case; without it, the first that has a usable device. */
  platform: selector,
  /**
   * The device, by its index on the platform or by a part of its name in any case; without it, the first usable one.
   */
  device: selector,
  /** How many compiled kernels are kept, 256 when left out. */
  kernelCacheCapacity: LayerOptions.kernelCacheCapacity,
  /**
   * Whether all buffers and images are of memory that the host can reach (CL_MEM_ALLOC_HOST_PTR), as
   * `BufferUsage.hostMemory` asks for a single buffer. When left out, `true` on devices of type CPU, whose memory is
   * the host's anyway, and `false` on others. With it CPU drivers allocate at creation, so that a lack of memory is an
   * OutOfMemory; without it PoCL ends the process.
   */
  hostMemory: LayerOptions.boolean,
  /**
   * Whether reads, writes, copies and fills of buffers, rectangles included, begin and end at any byte, instead of at
   * multiples of 4: `false` when left out. It is not portable: a program that relies on it does not run on WebGPU,
   * whose layer answers Unsupported, nor on a device that was opened without it. `limits.copyAlignment` says which of
   * the two a device does.
   */
  byteGranular: LayerOptions.boolean
})

/**
 * Which device to open, and where the OpenCL loader is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Schema.Schema.Type<typeof Options> {}

/** Of {@link Options}. */
export const Options = Schema.Struct({
  ...DeviceOptions.fields,
  /** The file of the OpenCL loader, instead of the system's usual names. */
  library
})
