/**
 * The driver's object under a buffer, an image or a sampler, once it is checked that it can be used.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { attempt, valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../../services/buffers/BufferMemory.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import * as DriverObject from "../../../services/device/DriverObject.ts"
import * as ImageLike from "../../../services/images/ImageLike.ts"
import type { OpenClQueue } from "../commands/OpenClQueue.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { handleOf, ownOf } from "./OpenClObject.ts"

/** The cl_mem of an image; throws why it cannot be used. */
export const imageHandle = (
  operation: string,
  image: ImageLike.ImageLike,
  { info, status }: OpenDevice
): bigint => {
  valid(status.error ?? ImageLike.problem(operation, image, info))
  return handleOf(ImageLike.deviceImage(image))
}

/** The cl_mem of a buffer or an image; throws why it cannot be used. */
export const memoryHandle = (
  operation: string,
  object: BufferLike.BufferLike | ImageLike.ImageLike,
  device: OpenDevice
): bigint =>
  ImageLike.isImageLike(object)
    ? imageHandle(operation, object, device)
    : valid(ownOf(valid(BufferMemory.some(operation, object, device)))).handle

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
  const handle = attempt(() => memoryHandle(operation, object, device))
  if (isGpuError(handle)) return Exit.fail(handle)
  const command = ImageLike.isImageLike(object)
    ? { images: [ImageLike.deviceImage(object)] }
    : { buffers: [BufferLike.deviceBuffer(object)!] }
  for (const buffer of command.buffers ?? []) device.keepApart(buffer)
  device.queues.handedOut(command)
  return Exit.map(order.before(command), () => handle)
}

/** The cl_sampler of a sampler; throws why it cannot be used. */
export const samplerHandle = (
  operation: string,
  sampler: DeviceSampler,
  { info, status }: OpenDevice
): bigint => {
  valid(status.error ?? DriverObject.problem(operation, sampler, info, 0))
  return handleOf(sampler)
}
