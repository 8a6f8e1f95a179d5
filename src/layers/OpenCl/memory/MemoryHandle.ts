/**
 * The driver's object under a buffer, an image or a sampler, once it is checked that it can be used.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../../services/buffers/BufferMemory.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import * as DriverObject from "../../../services/device/DriverObject.ts"
import * as ImageLike from "../../../services/images/ImageLike.ts"
import type { OpenClQueue } from "../commands/OpenClQueue.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { handleOf } from "./OpenClObject.ts"

/** The cl_mem of an image, or the error. */
export const imageHandle = (
  operation: string,
  image: ImageLike.ImageLike,
  { info, status }: OpenDevice
): bigint | GpuError =>
  status.error ?? ImageLike.problem(operation, image, info) ?? handleOf(ImageLike.deviceImage(image))

/** The cl_mem of a buffer or an image, or the error. */
export const memoryHandle = (
  operation: string,
  object: BufferLike.BufferLike | ImageLike.ImageLike,
  device: OpenDevice
): bigint | GpuError => {
  if (ImageLike.isImageLike(object)) return imageHandle(operation, object, device)
  const memory = BufferMemory.some(operation, object, device)
  return isGpuError(memory) ? memory : handleOf(memory)
}

/**
 * The same, for the program. The library does not see the commands that the program enqueues with the handle. On this
 * queue they run after the commands of earlier owners; those of the next owner run after everything on every queue.
 */
export const handleForProgramUnsafe = (
  operation: string,
  object: BufferLike.BufferLike | ImageLike.ImageLike,
  device: OpenDevice,
  { order }: OpenClQueue
): Exit.Exit<bigint, GpuError> => {
  const handle = memoryHandle(operation, object, device)
  if (isGpuError(handle)) return Exit.fail(handle)
  const command = ImageLike.isImageLike(object)
    ? { images: [ImageLike.deviceImage(object)] }
    : { buffers: [BufferLike.deviceBuffer(object)!] }
  device.queues.handedOut(command)
  return Exit.map(order.before(command), () => handle)
}

/** The cl_sampler of a sampler, or the error. */
export const samplerHandle = (
  operation: string,
  sampler: DeviceSampler,
  { info, status }: OpenDevice
): bigint | GpuError => {
  if (status.error !== undefined) return status.error
  return DriverObject.problem(operation, sampler, info, 0) ?? handleOf(sampler)
}
