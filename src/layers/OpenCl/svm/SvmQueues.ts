/**
 * Shared virtual memory on queues of the program's own.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../../services/buffers/BufferLike.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import * as Attachments from "../../../services/lease/Attachments.ts"
import type { OpenCl } from "../OpenCl.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, type FailedCall, onDevice } from "../OpenClError.ts"
import { checkQueue } from "../opening/ProgramQueue.ts"
import { useOpenedDevice } from "../OwnDevice.ts"
import { type SvmMemory, type SvmTarget, targetOf } from "./SvmMemory.ts"

const CL_INVALID_COMMAND_QUEUE = -36

/**
 * Says that a program uses the memory of a lease or device buffer on an in-order queue of its own, of the same context,
 * from now on. Commands recorded so far run before those that the program enqueues there. All commands that it enqueues
 * there until the lease ends (released, by its scope, or with its pool) run before the memory is used again or freed.
 * The host does not wait for that: markers in both queues order the commands. The queue is retained meanwhile. Another
 * call moves the binding to another queue; {@link unbindFromQueue} ends it.
 *
 * Fails with InvalidRequest for an out-of-order queue, one of another context, or a buffer that is not in shared virtual
 * memory; with Unsupported, Released, ForeignDevice, DeviceLost or DriverError.
 *
 * **Gotchas**
 *
 * A number that is no handle of a command queue crashes the process, since no driver can detect it.
 *
 * **Example** (A second queue)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { OpenCl, Svm } from "effect-gpu-pool/opencl"
 *
 * const fillThere = Effect.fnUntraced(function*(queue: bigint) {
 *   const { api } = yield* OpenCl.OpenCl
 *   const x = yield* BufferPool.allocate(1024)
 *   yield* Svm.bindToQueue(x, queue)
 *   const { address, size } = yield* Svm.pointer(x)
 *   api.clEnqueueSVMMemFill(queue, address, Uint32Array.of(7), 4, size, 0, null, null)
 * }, Effect.scoped)
 * ```
 *
 * @see pyopencl.tools.PooledSVM.bind_to_queue
 * @category queues
 * @since 0.1.0
 */
export const bindToQueue = (buffer: BufferLike.BufferLike, queue: bigint): Effect.Effect<void, GpuError, OpenCl> =>
  useOpenedDevice("Svm.bindToQueue", ({ svm }) => {
    const target = valid(targetOf(svm, "Svm.bindToQueue", buffer, 0))
    const { api, context, status } = svm.device
    checkQueue("Svm.bindToQueue", api, queue, { context }, (failed) => onDevice(status, failed))
    if (target === undefined) return Exit.void
    // In the same synchronous step as the check that the lease is live: nothing would end the binding of a released
    // lease.
    const unbound = unbind(buffer)
    return Exit.isFailure(unbound) ? unbound : bind(svm, target, queue)
  })

/**
 * Ends a binding: commands that the program enqueued on its queue run before those that are recorded from now on. Does
 * nothing for a buffer that is not bound. Nothing waits on the host.
 *
 * Fails with InvalidRequest for a buffer that is not in shared virtual memory; with Unsupported, Released,
 * ForeignDevice, DeviceLost or DriverError.
 *
 * **Example** (Back to the library's queue)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const result = (x: BufferPool.PooledBuffer) =>
 *   Effect.andThen(Svm.unbindFromQueue(x), CommandQueue.read(x, Uint32Array))
 * ```
 *
 * @see pyopencl.tools.PooledSVM.unbind_from_queue, which waits for the queue
 * @category queues
 * @since 0.1.0
 */
export const unbindFromQueue = (buffer: BufferLike.BufferLike): Effect.Effect<void, GpuError, OpenCl> =>
  useOpenedDevice("Svm.unbindFromQueue", ({ svm }) => {
    valid(targetOf(svm, "Svm.unbindFromQueue", buffer, 0))
    return unbind(buffer)
  })

const bindings = new WeakMap<BufferLike.BufferLike, QueueBinding>()

