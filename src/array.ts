/**
 * Arrays on a device that take their memory from the pool.
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
