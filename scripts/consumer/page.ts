/** A page, or a worker of one. */
import { WebGpu } from "effect-gpu-pool/webgpu"

export const layer = WebGpu.layerFrom(navigator.gpu)
