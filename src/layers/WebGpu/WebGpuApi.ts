/**
 * The part of the WebGPU API that the library calls, as types of its own: what it asks of a GPU object, and so what a
 * double for tests must have. The object of any browser and of npm `webgpu` is one, under any declarations of WebGPU:
 * those of TypeScript's DOM library, those of `@webgpu/types`, and none at all.
 *
 * @see https://www.w3.org/TR/webgpu/
 * @since 0.1.0
 */

/**
 * The object at `navigator.gpu`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Gpu {
  requestAdapter(options?: {
    powerPreference?: PowerPreference
    forceFallbackAdapter?: boolean
  }): Promise<Adapter | null>
}

/**
 * Which adapter a program prefers.
 *
 * @category models
 * @since 0.1.0
 */
export type PowerPreference = "low-power" | "high-performance"

/**
 * A GPUAdapter.
 *
 * @category models
 * @since 0.1.0
 */
export interface Adapter {
  readonly features: Features
  readonly limits: Limits
  readonly info: AdapterInfo
  requestDevice(descriptor?: {
    label?: string
    requiredFeatures?: Iterable<string>
    requiredLimits?: Record<string, number | undefined>
  }): Promise<Device>
}

/**
 * A GPUAdapterInfo: empty texts for what the driver does not say.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdapterInfo {
  readonly vendor: string
  readonly architecture: string
  readonly device: string
  readonly description: string
  readonly isFallbackAdapter: boolean
  /** Invocations. */
  readonly subgroupMinSize?: number | undefined
  /** Invocations. */
  readonly subgroupMaxSize?: number | undefined
}

/**
 * The features of an adapter or device by name, as `shader-f16`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Features {
  has(name: string): boolean
}

/**
 * A GPUSupportedLimits. Sizes and alignments are bytes; a dimension of a texture counts texels.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  readonly maxBufferSize: number
  readonly maxStorageBufferBindingSize: number
  readonly maxUniformBufferBindingSize: number
  readonly minStorageBufferOffsetAlignment: number
  readonly minUniformBufferOffsetAlignment: number
  readonly maxStorageBuffersPerShaderStage: number
  readonly maxSampledTexturesPerShaderStage: number
  readonly maxStorageTexturesPerShaderStage: number
  readonly maxSamplersPerShaderStage: number
  readonly maxComputeWorkgroupStorageSize: number
  readonly maxComputeInvocationsPerWorkgroup: number
  readonly maxComputeWorkgroupSizeX: number
  readonly maxComputeWorkgroupSizeY: number
  readonly maxComputeWorkgroupSizeZ: number
  readonly maxComputeWorkgroupsPerDimension: number
  readonly maxTextureDimension1D: number
  readonly maxTextureDimension2D: number
  readonly maxTextureDimension3D: number
  readonly maxTextureArrayLayers: number
}

/**
 * A GPUDevice.
 *
 * @category models
 * @since 0.1.0
 */
