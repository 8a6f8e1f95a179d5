/**
 * A GPUBuffer as a device buffer.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { DeviceBuffer, type Part } from "../../services/device/DeviceBuffer.ts"
import type { DriverMapping } from "../../services/device/QueueDriver.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

let buffers = 0

export class WebGpuBuffer extends DeviceBuffer {
  #gpu: WebGpuHandle.Buffer | undefined
  #weak: WeakRef<WebGpuHandle.Buffer> | undefined
  /** A number of its own, to look bind groups up by. */
  readonly id = ++buffers
  /** Regions that were not destroyed. */
  regions = 0
  /** Whether the GPUBuffer belongs to the program, so that the library never destroys it. */
  readonly isBorrowed: boolean
  /** Of a part that a pool leases: why its GPUBuffer is not handed out. */
  declare readonly sharing?: GpuError

  constructor(
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    gpu: WebGpuHandle.Buffer,
    { isBorrowed = false, part }: { readonly part?: Part; readonly isBorrowed?: boolean } = {}
  ) {
    super(owner, size, usage, label, part)
    this.#gpu = gpu
    this.isBorrowed = isBorrowed
  }

  /**
   * Maps bytes in place; only staging memory can. Call it in the synchronous step that has submitted the work before,
   * for whose failures `recorded` waits.
   */
  readonly mapUnsafe?: (from: number, bytes: number, recorded: Effect.Effect<void, GpuError>) => DriverMapping

  /** The whole GPUBuffer: WebGPU has no object for a part of one, so a region begins at its `origin` there. */
  get gpu(): WebGpuHandle.Buffer {
    return this.#gpu ?? this.#weak!.deref()!
  }

  /** Whether the GPUBuffer stays alive for this buffer. If not, it is collected where the program drops it, and its memory with it. */
  keep(keeps: boolean): void {
    const { gpu } = this
    this.#weak ??= new WeakRef(gpu)
    this.#gpu = keeps ? gpu : undefined
  }

  override get identity(): object {
    return this.gpu
  }

  /** As its device counts it. */
  get kind(): "buffer" | "region" {
    return this.parent === undefined ? "buffer" : "region"
  }

  /** Destroys the GPUBuffer. False where it must stay, because a program has taken its memory. */
  destroyGpu(): boolean {
    // There is none where it was collected.
    ;(this.gpu as WebGpuHandle.Buffer | undefined)?.destroy()
    return true
  }
}

/** The GPUBuffer of a buffer that the command queue has checked: its owner is this device, so its class is this one. */
export const gpuOf = (buffer: DeviceBuffer): WebGpuHandle.Buffer => (buffer as WebGpuBuffer).gpu

/** The number of the whole buffer that a buffer is or is a part of, and that the command queue has checked. */
export const idOf = (buffer: DeviceBuffer): number => (buffer.root as WebGpuBuffer).id

/** Copies, bindings and mappings take multiples of 4 bytes. */
export const roundUp4 = (bytes: number): number => Math.ceil(bytes / 4) * 4

/** The numbers of GPUBufferUsage, which the specification fixes and Node has no global for. */
export const usageBits = {
  mapRead: 0x1,
  mapWrite: 0x2,
  copySrc: 0x4,
  copyDst: 0x8,
  index: 0x10,
  vertex: 0x20,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100,
  queryResolve: 0x200
} as const

/** The usage that an existing GPUBuffer allows. */
export const usageOf = (gpu: WebGpuHandle.Buffer): BufferUsage.BufferUsage =>
  purposes.reduce((usage, [flag, bit]) => (gpu.usage & bit) === 0 ? usage : usage | flag, 0)

const purposes: ReadonlyArray<readonly [BufferUsage.BufferUsage, number]> = [
  [BufferUsage.storage, usageBits.storage],
  [BufferUsage.uniform, usageBits.uniform],
  [BufferUsage.copySrc, usageBits.copySrc],
  [BufferUsage.copyDst, usageBits.copyDst],
  [BufferUsage.index, usageBits.index],
  [BufferUsage.vertex, usageBits.vertex],
  [BufferUsage.indirect, usageBits.indirect]
]

/** The GPUBufferUsage of a buffer. A MAP usage excludes all others but one of the copies, so only staging memory has it. */
export const gpuUsage = (usage: BufferUsage.BufferUsage): number => {
  if (usage === BufferUsage.download) return usageBits.mapRead | usageBits.copyDst
  if (usage === BufferUsage.upload) return usageBits.mapWrite | usageBits.copySrc
  return purposes.reduce((bits, [flag, bit]) => BufferUsage.has(usage, flag) ? bits | bit : bits, 0)
}
