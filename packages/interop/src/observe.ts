/**
 * Who holds the memory of a WebGPU device, whatever library uses it.
 *
 * @since 0.1.0
 */
export { type Observation, observe, type ObserveOptions } from "./observe/Observation.ts"
export type { Counts, DeviceMemoryObject, Ending, Group, Moment, Selection } from "./observe/ObservedMemory.ts"
export type { Adapter, Classes, Device, DeviceObject, Gpu, Target } from "./observe/Targets.ts"
