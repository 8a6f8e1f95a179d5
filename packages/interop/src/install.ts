/**
 * A pool under any WebGPU device.
 *
 * @since 0.1.0
 */
export type { PoolableDevice } from "./foreign/PoolableDevice.ts"
export type { BufferHolder } from "./install/Holders.ts"
export { install, type Installation, type InstallationStats } from "./install/Installation.ts"
export type { InstallOptions } from "./install/Options.ts"
