/**
 * TensorFlow.js on a pooled device.
 *
 * @since 0.1.0
 */
export { type BackendDevice, type PassThrough, passThrough } from "./tfjs/PassThrough.ts"
