/**
 * Arrays on a device, expressions in every backend's language, and the kernels that are made of them.
 *
 * @since 0.1.0
 */

/**
 * Arrays on a device that take their memory from the pool, and operations on them.
 *
 * @category arrays
 * @since 0.1.0
 */
export * as DeviceArray from "./array/DeviceArray.ts"

/**
 * Kernels that compute each element of their outputs, written in every language from expressions.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as ElementwiseKernel from "./kernels/ElementwiseKernel.ts"

/**
 * Typed expressions over the elements of vectors.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Expr from "./kernels/Expr.ts"

/**
 * Kernels that combine the elements of vectors into one.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as ReductionKernel from "./kernels/ReductionKernel.ts"

/**
 * Kernels that combine each element of vectors with all that come before it.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as ScanKernel from "./kernels/ScanKernel.ts"

/**
 * What expressions are made of.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Inspection from "./kernels/expression/Inspection.ts"
