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
 * What an open device is like, for kernels that are tuned to it.
 *
 * @category characterisation
 * @since 0.1.0
 */
export * as OpenClCharacteristics from "./layers/OpenCl/OpenClCharacteristics.ts"

/**
 * The names and meanings of OpenCL's codes.
 *
 * @category formatting
 * @since 0.1.0
 */
export * as OpenClCode from "./layers/OpenCl/OpenClCode.ts"

/**
 * What a driver says of images and samplers, and their handles.
 *
 * @category images
 * @since 0.1.0
 */
export * as OpenClImageInfo from "./layers/OpenCl/images/OpenClImageInfo.ts"

/**
 * What a driver says of memory objects, and handles from and for other OpenCL code.
 *
 * @category memory
 * @since 0.1.0
 */
export * as OpenClMemory from "./layers/OpenCl/memory/OpenClMemory.ts"

/**
 * Shared virtual memory, pooled as buffers are: allocators, pools, views, mapping, and use on other queues.
 *
 * @category memory
 * @since 0.1.0
 */
export * as Svm from "./layers/OpenCl/svm/Svm.ts"
