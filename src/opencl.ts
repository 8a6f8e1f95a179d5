/**
 * The OpenCL backend, for Node.
 *
 * @since 0.1.0
 */

/**
 * Layers that open an OpenCL device, and access to its raw handles.
 *
 * @category backends
 * @since 0.1.0
 */
export * as OpenCl from "./layers/OpenCl/OpenCl.ts"

/**
 * The names and meanings of OpenCL's codes.
 *
 * @category formatting
 * @since 0.1.0
 */
export * as OpenClCode from "./layers/OpenCl/OpenClCode.ts"

/**
 * What an open device is like, for kernels that are tuned to it.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as OpenClCharacteristics from "./layers/OpenCl/OpenClCharacteristics.ts"
