/**
 * What is loaded with the first image, sampler, kernel, staging buffer or pool that splits slabs. It is one piece, since bundlers make a file of whatever several pieces
 * share.
 *
 * @internal
 */
export { Scratch } from "./commands/Scratch.ts"
export { adoptImage, adoptSampler } from "./images/AdoptedImages.ts"
export { WebGpuImages } from "./images/WebGpuImages.ts"
export { compile } from "./kernels/WebGpuKernel.ts"
export { wgsl } from "./language/Wgsl.ts"
export { partUnsafe } from "./SlabParts.ts"
export { StagingBuffer } from "./StagingBuffer.ts"
