/**
 * The options of the layers.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { booleanProblem } from "../../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"

/** The error of `byteGranular`: copies, fills and bindings of WebGPU begin and end at multiples of 4 bytes. */
const granularityProblem = (operation: string, byteGranular: unknown): GpuError | undefined =>
  booleanProblem(operation, "byteGranular", byteGranular) ?? (byteGranular === true
    ? unsupported(
      operation,
      "webgpu",
      "an offset or length of single bytes",
      "WebGPU copies multiples of 4 bytes: leave byteGranular out, or open a device of OpenCL or the host."
    )
    : undefined)

/**
 * How to choose and name the device of a layer of `WebGpuMemory`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryOptions extends Schema.Schema.Type<typeof MemoryOptions> {}

/** Of {@link MemoryOptions}. */
export const MemoryOptions = Schema.Struct({
  /** Which adapter to prefer where there are several. */
  powerPreference: LayerOptions.oneOf(["low-power", "high-performance"]),
  /** Asks for a software adapter. */
  forceFallbackAdapter: LayerOptions.boolean,
  /** The device's label, in the driver's own messages. */
  label: LayerOptions.label
})

/**
 * How to choose and name the device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions extends Schema.Schema.Type<typeof DeviceOptions> {}

/** Of {@link DeviceOptions}. */
export const DeviceOptions = Schema.Struct({
  ...MemoryOptions.fields,
  /** How many compiled kernels are kept, 256 when left out. */
  kernelCacheCapacity: LayerOptions.kernelCacheCapacity,
  /**
   * What OpenCL and the host can: reads, writes, copies and fills at any byte. WebGPU cannot, so with `true` the layer fails
   * with Unsupported.
   */
  byteGranular: LayerOptions.instance<boolean>(
    (operation, _, value) => granularityProblem(operation, value),
    Schema.Boolean
  )
})

/**
 * How to open a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Schema.Schema.Type<typeof Options> {}

/** Of {@link Options}. */
export const Options = Schema.Struct({
  ...DeviceOptions.fields,
  /**
   * Flags for Dawn in Node, as `backend=null` (a device that runs nothing, with 512 MiB of pretended memory) or
   * `adapter=name`. A browser has none.
   */
  flags: LayerOptions.strings
})

/**
 * The options for a device that other code has opened, and so chosen and named.
 *
 * @category models
 * @since 0.1.0
 */
export interface SharedOptions extends Schema.Schema.Type<typeof SharedOptions> {}

/** Of {@link SharedOptions}. */
export const SharedOptions = Schema.Struct({
  /** How many compiled kernels are kept, 256 when left out. */
  kernelCacheCapacity: DeviceOptions.fields.kernelCacheCapacity,
  /** What OpenCL and the host can, and WebGPU cannot: see {@link DeviceOptions}. */
  byteGranular: DeviceOptions.fields.byteGranular
})
