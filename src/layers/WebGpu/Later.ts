/**
 * What is loaded with the first image, sampler, kernel or staging buffer. It is one piece, since bundlers make a file of whatever several pieces
 * share.
 *
 * @internal
 */
export { adoptImage, adoptSampler } from "./images/AdoptedImages.ts"
export { WebGpuImages } from "./images/WebGpuImages.ts"
export { compile } from "./kernels/WebGpuKernel.ts"
export { wgsl } from "./language/Wgsl.ts"
export { StagingBuffer } from "./StagingBuffer.ts"
