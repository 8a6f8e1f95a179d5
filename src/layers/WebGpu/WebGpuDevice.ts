/**
 * Creation and destruction of buffers on a WebGPU device.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import type * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { DriverObjects } from "../../domain/device/DriverObjects.ts"
import { type GpuError, outOfMemory, unsupported } from "../../domain/GpuError.ts"
import type { LazyModule } from "../../services/calls/LazyModule.ts"
import type { DeviceContext } from "../../services/device/DeviceContext.ts"
import { largestCopy, writeBytes } from "./commands/ByteCopies.ts"
import { driverError, thrown } from "./commands/ErrorScopes.ts"
import { CreatedMemory, type Creation } from "./CreatedMemory.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import { gpuUsage, roundUp4, usageBits, WebGpuBuffer } from "./WebGpuBuffer.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

/** The code of staging memory, which is loaded before the first staging buffer is made. */
export interface StagingPart {
  readonly StagingBuffer: new(
    opened: OpenDevice,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    gpu: WebGpuHandle.Buffer
  ) => WebGpuBuffer
}

/**
 * How many staging buffers a device may have. The system maps each on its own, and Linux allows a process 65,530 such maps, which reads
 * need too. Beyond that Dawn ends the process.
 */
const mostStagingBuffers = 40_000

export class WebGpuDevice {
  readonly info: DeviceInfo
  readonly status: DeviceStatus
  readonly driverObjects: DriverObjects
  readonly #opened: OpenDevice
  readonly #memory: CreatedMemory
  readonly #staging: LazyModule<StagingPart>
  #stagingBuffers = 0

  constructor(opened: OpenDevice, staging: LazyModule<StagingPart>) {
    const { driverObjects, info, status } = opened
    this.info = info
    this.status = status
    this.driverObjects = driverObjects
    this.#opened = opened
    this.#staging = staging
    this.#memory = new CreatedMemory(opened)
  }

  readonly createBuffer: DeviceContext["Service"]["createBuffer"] = (bytes, usage, label, isDeferred = false) =>
    this.#create(bytes, usage, label, undefined, isDeferred)

  readonly createFromHost: DeviceContext["Service"]["createFromHost"] = (data, mode, usage, label) =>
    mode === "copy"
      ? BufferRequest.problem("DeviceContext.createFromHost", data.byteLength, usage, label) ??
        this.#create(data.byteLength, usage, label, data)
      : unsupported(
        "MemoryObjects.fromHost",
        "webgpu",
        "a buffer over memory of the program",
        `WebGPU allocates all of its memory itself: pass mode "copy", and CommandQueue.write what changes.`
      )

  readonly createRegionUnsafe: DeviceContext["Service"]["createRegionUnsafe"] = (part, size, usage, label) => {
    const parent = part.parent as WebGpuBuffer
    const region = new WebGpuBuffer(this.info, size, usage, label, parent.gpu, { part })
    parent.regions += 1
    this.driverObjects.add("region")
    this.#opened.buffers.add(region)
    return Exit.succeed(region)
  }

  /** A buffer around a GPUBuffer of the program's; one that is taken over is destroyed as any other. */
  adoptUnsafe(
    gpu: WebGpuHandle.Buffer,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    isBorrowed: boolean
  ): WebGpuBuffer {
    const buffer = new WebGpuBuffer(this.info, size, usage, label, gpu, { isBorrowed })
    if (!isBorrowed) this.#add(buffer)
    return buffer
  }

  readonly destroyBufferUnsafe: DeviceContext["Service"]["destroyBufferUnsafe"] = (buffer) => {
    try {
      this.#destroy(buffer as WebGpuBuffer)
      return Exit.void
    } catch (cause) {
      return Exit.fail(driverError("GPUBuffer.destroy", [thrown(cause)], []))
    }
  }

  #create(
    bytes: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    data?: Uint8Array<ArrayBuffer> | undefined,
    isDeferred = false
  ): Effect.Effect<WebGpuBuffer, GpuError> {
    const isStaging = BufferUsageRules.isStaging(usage)
    // Unmapping copies all bytes in one call, but for staging memory, which the program maps itself.
    const isMapped = data !== undefined && (isStaging || bytes <= largestCopy.bytes)
    const creation: Creation<WebGpuBuffer> = {
      call: "GPUDevice.createBuffer",
      bytes,
      problem: () => isStaging && this.#stagingBuffers >= mostStagingBuffers ? outOfMemory(bytes) : undefined,
      make: () => this.#make(bytes, usage, label, isMapped, data !== undefined && !isMapped),
      fill: data && (({ gpu }) => {
        if (!isMapped) return writeBytes(this.#opened.device.queue, gpu, 0, data)
        // A buffer that was mapped at its creation needs no usage for what it begins with.
        new Uint8Array(gpu.getMappedRange()).set(data)
        gpu.unmap()
      }),
      destroy: (buffer) => this.#destroy(buffer)
    }
    const created = isDeferred
      ? Effect.suspend(() => this.#memory.createDeferred(creation, (buffer) => buffer.distrust()))
      : this.#memory.create(creation)
    return isStaging ? this.#staging.use(() => created) : created
  }

  #make(
    bytes: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    isMapped: boolean,
    isWritten: boolean
  ): WebGpuBuffer {
    const gpu = this.#opened.device.createBuffer({
      size: roundUp4(bytes),
      usage: gpuUsage(usage) | (isWritten ? usageBits.copyDst : 0),
      mappedAtCreation: isMapped,
      ...(label === undefined ? {} : { label })
    })
    const buffer = BufferUsageRules.isStaging(usage)
      ? new this.#staging.value!.StagingBuffer(this.#opened, bytes, usage, label, gpu)
      : new WebGpuBuffer(this.info, bytes, usage, label, gpu)
    this.#add(buffer)
    return buffer
  }

  #add(buffer: WebGpuBuffer): void {
    this.driverObjects.add("buffer")
    this.#opened.buffers.add(buffer)
    this.#memory.add(roundUp4(buffer.size))
    if (BufferUsageRules.isStaging(buffer.usage)) this.#stagingBuffers += 1
  }

  #destroy(buffer: WebGpuBuffer): void {
    if (buffer.destroyed || buffer.sharing !== undefined) return
    buffer.destroyed = true
    const root = buffer.root as WebGpuBuffer
    if (root !== buffer) {
      this.#opened.buffers.delete(buffer)
      this.driverObjects.remove("region")
      root.regions -= 1
    }
    if (root.destroyed && root.regions === 0 && !root.isBorrowed) this.#release(root)
  }

  /** The memory is freed with the last buffer over it; the driver object counts until then. */
  #release(buffer: WebGpuBuffer): void {
    this.#opened.buffers.delete(buffer)
    if (BufferUsageRules.isStaging(buffer.usage)) this.#stagingBuffers -= 1
    const isDestroyed = buffer.destroyGpu()
    this.#memory.remove(roundUp4(buffer.size), isDestroyed)
    if (isDestroyed) this.driverObjects.remove("buffer")
    else this.driverObjects.leave("buffer")
  }
}
