/**
 * The library's own side of an open device.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import { BackendHandle } from "../../services/backend/BackendHandle.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import { validated } from "../../services/calls/Validated.ts"
import type { ImageAllocator } from "../../services/images/ImageAllocator.ts"
import type * as ImageLike from "../../services/images/ImageLike.ts"
import type { OpenClQueue } from "./commands/OpenClQueue.ts"
import type { OpenClImages } from "./images/OpenClImages.ts"
import type { OpenClApi, Pointer } from "./OpenClApi.ts"
import type { OpenClDevice, OpenClPlatform } from "./opening/OpenClPlatform.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import type { SvmMemory } from "./svm/SvmMemory.ts"

/**
 * A command of your own, for {@link OpenCl}'s `enqueueUnsafe`.
 *
 * @category models
 * @since 0.1.0
 */
export interface RawCommand {
  /** What errors call it. */
  readonly label: string
  /** The OpenCL function that it calls, for the error of an enqueue that fails. */
  readonly call: string
  /** Host memory that the command uses: it is kept until the command has ended. */
  readonly memory?: ArrayBuffer | undefined
  /** Calls the function with the queue, without blocking, and lets it put its event where `event` points. */
  readonly enqueue: (queue: bigint, event: Pointer) => number
}

/**
 * The service: raw handles of the open device, as addresses, for programs that also call OpenCL themselves. The layers
 * of this module provide it next to the services that every backend has.
 *
 * **Details**
 *
 * A command that goes through `enqueueUnsafe` is recorded work like any other: `CommandQueue.finish` waits for it and
 * fails with its error. A command that a program enqueues on `queue` directly still runs in queue order, but no
 * `finish` waits for it. Handles belong to the layer: retain those that you keep for longer, and release nothing.
 *
 * **Example** (A command that CommandQueue does not know)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * type Barrier = (queue: bigint, waitCount: number, waitList: null, event: OpenCl.Pointer) => number
 *
 * const barrier = (clEnqueueBarrierWithWaitList: Barrier) =>
 *   OpenCl.OpenCl.use((cl) =>
 *     cl.enqueueUnsafe({
 *       label: "barrier",
 *       call: "clEnqueueBarrierWithWaitList",
 *       enqueue: (queue, event) => clEnqueueBarrierWithWaitList(queue, 0, null, event)
 *     })
 *   )
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class OpenCl extends Context.Service<OpenCl, {
  readonly api: OpenClApi
  readonly platform: OpenClPlatform
  readonly device: OpenClDevice
  /** The cl_context. */
  readonly context: bigint
  /** The cl_command_queue, in order. */
  readonly queue: bigint
  /** See {@link handle}; the answer is an Exit, for use within one step. */
  readonly handleUnsafe: (object: BufferLike.BufferLike | ImageLike.ImageLike) => Exit.Exit<bigint, GpuError>
  /** Enqueues a command of your own when called. */
  readonly enqueueUnsafe: (command: RawCommand) => Exit.Exit<void, GpuError>
}>()("effect-gpu-pool/OpenCl") {}

/** What this backend's modules know of an open device. @internal */
export interface OpenedDevice {
  readonly api: OpenClApi
  readonly opened: OpenDevice
  readonly queue: OpenClQueue
  /** Shared virtual memory of the device. */
  readonly svm: SvmMemory
  readonly images: OpenClImages
  /** Gives images and samplers back, in queue order. */
  readonly allocator: ImageAllocator
}

/** By the `device` object of the service, of which each queue's service has its own. @internal */
export const backendHandles = new BackendHandle<OpenClDevice, OpenedDevice>()

/**
 * What this backend's modules know of the program's device.
 *
 * @internal
 */
export const own: Effect.Effect<OpenedDevice, never, OpenCl> = OpenCl.useSync(({ device }) => backendHandles.of(device))

/** Runs the checks and the act of an operation on the open device, in one step. @internal */
export const useOpenedDevice = <A, E, R>(
  operation: string,
  f: (opened: OpenedDevice, operation: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | OpenCl> =>
  Effect.flatMap(own, (opened) => validated(operation, () => f(opened, operation)))
