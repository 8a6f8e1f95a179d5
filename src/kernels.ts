/**
 * Expressions in every backend's language, and the kernels that are made of them.
 *
 * @since 0.1.0
 */

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
