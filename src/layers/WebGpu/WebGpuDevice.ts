/**
 * Creation and destruction of buffers on a WebGPU device.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as BufferLike from "../../services/BufferLike.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import { DeviceContext } from "../../services/DeviceContext.ts"
import { awaitDevice } from "./AwaitDevice.ts"
import { driverError, inScopes, isOutOfMemory, thrown } from "./ErrorScopes.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import { gpuUsage, roundUp4, WebGpuBuffer } from "./WebGpuBuffer.ts"

/**
 * Dawn frees destroyed buffers when a later submit completes. A loop that never submits would use up the address space, or
 * the process's 65,530 mappings, so every so many destroys are followed by an empty submit (about 5 µs).
 */
const destroysPerSubmit = 64

/** @internal */
export const make = (opened: OpenDevice): DeviceContext["Service"] => {
  const { buffers, device, driverObjects, info, status } = opened
  let destroysSinceSubmit = 0

  const destroy = (buffer: WebGpuBuffer): void => {
    if (buffer.destroyed) return
    buffer.destroyed = true
    buffers.delete(buffer)
    driverObjects.remove("buffer")
    buffer.gpu.destroy()
    destroysSinceSubmit = (destroysSinceSubmit + 1) % destroysPerSubmit
    if (destroysSinceSubmit === 0) device.queue.submit([])
  }

  const create = (bytes: number, usage: number, label: string | undefined): WebGpuBuffer => {
    const gpu = device.createBuffer({
      size: roundUp4(bytes),
      usage: gpuUsage(usage),
      ...(label === undefined ? {} : { label })
    })
    const buffer = new WebGpuBuffer(info, bytes, usage, label, gpu)
    driverObjects.add("buffer")
    buffers.add(buffer)
    return buffer
  }

  /** A failed creation still gives an object, invalid but normal to look at: it is destroyed and never handed out. */
  const createBuffer: DeviceContext["Service"]["createBuffer"] = (bytes, usage, label) =>
    Effect.suspend(() => {
      if (status.error !== undefined) return status.error
      let buffer: WebGpuBuffer | undefined
      const abandon = (): void => {
        if (buffer !== undefined) destroy(buffer)
      }
      return awaitDevice<DeviceBuffer>({
        status,
        call: "GPUDevice.createBuffer",
        start: async () => {
          const failures = await inScopes(device, () => {
            buffer = create(bytes, usage, label)
          })
          if (failures.length === 0 && buffer !== undefined) return Exit.succeed(buffer)
          abandon()
          return Exit.fail(
            isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUDevice.createBuffer", failures, [])
          )
        },
        abandon
      })
    })

  const destroyBufferUnsafe = (buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
    if (buffer.destroyed) return Exit.void
    const problem = BufferLike.problem("DeviceContext.destroyBufferUnsafe", buffer, info)
    if (problem !== undefined) return Exit.fail(problem)
    try {
      destroy(buffer as WebGpuBuffer)
      return Exit.void
    } catch (cause) {
      return Exit.fail(driverError("GPUBuffer.destroy", [thrown(cause)], []))
    }
  }

  return DeviceContext.of({ info, status, driverObjects, createBuffer, destroyBufferUnsafe })
}
