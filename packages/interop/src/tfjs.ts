/**
 * TensorFlow.js on a pooled device.
 *
 * @since 0.1.0
 */
export type { PoolableDevice } from "./foreign/PoolableDevice.ts"
export { type PassThrough, passThrough } from "./tfjs/PassThrough.ts"
