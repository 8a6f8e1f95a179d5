/**
 * A GPUBuffer as a device buffer.
 *
 * @internal
 */
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import { DeviceBuffer } from "../../services/DeviceBuffer.ts"

let buffers = 0

/** @internal */
export class WebGpuBuffer extends DeviceBuffer {
  readonly gpu: GPUBuffer
  /** A number of its own, to look bind groups up by. */
  readonly id = ++buffers

  constructor(
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    gpu: GPUBuffer
  ) {
    super(owner, size, usage, label)
    this.gpu = gpu
  }
}

/**
 * The GPUBuffer of a buffer that the command queue has checked: its owner is this device, so its class is this one.
 *
 * @internal
 */
export const gpuOf = (buffer: DeviceBuffer): GPUBuffer => (buffer as WebGpuBuffer).gpu

/**
 * The number of a buffer that the command queue has checked.
 *
 * @internal
 */
export const idOf = (buffer: DeviceBuffer): number => (buffer as WebGpuBuffer).id

/**
 * Copies, bindings and mappings take multiples of 4 bytes.
 *
 * @internal
 */
export const roundUp4 = (bytes: number): number => Math.ceil(bytes / 4) * 4

/**
 * The numbers of GPUBufferUsage, which the specification fixes and Node has no global for.
 *
 * @internal
 */
export const usageBits = {
  mapRead: 0x1,
  copySrc: 0x4,
  copyDst: 0x8,
  index: 0x10,
  vertex: 0x20,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100
} as const

const mapping: ReadonlyArray<readonly [BufferUsage.BufferUsage, number]> = [
  [BufferUsage.storage, usageBits.storage],
  [BufferUsage.uniform, usageBits.uniform],
  [BufferUsage.copySrc, usageBits.copySrc],
  [BufferUsage.copyDst, usageBits.copyDst],
  [BufferUsage.index, usageBits.index],
  [BufferUsage.vertex, usageBits.vertex],
  [BufferUsage.indirect, usageBits.indirect]
]

/**
 * The GPUBufferUsage of a buffer. Never a MAP usage, which excludes most others.
 *
 * @internal
 */
export const gpuUsage = (usage: BufferUsage.BufferUsage): number =>
  mapping.reduce((bits, [flag, bit]) => BufferUsage.has(usage, flag) ? bits | bit : bits, 0)
