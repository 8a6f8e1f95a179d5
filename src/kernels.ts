/**
 * Kernels that are written by hand for workgroups, or as whole sources, and lists of commands that are traced once.
 *
 * @since 0.1.0
 */

/**
 * Commands that were traced once, for many runs.
 *
 * @category commands
 * @since 0.1.0
 */
export * as CommandList from "./services/queue/CommandList.ts"

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
