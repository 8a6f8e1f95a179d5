/**
 * WebGPU as an installation calls it: types of its own, under any declarations of WebGPU.
 *
 * @internal
 */

export interface BufferDescriptor {
  readonly label?: string
  readonly size: number
  readonly usage: number
  readonly mappedAtCreation?: boolean
}

/** A GPUBuffer. */
export interface Buffer {
  label: string
  readonly size: number
  readonly usage: number
  readonly mapState: string
  mapAsync(mode: number, offset?: number, size?: number): Promise<undefined>
  getMappedRange(offset?: number, size?: number): ArrayBuffer
  unmap(): undefined
  destroy(): undefined
}

/** A GPUCommandEncoder. */
export interface CommandEncoder {
  clearBuffer(buffer: Buffer, offset?: number, size?: number): undefined
  finish(): object
}

/** A GPUError. */
export interface DeviceError {
  readonly message: string
}

/** What a bind group binds, where that is a part of a buffer. */
export interface BufferBinding {
  readonly buffer: Buffer
  readonly offset?: number
  readonly size?: number
}

export interface BindGroupEntry {
  readonly binding: number
  readonly resource: Buffer | BufferBinding
}

export interface BindGroupDescriptor {
  readonly label?: string
  readonly layout: object
  readonly entries: Iterable<BindGroupEntry>
}

/** The methods of a device and its queue as they were before the installation, for the installation's own calls. */
export interface Native {
  createBuffer(descriptor: BufferDescriptor): Buffer
  createCommandEncoder(): CommandEncoder
  createBindGroup(descriptor: BindGroupDescriptor): object
  pushErrorScope(filter: string): void
  popErrorScope(): Promise<DeviceError | null>
  submit(commandBuffers: ReadonlyArray<object>): void
  writeBuffer(...args: ReadonlyArray<unknown>): void
}

/** The bits of GPUBufferUsage that an installation looks at. */
export const bits = {
  mapRead: 1,
  mapWrite: 2,
  copySource: 4,
  copyDestination: 8,
  index: 0x10,
  vertex: 0x20,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100,
  queryResolve: 0x200,
  all: 0x3ff
} as const
