/**
 * The allocator that asks the device itself.
 *
 * @internal
 */
import * as Context from "effect/Context"
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
import { CurrentDeferred } from "../pool/CurrentReservations.ts"

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
      validated("Allocator.allocate", (operation, fiber) => {
        const { label, usage = BufferUsage.defaultUsage } = options ?? {}
        const problem = device.status.error ??
          BufferRequest.problem(operation, bytes, usage, label) ??
          BufferRequest.deviceLimitProblem(operation, bytes, device.info.limits, "maxBufferSize")
        if (problem !== undefined) return problem
        if (bytes === 0) return Exit.succeed(new EmptyBuffer(device.info, usage, label))
        const isDeferred = !immediate || Context.get(fiber.context, CurrentDeferred)
        const created = device.createBuffer(bytes, usage, label, isDeferred)
        return isDeferred ? created : Effect.flatMap(created, prove)
      })

    /** Where the residency check fails or is interrupted, the buffer is freed, so nothing leaks. */
    const prove = (buffer: DeviceBuffer) =>
      Effect.as(Effect.onError(driver.touch(buffer), () => warned(warn, () => freeUnsafe(buffer))), buffer)

    return {
      // Uninterruptible, as every acquire: a buffer must not get lost between the driver's answer and the caller.
      allocate: (bytes: number, options?: Options) => Effect.uninterruptible(create(bytes, options)),
      freeUnsafe,
      reclaim: driver.reclaim,
      immediate
    }
  })
