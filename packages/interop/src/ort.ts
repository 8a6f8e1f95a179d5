/**
 * onnxruntime-web on the device and the leases of a program.
 *
 * @since 0.1.0
 */
export { type KvCache, kvCache, type KvCacheOptions, type KvEntry } from "./ort/KvCache.ts"
export { type DataType, executionProvider, run, type Session, tensor, type TensorClass } from "./ort/Session.ts"
