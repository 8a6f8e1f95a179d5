/** A program in Node with a GPU object of its own from npm `webgpu`, which brings declarations of WebGPU. */
import { WebGpu } from "effect-gpu-pool/webgpu"
import { create } from "webgpu"

export const layer = WebGpu.layerFrom(create(["backend=null"]))
