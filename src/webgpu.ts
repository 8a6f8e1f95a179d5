/**
 * The WebGPU backend, for Node and browsers.
 *
 * @since 0.1.0
 */

/**
 * Layers that open a WebGPU device, and access to its raw handles.
 *
 * @category backends
 * @since 0.1.0
 */
export * as WebGpu from "./layers/WebGpu/WebGpu.ts"

/**
 * What the library asks of a GPU object, as types.
 *
 * @category models
 * @since 0.1.0
 */
export type * as WebGpuApi from "./layers/WebGpu/WebGpuApi.ts"

/**
 * What an open device is like, for kernels that are tuned to it.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as WebGpuCharacteristics from "./layers/WebGpu/WebGpuCharacteristics.ts"

/**
 * Layers for programs that only have memory and move data: a page loads much less.
 *
 * @category backends
 * @since 0.1.0
 */
export * as WebGpuMemory from "./layers/WebGpu/WebGpuMemory.ts"

/**
 * The types of the raw handles: the program's own where it has declarations of WebGPU.
 *
 * @category models
 * @since 0.1.0
 */
export type * as WebGpuHandle from "./layers/WebGpu/WebGpuHandle.ts"
