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
 * What an open device is like, for kernels that are tuned to it.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as WebGpuCharacteristics from "./layers/WebGpu/WebGpuCharacteristics.ts"
