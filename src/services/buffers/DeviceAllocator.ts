/**
 * The allocator that asks the device itself.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { validated } from "../calls/Validated.ts"
import type { Warn } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { EmptyBuffer } from "../device/EmptyBuffer.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import { releaseInOrderUnsafe, warned } from "../device/ReleaseInOrder.ts"

/** The options of one `allocate` that matter to a device. */
interface Options {
  readonly usage?: BufferUsage.BufferUsage | undefined
  readonly label?: string | undefined
}

/** An allocator on the device in context, which follows the rules of every allocator. */
export const makeAllocator = (immediate: boolean, warn: Warn) =>
  Effect.gen(function*() {
    const device = yield* DeviceContext
    const driver = yield* QueueDriver

    const freeUnsafe = (buffer: DeviceBuffer) => releaseInOrderUnsafe(device, driver, buffer)

    const create = (bytes: number, options: Options | undefined) =>
      validated("Allocator.allocate", (operation) => {
        const { label, usage = BufferUsage.defaultUsage } = options ?? {}
        const problem = device.status.error ??
          BufferRequest.problem(operation, bytes, usage, label) ??
          BufferRequest.deviceLimitProblem(operation, bytes, device.info.limits, "maxBufferSize")
        if (problem !== undefined) return problem
        return bytes === 0
          ? Exit.succeed(new EmptyBuffer(device.info, usage, label))
          : device.createBuffer(bytes, usage, label)
      })

    /** Where the residency check fails or is interrupted, the buffer is freed, so nothing leaks. */
    const prove = (buffer: DeviceBuffer) =>
      buffer.size === 0
        ? Exit.succeed(buffer)
        : Effect.as(Effect.onError(driver.touch(buffer), () => warned(warn, () => freeUnsafe(buffer))), buffer)

    return {
      // Uninterruptible, as every acquire: a buffer must not get lost between the driver's answer and the caller.
      allocate: (bytes: number, options?: Options) => {
        const created = create(bytes, options)
        return Effect.uninterruptible(immediate ? Effect.flatMap(created, prove) : created)
      },
      freeUnsafe,
      reclaim: driver.reclaim,
      immediate
    }
  })
