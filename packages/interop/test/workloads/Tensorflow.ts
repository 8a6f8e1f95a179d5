/** TensorFlow.js, which opens a device from `navigator.gpu`. */
import { passThrough } from "@effect-gpu-pool/interop/tfjs"
import type { Course } from "./Workload.ts"

/** Its modules look for a GPU when they are loaded. */
export const openTensorflow = async ({ passesThrough }: Course) => {
  const tf = await import("@tensorflow/tfjs-core")
  await import("@tensorflow/tfjs-backend-webgpu")
  await tf.setBackend("webgpu")
  if (passesThrough === true) passThrough(tf.backend())
  return tf
}