export interface Device {
  /** Older browsers do not have it. */
  readonly adapterInfo?: AdapterInfo | undefined
  readonly features: Features
  readonly limits: Limits
  readonly queue: Queue
  /** Settles when the device is lost. */
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>
  onuncapturederror: UncapturedErrorHandler["handle"] | null
  /** The size is bytes, the usage the bits of GPUBufferUsage. */
  createBuffer(descriptor: { label?: string; size: number; usage: number; mappedAtCreation?: boolean }): Buffer
  createTexture(descriptor: {
    label?: string
    size: Extent3D | Iterable<number>
    dimension?: TextureDimension
    /** As `rgba8unorm`. */
    format: string
    /** The bits of GPUTextureUsage. */
    usage: number
  }): Texture
  createSampler(descriptor?: SamplerDescriptor): Sampler
  createBindGroupLayout(descriptor: {
    label?: string
    entries: Iterable<{
      binding: number
      /** The bits of GPUShaderStage. */
      visibility: number
      buffer?: { type?: "uniform" | "storage" | "read-only-storage"; hasDynamicOffset?: boolean }
      texture?: {
        sampleType?: "float" | "unfilterable-float" | "depth" | "sint" | "uint"
        viewDimension?: TextureViewDimension
      }
      storageTexture?: {
        access?: "write-only" | "read-only" | "read-write"
        format: string
        viewDimension?: TextureViewDimension
      }
      sampler?: { type?: "filtering" | "non-filtering" | "comparison" }
    }>
  }): Labelled
  createPipelineLayout(descriptor: { bindGroupLayouts: Iterable<Labelled | null | undefined> }): Labelled
  /** Offsets and sizes of buffers are bytes. */
  createBindGroup(descriptor: {
    layout: Labelled
    entries: Iterable<{
      binding: number
      resource: { buffer: Buffer; offset?: number; size?: number } | Labelled | Sampler
    }>
  }): Labelled
  /** The code is WGSL. */
  createShaderModule(descriptor: { label?: string; code: string }): ShaderModule
  createComputePipelineAsync(descriptor: {
    label?: string
    layout: Labelled | "auto"
    compute: { module: ShaderModule; entryPoint?: string }
  }): Promise<Labelled>
  createCommandEncoder(): CommandEncoder
  /** Only for devices with the feature `timestamp-query`. */
  createQuerySet(descriptor: { label?: string; type: "timestamp"; count: number }): QuerySet
  pushErrorScope(filter: ErrorFilter): unknown
  popErrorScope(): Promise<{ readonly message: string } | null>
  destroy(): unknown
}

/**
 * Which errors an error scope takes.
 *
 * @category models
 * @since 0.1.0
 */
export type ErrorFilter = "validation" | "out-of-memory" | "internal"

/**
 * The type of `onuncapturederror`, as a method, whose parameters are bivariant: a device's own event has more members
 * than the library asks for.
 *
 * @category models
 * @since 0.1.0
 */
export interface UncapturedErrorHandler {
  handle(event: { readonly error: { readonly message: string }; preventDefault(): void }): unknown
}

/**
 * A GPUQueue.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  submit(commandBuffers: Iterable<Labelled>): unknown
  onSubmittedWorkDone(): Promise<unknown>
  /** Offsets and the size are bytes, or elements of a typed array where `data` is one. */
  writeBuffer(
    buffer: Buffer,
    bufferOffset: number,
    data: ArrayBuffer | ArrayBufferView<ArrayBuffer>,
    dataOffset?: number,
    size?: number
  ): unknown
  writeTexture(
    destination: TexturePlace,
    data: ArrayBuffer | ArrayBufferView<ArrayBuffer>,
    dataLayout: TextureRows,
    size: Extent3D | Iterable<number>
  ): unknown
}

/**
 * What every object of WebGPU has. Layouts, bind groups, pipelines, views and command buffers have no member besides that the
 * library uses.
 *
 * @category models
 * @since 0.1.0
 */
export interface Labelled {
  readonly label: string
}

/**
 * A GPUBuffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Buffer extends Labelled {
  /** Bytes. */
  readonly size: number
  /** The bits of GPUBufferUsage. */
  readonly usage: number
  /** `unmapped`, `pending` or `mapped`. */
  readonly mapState: string
  /** `mode` is of the bits of GPUMapMode; the offset and the size are bytes. */
  mapAsync(mode: number, offset?: number, size?: number): Promise<unknown>
  /** Bytes. */
  getMappedRange(offset?: number, size?: number): ArrayBuffer
  unmap(): unknown
  destroy(): unknown
}

/**
 * How many axes a texture has.
 *
 * @category models
 * @since 0.1.0
 */
export type TextureDimension = "1d" | "2d" | "3d"

/**
 * How a kernel sees a texture.
 *
 * @category models
 * @since 0.1.0
 */
export type TextureViewDimension = TextureDimension | "2d-array" | "cube" | "cube-array"

/**
 * Texels along each axis.
 *
 * @category models
 * @since 0.1.0
 */
export interface Extent3D {
  width: number
  height?: number
  depthOrArrayLayers?: number
}

/**
 * A texel of a texture.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin3D {
  x?: number
  y?: number
  z?: number
}

/**
 * A GPUTexture. Its sizes count texels.
 *
 * @category models
 * @since 0.1.0
 */