const unbind = (buffer: BufferLike.BufferLike): Exit.Exit<void, GpuError> =>
  bindings.get(buffer)?.endUnsafe() ?? Exit.void

const bind = (svm: SvmMemory, target: SvmTarget, queue: bigint): Exit.Exit<void, GpuError> => {
  const { api, status } = svm.device
  const retained = api.clRetainCommandQueue(queue)
  if (retained !== OpenClCode.success) {
    return Exit.fail(onQueue(status, { call: "clRetainCommandQueue", code: retained }))
  }
  const ordered = orderAfterRecorded(svm, queue, target.buffer)
  if (Exit.isFailure(ordered)) {
    api.clReleaseCommandQueue(queue)
    return ordered
  }
  const binding = bindingOf(svm, target, queue)
  bindings.set(target.owner, binding)
  Attachments.attach(target.owner, binding)
  return Exit.void
}

/** The next commands on `queue` wait for all commands that are recorded now. */
const orderAfterRecorded = (svm: SvmMemory, queue: bigint, buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
  const { api, status } = svm.device
  let code = OpenClCode.success
  const marked = svm.queue.record(markerOn(buffer), (own, event) => {
    const recorded = api.clEnqueueMarkerWithWaitList(own, 0, null, event)
    // Inside `record`, because afterwards the event may already be released.
    if (recorded === OpenClCode.success) code = api.clEnqueueMarkerWithWaitList(queue, 1, event, null)
    return recorded
  })
  if (Exit.isFailure(marked)) return marked
  if (code !== OpenClCode.success) return Exit.fail(onQueue(status, { call: marker.call, code }))
  // Without a flush the event might never complete.
  return svm.queue.flushUnsafe()
}

/** The next recorded commands wait for all commands that are on `queue` now. */
const orderBeforeRecorded = (svm: SvmMemory, queue: bigint, buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
  const { api, driverObjects, status } = svm.device
  const wait = new BigUint64Array(new ArrayBuffer(8))
  const code = api.clEnqueueMarkerWithWaitList(queue, 0, null, wait)
  if (code !== OpenClCode.success) return Exit.fail(onQueue(status, { call: marker.call, code }))
  driverObjects.add("event")
  const flushed = api.clFlush(queue)
  const marked = flushed === OpenClCode.success
    ? svm.lastingQueue.record(markerOn(buffer), (own, event) => api.clEnqueueMarkerWithWaitList(own, 1, wait, event))
    : Exit.fail(onQueue(status, { call: "clFlush", code: flushed }))
  if (api.clReleaseEvent(wait[0]!) === OpenClCode.success) driverObjects.remove("event")
  return marked
}

const marker = { call: "clEnqueueMarkerWithWaitList", bytes: 0, label: () => "wait for another queue" }

/** The marker counts as a use of the buffer, so that the next owner waits for it on any queue. */
const markerOn = (buffer: DeviceBuffer) => ({ ...marker, buffers: [buffer] })

/** A buffer on a queue of the program's, until the buffer or the binding ends. */
interface QueueBinding {
  readonly endUnsafe: () => Exit.Exit<void, GpuError>
}

const bindingOf = (svm: SvmMemory, { allocation, buffer, owner }: SvmTarget, queue: bigint): QueueBinding => {
  const { api, status } = svm.device
  const binding: QueueBinding = {
    endUnsafe: () => {
      if (bindings.get(owner) !== binding) return Exit.void
      bindings.delete(owner)
      Attachments.detach(owner, binding)
      const ordered = status.error === undefined ? orderBeforeRecorded(svm, queue, buffer) : Exit.void
      if (Exit.isFailure(ordered)) {
        // Commands that still run there would share the memory with a next owner.
        buffer.distrust()
        allocation.abandoned = true
      }
      api.clReleaseCommandQueue(queue)
      return status.error === undefined ? ordered : Exit.void
    }
  }
  return binding
}

/** An invalid or released queue of the program does not mean that the device is lost. */
const onQueue = (status: DeviceStatus, failed: FailedCall): GpuError =>
  failed.code === CL_INVALID_COMMAND_QUEUE ? driverError(failed) : onDevice(status, failed)
