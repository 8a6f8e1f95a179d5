/**
 * The types of the raw handles that the library gives. Where a program has declarations of WebGPU (TypeScript's DOM library
 * since version 6, `@webgpu/types`, those of Deno) they are its own types: `WebGpuHandle.Buffer` is `GPUBuffer` there. Where
 * it has none they are those of `WebGpuApi`. So the library needs no package of types, and a program without the DOM none
 * either.
 *
 * @since 0.1.0
 */
import type * as WebGpuApi from "./WebGpuApi.ts"

/**
 * The program's own type of an object of WebGPU, or `Otherwise` without one. Each of those objects has a global class, also
 * where there is no such value, as in Node. A global of that name which is something else does not count.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Declared<Name extends string, Otherwise> = typeof globalThis extends
  { readonly [N in Name]: { readonly prototype: infer Own extends Otherwise } } ? Own : Otherwise

/**
 * A GPU.
 *
 * @category models
 * @since 0.1.0
 */
export type Gpu = Declared<"GPU", WebGpuApi.Gpu>

/**
 * A GPUAdapter.
 *
 * @category models
 * @since 0.1.0
 */
export type Adapter = Declared<"GPUAdapter", WebGpuApi.Adapter>

/**
 * A GPUAdapterInfo.
 *
 * @category models
 * @since 0.1.0
 */
export type AdapterInfo = Declared<"GPUAdapterInfo", WebGpuApi.AdapterInfo>

/**
 * A GPUDevice.
 *
 * @category models
 * @since 0.1.0
 */
export type Device = Declared<"GPUDevice", WebGpuApi.Device>

/**
 * A GPUQueue.
 *
 * @category models
 * @since 0.1.0
 */
export type Queue = Declared<"GPUQueue", WebGpuApi.Queue>

/**
 * A GPUBuffer.
 *
 * @category models
 * @since 0.1.0
 */
export type Buffer = Declared<"GPUBuffer", WebGpuApi.Buffer>

/**
 * A GPUTexture.
 *
 * @category models
 * @since 0.1.0
 */
export type Texture = Declared<"GPUTexture", WebGpuApi.Texture>

/**
 * The name of a texture's format, as `rgba8unorm`.
 *
 * @category models
 * @since 0.1.0
 */
export type TextureFormat = Texture["format"]

/**
 * A GPUTextureView.
 *
 * @category models
 * @since 0.1.0
 */
export type TextureView = Declared<"GPUTextureView", WebGpuApi.Labelled>

/**
 * A GPUSampler.
 *
 * @category models
 * @since 0.1.0
 */
export type Sampler = Declared<"GPUSampler", WebGpuApi.Sampler>

/**
 * A GPUBindGroupLayout.
 *
 * @category models
 * @since 0.1.0
 */
export type BindGroupLayout = Declared<"GPUBindGroupLayout", WebGpuApi.Labelled>

/**
 * A GPUBindGroup.
 *
 * @category models
 * @since 0.1.0
 */
export type BindGroup = Declared<"GPUBindGroup", WebGpuApi.Labelled>

/**
 * A GPUShaderModule.
 *
 * @category models
 * @since 0.1.0
 */
export type ShaderModule = Declared<"GPUShaderModule", WebGpuApi.ShaderModule>

/**
 * A GPUComputePipeline.
 *
 * @category models
 * @since 0.1.0
 */
export type ComputePipeline = Declared<"GPUComputePipeline", WebGpuApi.Labelled>

/**
 * A GPUCommandEncoder.
 *
 * @category models
 * @since 0.1.0
 */
export type CommandEncoder = Declared<"GPUCommandEncoder", WebGpuApi.CommandEncoder>

/**
 * A GPUComputePassEncoder.
 *
 * @category models
 * @since 0.1.0
 */
export type ComputePassEncoder = Declared<"GPUComputePassEncoder", WebGpuApi.ComputePassEncoder>

/**
 * A GPUQuerySet.
 *
 * @category models
 * @since 0.1.0
 */
export type QuerySet = Declared<"GPUQuerySet", WebGpuApi.QuerySet>

/**
 * What a bind group takes for a buffer: a GPUBufferBinding that says all.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferBinding {
  readonly buffer: Buffer
  /** Bytes. */
  readonly offset: number
  /** Bytes. */
  readonly size: number
}
