/**
 * The devices of a machine, how one is chosen, and their data, for Node.
 *
 * @since 0.1.0
 */

/**
 * Lists devices on every backend and opens the one that the user wants.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Devices from "./devices/Devices.ts"

/**
 * One service over several devices, each with its pools.
 *
 * @category devices
 * @since 0.1.0
 */
export * as BufferPools from "./services/backend/several/BufferPools.ts"

/**
 * What one multiprocessor of an NVIDIA GPU holds.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as ComputeCapability from "./domain/characterisation/ComputeCapability.ts"

/**
 * PyCUDA's figures of an NVIDIA device, and its rounding for coalesced access.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as DeviceData from "./domain/characterisation/DeviceData.ts"

/**
 * What a driver reports of an open device, for people to read.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as DriverFacts from "./domain/device/DriverFacts.ts"

/**
 * Conflicts of work items that access local memory at the same time.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as LocalMemory from "./domain/characterisation/LocalMemory.ts"

/**
 * How many blocks of a kernel run on a multiprocessor at a time.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as Occupancy from "./domain/characterisation/Occupancy.ts"

/**
 * What follows from the answers of an OpenCL driver about its device.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as OpenClFacts from "./domain/characterisation/OpenClFacts.ts"

/**
 * How long transfers take, measured.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as TransferSpeed from "./services/queue/TransferSpeed.ts"

/**
 * Which devices a program wants, in one grammar.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceSelector from "./domain/selection/DeviceSelector.ts"

/**
 * A device of this machine as it is listed.
 *
 * @category devices
 * @since 0.1.0
 */
export * as ListedDevice from "./domain/selection/ListedDevice.ts"

/**
 * All that the library and the driver know of a device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceDetails from "./devices/DeviceDetails.ts"

/**
 * The devices on which a suite of tests runs.
 *
 * @category devices
 * @since 0.1.0
 */
export * as TestDevices from "./devices/TestDevices.ts"
