/**
 * A pool under any WebGPU device, for Effect programs.
 *
 * @since 0.1.0
 */

/**
 * A pool under a WebGPU device that other libraries use: until a scope closes, or together with the program's own leases.
 *
 * @category pools
 * @since 0.1.0
 */
export * as InstalledPool from "./InstalledPool.ts"
