/**
 * Queues that a program opens besides the first one of a device.
 *
 * @internal
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"

/** What a backend gives for a further queue. */
export interface FurtherDrivers {
  readonly queue: QueueDriver["Service"]
  readonly images: ImageDriver["Service"]
  /** Services of the backend's own that name the queue. */
  readonly own?: Context.Context<never> | undefined
}

/** Opens a queue, which ends with the scope. The status is lost with the device, and ends when the queue closes. */
export type OpenQueue = (
  label: string | undefined,
  status: DeviceStatus
) => Effect.Effect<FurtherDrivers, GpuError, Scope.Scope>

/** The same, where the queue also ends with its layer, before the device does. */
export const within = (layer: Scope.Scope, open: OpenQueue): OpenQueue => (label, status) =>
  Effect.uninterruptible(
    Effect.gen(function*() {
      const own = yield* Scope.fork(layer)
      yield* Effect.addFinalizer((exit) => Scope.close(own, exit))
      return yield* Scope.provide(open(label, status), own)
    })
  )

/** The drivers of a new queue, which begins after everything that is recorded on the others; and the device as it sees it. */
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