export interface Texture extends Labelled {
  readonly width: number
  readonly height: number
  readonly depthOrArrayLayers: number
  readonly mipLevelCount: number
  readonly sampleCount: number
  /** `1d`, `2d` or `3d`. */
  readonly dimension: string
  /** As `rgba8unorm`. */
  readonly format: string
  /** The bits of GPUTextureUsage. */
  readonly usage: number
  createView(descriptor?: { dimension?: TextureViewDimension }): Labelled
  destroy(): unknown
}

/**
 * Where in a texture a copy begins.
 *
 * @category models
 * @since 0.1.0
 */
export interface TexturePlace {
  texture: Texture
  origin?: Origin3D | Iterable<number>
}

/**
 * How the rows of a texture are in memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextureRows {
  /** Bytes. */
  offset?: number
  /** From one row to the next. */
  bytesPerRow?: number
  rowsPerImage?: number
}

/**
 * Where in a buffer the rows of a texture are.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferRows extends TextureRows {
  buffer: Buffer
}

/**
 * What a sampler answers outside the texture.
 *
 * @category models
 * @since 0.1.0
 */
export type AddressMode = "clamp-to-edge" | "repeat" | "mirror-repeat"

/**
 * How a sampler is made.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplerDescriptor {
  addressModeU?: AddressMode
  addressModeV?: AddressMode
  addressModeW?: AddressMode
  magFilter?: "nearest" | "linear"
  minFilter?: "nearest" | "linear"
  mipmapFilter?: "nearest" | "linear"
  lodMinClamp?: number
  lodMaxClamp?: number
}

/**
 * A GPUSampler.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sampler extends Labelled {
  /**
   * `"GPUSampler"`, as every implementation of WebGPU has it. `WebGpu.adoptSampler` knows a sampler by it, since one has no other
   * member of its own; a double of one has it too.
   */
  readonly [Symbol.toStringTag]?: string
}

/**
 * A GPUShaderModule.
 *
 * @category models
 * @since 0.1.0
 */
export interface ShaderModule extends Labelled {
  getCompilationInfo(): Promise<{
    readonly messages: ReadonlyArray<{
      /** `error`, `warning` or `info`. */
      readonly type: string
      /** From 1. */
      readonly lineNum: number
      /** From 1. */
      readonly linePos: number
      readonly message: string
    }>
  }>
}

/**
 * A GPUCommandEncoder. Offsets and sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface CommandEncoder extends Labelled {
  copyBufferToBuffer(
    source: Buffer,
    sourceOffset: number,
    destination: Buffer,
    destinationOffset: number,
    size: number
  ): unknown
  clearBuffer(buffer: Buffer, offset?: number, size?: number): unknown
  copyBufferToTexture(source: BufferRows, destination: TexturePlace, copySize: Extent3D | Iterable<number>): unknown
  copyTextureToBuffer(source: TexturePlace, destination: BufferRows, copySize: Extent3D | Iterable<number>): unknown
  copyTextureToTexture(source: TexturePlace, destination: TexturePlace, copySize: Extent3D | Iterable<number>): unknown
  /** `timestampWrites` only on devices with the feature `timestamp-query`. */
  beginComputePass(descriptor?: {
    timestampWrites?: { querySet: QuerySet; beginningOfPassWriteIndex?: number; endOfPassWriteIndex?: number }
  }): ComputePassEncoder
  /** Of the same devices: writes 8 bytes for each query. */
  resolveQuerySet(
    querySet: QuerySet,
    firstQuery: number,
    queryCount: number,
    destination: Buffer,
    destinationOffset: number
  ): unknown
  finish(): Labelled
}

/**
 * A GPUQuerySet.
 *
 * @category models
 * @since 0.1.0
 */
export interface QuerySet extends Labelled {
  /** How many queries it has. */
  readonly count: number
  destroy(): unknown
}

/**
 * A GPUComputePassEncoder.
 *
 * @category models
 * @since 0.1.0
 */
export interface ComputePassEncoder extends Labelled {
  setPipeline(pipeline: Labelled): unknown
  setBindGroup(index: number, bindGroup: Labelled | null | undefined, dynamicOffsets?: Iterable<number>): unknown
  dispatchWorkgroups(x: number, y?: number, z?: number): unknown
  end(): unknown
}
