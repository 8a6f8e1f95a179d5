/**
 * What authors of backends need: what a backend provides, what the services of a device are built from, and the language of kernels.
 *
 * @since 0.1.0
 */

/**
 * How the devices of a backend are listed, chosen and opened.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Backend from "./services/backend/Backend.ts"

/**
 * What a backend is like, whichever device is open.
 *
 * @category devices
 * @since 0.1.0
 */
export * as BackendTraits from "./domain/device/BackendTraits.ts"

/**
 * A lease or a device buffer.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as BufferLike from "./services/buffers/BufferLike.ts"

/**
 * All services of an open device, from what its backend gives.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Device from "./services/backend/Device.ts"

/**
 * One device allocation, as a backend makes it.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as DeviceBuffer from "./services/device/DeviceBuffer.ts"

/**
 * One image on a device, as a backend makes it.
 *
 * @category images
 * @since 0.1.0
 */
export * as DeviceImage from "./services/device/DeviceImage.ts"

/**
 * What is known of an open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceInfo from "./domain/device/DeviceInfo.ts"

/**
 * Results that are computed once for each open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceMemo from "./services/device/DeviceMemo.ts"

/**
 * One sampler on a device, as a backend makes it.
 *
 * @category images
 * @since 0.1.0
 */
export * as DeviceSampler from "./services/device/DeviceSampler.ts"

/**
 * Whether a device is alive or lost.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceStatus from "./domain/device/DeviceStatus.ts"

/**
 * The arguments of one dispatch.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as DispatchArguments from "./services/queue/DispatchArguments.ts"

/**
 * Counts of what a driver has given and got back.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DriverObjects from "./domain/device/DriverObjects.ts"

/**
 * Formats values and texts for messages.
 *
 * @category functions
 * @since 0.1.0
 */
export * as Format from "./domain/arguments/Format.ts"

/**
 * What a backend gives so that images can be built on it.
 *
 * @category backends
 * @since 0.1.0
 */
export * as ImageDriver from "./services/device/ImageDriver.ts"

/**
 * How a sampler reads an image.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageSampling from "./domain/images/ImageSampling.ts"

/**
 * Compiled kernels of a device.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelCache from "./services/device/KernelCache.ts"

/**
 * The known names of options, and the error for any other.
 *
 * @category functions
 * @since 0.1.0
 */
export * as KnownOptions from "./domain/arguments/KnownOptions.ts"

/**
 * Whether a device can run a well-formed kernel.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelSupport from "./domain/kernel/KernelSupport.ts"

/**
 * How long kernels run on a device.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelTimes from "./services/device/queues/KernelTimes.ts"

/**
 * What the library must know of a backend's kernel language.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Language from "./domain/language/Language.ts"

/**
 * Writes kernels made of expressions, for a backend of your own.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as LanguageWriter from "./domain/language/LanguageWriter.ts"

/**
 * The operations of expressions, with the types that each takes and gives.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Operation from "./domain/language/Operation.ts"

/**
 * Where a buffer or an image lies in an allocation, and whether two overlap.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as MemorySpan from "./domain/data/MemorySpan.ts"

/**
 * What a backend gives so that a queue can be built on it.
 *
 * @category backends
 * @since 0.1.0
 */
export * as QueueDriver from "./services/device/QueueDriver.ts"

/**
 * The types of values that kernels take: numbers, vectors and matrices.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as ValueType from "./domain/data/ValueType.ts"
