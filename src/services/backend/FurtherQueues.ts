/**
 * Queues that a program opens besides the first one of a device.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import { queueClosed } from "../device/queues/Queue.ts"

/** What a backend gives for a further queue. */
export interface FurtherDrivers {
  readonly queue: QueueDriver["Service"]
  readonly images: ImageDriver["Service"]
  /** Services of the backend that belong to the queue. */
  readonly own?: Context.Context<never> | undefined
}

/** Opens a queue, which ends with the scope. The status is lost with the device, and ends when the queue closes. */
export type OpenQueue = (
  label: string | undefined,
  status: DeviceStatus
) => Effect.Effect<FurtherDrivers, GpuError, Scope.Scope>

/**
 * The same, where the queues also close with their layer, before the device does. The layer also waits for queues that
 * are already closing, and for those that a fiber is just opening, whose driver call may not have begun.
 */
export const within = (open: OpenQueue): Effect.Effect<OpenQueue, never, Scope.Scope> =>
  Effect.gen(function*() {
    const queues = new Set<Effect.Effect<void>>()
    let isClosing = false
    yield* Effect.addFinalizer(() => {
      isClosing = true
      return Effect.forEach(Array.from(queues), (close) => close, { concurrency: "unbounded", discard: true })
    })
    return (label, status) =>
      Effect.uninterruptible(Effect.suspend(() => {
        const own = Scope.makeUnsafe()
        const opened = Deferred.makeUnsafe<void>()
        const closed = Effect.cached(Effect.andThen(Deferred.await(opened), Scope.close(own, Exit.void)))
        return Effect.flatMap(closed, (ended) => {
          if (isClosing) return queueClosed(label ?? "new")
          const close: Effect.Effect<void> = Effect.ensuring(ended, Effect.sync(() => queues.delete(close)))
          // In the step that checked `isClosing`, so that a closing layer finds this queue.
          queues.add(close)
          return Effect.gen(function*() {
            const drivers = yield* Effect.exit(Scope.provide(open(label, status), own))
            Deferred.doneUnsafe(opened, Exit.void)
            yield* Effect.addFinalizer(() => close)
            return yield* drivers
          })
        })
      }))
  })

/**
 * The drivers of a new queue, which begins after everything that is recorded on the others; and the device with the
 * queue's own status.
 */
export const open = (
  device: DeviceContext["Service"],
  openQueue: OpenQueue,
  label: string | undefined
): Effect.Effect<FurtherDrivers & { readonly device: DeviceContext["Service"] }, GpuError, Scope.Scope> =>
  Effect.gen(function*() {
    const status = yield* statusOf(device)
    const drivers = yield* openQueue(label, status)
    yield* drivers.queue.order?.afterAll() ?? Exit.void
    return { ...drivers, device: { ...device, status } }
  })

const statusOf = ({ info, status }: DeviceContext["Service"]): Effect.Effect<DeviceStatus, GpuError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.suspend(() => {
        if (status.error !== undefined) return status.error
        const own = new DeviceStatus(info.backend)
        return Effect.succeed({ own, forget: status.onLost((error) => own.end(error)) })
      }),
      ({ forget }) => Effect.sync(forget)
    ),
    ({ own }) => own
  )
