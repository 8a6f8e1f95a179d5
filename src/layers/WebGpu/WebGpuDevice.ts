/**
 * Creation and destruction of buffers on a WebGPU device.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import type { DriverObjects } from "../../domain/DriverObjects.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as BufferLike from "../../services/BufferLike.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import { awaitDevice } from "./AwaitDevice.ts"
import { driverError, inScopes, isOutOfMemory, thrown } from "./ErrorScopes.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import { gpuUsage, roundUp4, WebGpuBuffer } from "./WebGpuBuffer.ts"

/**
 * Dawn frees destroyed buffers when a later submit completes. A loop that never submits would use up the address space,
 * or the process's 65,530 mappings, so every so many destroys are followed by an empty submit (about 5 µs).
 */
const destroysPerSubmit = 64

/** @internal */
export class WebGpuDevice {
  readonly info: DeviceInfo
  readonly status: DeviceStatus
  readonly driverObjects: DriverObjects
  readonly #device: GPUDevice
  /** Buffers that were not destroyed. */
  readonly #live: Set<WebGpuBuffer>
  #destroysSinceSubmit = 0

  constructor({ buffers, device, driverObjects, info, status }: OpenDevice) {
    this.info = info
    this.status = status
    this.driverObjects = driverObjects
    this.#device = device
    this.#live = buffers
  }

  readonly createBuffer = (
    bytes: number,
    usage: BufferUsage,
    label?: string | undefined
  ): Effect.Effect<WebGpuBuffer, GpuError> =>
    Effect.suspend(() => {
      if (this.status.error !== undefined) return this.status.error
      let buffer: WebGpuBuffer | undefined
      const start = async () => {
        const failures = await inScopes(this.#device, () => {
          buffer = this.#create(bytes, usage, label)
        })
        if (failures.length === 0 && buffer !== undefined) return Exit.succeed(buffer)
        abandon()
        return Exit.fail(
          isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUDevice.createBuffer", failures, [])
        )
      }
      /**
       * A failed creation still gives an object, invalid but normal to look at: it is destroyed and never handed out.
       */
      const abandon = (): void => {
        if (buffer !== undefined) this.#destroy(buffer)
      }
      return awaitDevice<WebGpuBuffer>({ status: this.status, call: "GPUDevice.createBuffer", start, abandon })
    })

  readonly destroyBufferUnsafe = (buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
    if (buffer.destroyed) return Exit.void
    const problem = BufferLike.problem("DeviceContext.destroyBufferUnsafe", buffer, this.info)
    if (problem !== undefined) return Exit.fail(problem)
    try {
      this.#destroy(buffer as WebGpuBuffer)
      return Exit.void
    } catch (cause) {
      return Exit.fail(driverError("GPUBuffer.destroy", [thrown(cause)], []))
    }
  }

  #create(bytes: number, usage: BufferUsage, label: string | undefined): WebGpuBuffer {
    const gpu = this.#device.createBuffer({
      size: roundUp4(bytes),
      usage: gpuUsage(usage),
      ...(label === undefined ? {} : { label })
    })
    const buffer = new WebGpuBuffer(this.info, bytes, usage, label, gpu)
    this.driverObjects.add("buffer")
    this.#live.add(buffer)
    return buffer
  }

  #destroy(buffer: WebGpuBuffer): void {
    if (buffer.destroyed) return
    buffer.destroyed = true
    this.#live.delete(buffer)
    this.driverObjects.remove("buffer")
    buffer.gpu.destroy()
    this.#destroysSinceSubmit = (this.#destroysSinceSubmit + 1) % destroysPerSubmit
    if (this.#destroysSinceSubmit === 0) this.#device.queue.submit([])
  }
}
