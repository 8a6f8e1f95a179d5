/**
 * Kernels that are written by hand for workgroups, or as whole sources.
 *
 * @since 0.1.0
 */

/**
 * Kernels that are written for workgroups.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as GroupKernel from "./domain/kernel/GroupKernel.ts"

/**
 * Kernels that are whole sources of the program's own.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as SourceKernel from "./domain/kernel/SourceKernel.ts"

/**
 * Workgroups: sizes, ranges, and what host bodies see of them.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Workgroup from "./domain/kernel/Workgroup.ts"
