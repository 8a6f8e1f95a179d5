/**
 * The backend's side of a command queue. `Device.fromDrivers` builds the queue that programs use over it. Everything that arrives
 * here is checked: right device, not released, right usage, in bounds, aligned. So each rule is written once.
 *
 * The calls whose names end in `Unsafe` take effect when called. The order of these calls is queue order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Extent, Place } from "../../domain/data/Rectangle.ts"
import type { HeldValue } from "../../domain/data/ValueType.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Extents as Range } from "../../domain/kernel/Workgroup.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import type { DeviceImage } from "./DeviceImage.ts"
import type { DeviceSampler } from "./DeviceSampler.ts"
import type { CompiledKernel } from "./KernelCache.ts"
import type { Queue } from "./queues/Queue.ts"

export type { HostData } from "../../domain/data/HostData.ts"
export type { Extent, Place } from "../../domain/data/Rectangle.ts"
export type { HeldValue } from "../../domain/data/ValueType.ts"

/**
 * How many recorded commands a driver submits at the latest. More commands per submit would leave the device idle for
 * longer, and a failing submit would lose more. Fewer would pay the fixed cost of a submit, with WebGPU's error scopes,
 * more often.
 *
 * @category constants
 * @since 0.1.0
 */
export const commandsPerFlush = 64

/**
 * A vector argument of a dispatch.
 *
 * @category models
 * @since 0.1.0
 */
export interface VectorBinding {
  readonly buffer: DeviceBuffer
  /** Requested bytes of the lease, not of its block. */
  readonly size: number
  /** First element of the view, 0 without an offset. */
  readonly offset: number
}

/**
 * One dispatch, its arguments in the kernel's order, each kind for itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dispatch {
  readonly compiled: CompiledKernel
  readonly vectors: ReadonlyArray<VectorBinding>
  /** Numbers, bigints, or frozen arrays of them, rounded to their types. */
  readonly scalars: ReadonlyArray<HeldValue>
  readonly images: ReadonlyArray<DeviceImage>
  readonly samplers: ReadonlyArray<DeviceSampler>
  /** Items, 1 to 2^32 - 1; with a range, those of all dimensions together, which may be more. */
  readonly count: number
  /**
   * The items of each dimension, where the kernel is written for workgroups (has a `form`). The driver rounds each up to
   * whole workgroups, of which there are at most the device's `limits.groups.maxWorkgroups`; more only in one dimension, for
   * a kernel of the form `"groups"`.
   */
  readonly range?: Range | undefined
  /**
   * If given, the driver calls it once when the dispatch has run, with the seconds that the device spent on it. A
   * finish that begins after the dispatch waits for that call. The driver does not call it for a dispatch that fails,
   * on a device without timers, or after the device is lost or closed. It does not throw, and calls no function of the
   * driver. `waits` is there where the driver knows how long the dispatch waited before.
   */
  readonly timed?: ((seconds: number, waits?: DispatchWaits) => void) | undefined
}

/**
 * How long a dispatch waited before it ran, in seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface DispatchWaits {
  /** From when the driver got the command until it gave the command to the device. */
  readonly queued: number
  /** From then until the command began to run. */
  readonly submitted: number
}

/**
 * What a program does with mapped memory. The mapping begins with the buffer's contents only when the program reads.
 *
 * @category models
 * @since 0.1.0
 */
export type MapAccess = "read" | "write" | "readwrite"

/**
 * The ways to map memory, all of them.
 *
 * @category constants
 * @since 0.1.0
 */
export const mapAccesses: ReadonlyArray<MapAccess> = ["read", "write", "readwrite"]

/**
 * Memory of a buffer that is mapped, or about to be.
 *
 * @category models
 * @since 0.1.0
 */
export interface DriverMapping {
  /** The mapped bytes, in queue order. Fails also with errors of recorded work. */
  readonly memory: Effect.Effect<ArrayBuffer, GpuError>
  /**
   * Ends the mapping when called, once, also while `memory` is awaited or after that failed. Later commands see what
   * the program has stored, and the memory is detached. On a lost device it succeeds. Where the program has transferred the
   * memory, it fails with InvalidRequest and leaves the memory to the program: the driver must never get it back.
   */
  readonly unmapUnsafe: () => Exit.Exit<void, GpuError>
}

/**
 * Called once with the result of a read: an effect that ends with the bytes, and may still wait for them.
 *
 * @category models
 * @since 0.1.0
 */
export type ReadAnswer = (bytes: Effect.Effect<ArrayBuffer, GpuError>) => void

/**
 * What a backend gives for one queue.
 *
 * @category models
 * @since 0.1.0
 */
export interface Driver {
  /** Copies `data` before it returns; writes it in queue order. */
  readonly writeUnsafe: (
    target: DeviceBuffer,
    offset: number,
    data: Uint8Array<ArrayBuffer>
  ) => Exit.Exit<void, GpuError>
  readonly copyUnsafe: (
    source: DeviceBuffer,
    sourceOffset: number,
    target: DeviceBuffer,
    targetOffset: number,
    bytes: number
  ) => Exit.Exit<void, GpuError>
  /**
   * Repeats the little-endian 4-byte `pattern`. Where `offset` or `bytes` is no multiple of 4 it repeats 1 or 2 bytes itself, of
   * which both are multiples.
   */
  readonly fillUnsafe: (
    target: DeviceBuffer,
    offset: number,
    bytes: number,
    pattern: number
  ) => Exit.Exit<void, GpuError>
  /** As `fillUnsafe`, with 2, 4, 8, 16 or 32 such patterns in turn, of which `offset` and `bytes` are whole numbers. */
  readonly fillWideUnsafe: (
    target: DeviceBuffer,
    offset: number,
    bytes: number,
    patterns: ReadonlyArray<number>
  ) => Exit.Exit<void, GpuError>
  /** Copies a region of rows between two buffers that share no memory. */
  readonly copyRectUnsafe: (
    extent: Extent,
    source: DeviceBuffer,
    from: Place,
    target: DeviceBuffer,
    to: Place
  ) => Exit.Exit<void, GpuError>
  /** Writes packed rows to a place in queue order; `rows` is the driver's own, to keep. */
  readonly writeRectUnsafe: (
    extent: Extent,
    target: DeviceBuffer,
    to: Place,
    rows: Uint8Array<ArrayBuffer>
  ) => Exit.Exit<void, GpuError>
  readonly dispatchUnsafe: (dispatch: Dispatch) => Exit.Exit<void, GpuError>
  /** Submits what was recorded. Nothing recorded: no driver call. */
  readonly flushUnsafe: () => Exit.Exit<void, GpuError>
  /**
   * Flushes and reads `bytes` bytes in queue order into memory of its own. The read begins when it is called: later
   * commands do not change its result, and the memory that it reads is not freed before it has ended. It also fails
   * with errors of recorded commands, in this step or later. The returned function gives the read up: it frees the
   * read's memory, and the read need not answer any more.
   */
  readonly readUnsafe: (source: DeviceBuffer, offset: number, bytes: number, answer: ReadAnswer) => () => void
  /** As `readUnsafe`, of a region of rows, which come packed. */
  readonly readRectUnsafe: (extent: Extent, source: DeviceBuffer, from: Place, answer: ReadAnswer) => () => void
  /**
   * Maps `bytes` bytes of a buffer. A driver without it cannot map in place, and one that returns `undefined` cannot
   * map this buffer in place: the mapping is then a private copy, read and written back. Staging memory has one mapping
   * at a time, which begins at a multiple of 8 bytes.
   */
  readonly mapUnsafe?: (
    buffer: DeviceBuffer,
    offset: number,
    bytes: number,
    access: MapAccess
  ) => Exit.Exit<DriverMapping | undefined, GpuError>
  /** Its order among the queues of its device; a driver without it has one queue. */
  readonly order?: Queue
  /** The position of the last recorded command. It only grows. */
  readonly positionUnsafe: () => number
  /** The largest position up to which everything is known to have run. */
  readonly endedUnsafe: () => number
  /** Flushes and waits as `finish` does, but only for what was recorded up to a position. */
  readonly awaitPosition: (position: number) => Effect.Effect<void, GpuError>
  /** As `awaitPosition`, and leaves the errors of recorded work to the next finish or read. */
  readonly awaitEnded: (position: number) => Effect.Effect<void, GpuError>
  /** Flushes and waits until everything before it has run. Fails with the errors of recorded work, once. */
  readonly finish: Effect.Effect<void, GpuError>
  /**
   * Moves the memory of buffers and images to the device or to the host, ahead of their use; with `contentUndefined`
   * the contents need not move. A driver whose memory has only one place leaves this out.
   */
  readonly migrateUnsafe?: (
    objects: ReadonlyArray<DeviceBuffer | DeviceImage>,
    to: "device" | "host",
    contentUndefined: boolean
  ) => Exit.Exit<void, GpuError>
  /**
   * Proves that a fresh buffer's memory exists (OpenCL: migrate with undefined contents). A no-op where creation does.
   */
  readonly touch: (buffer: DeviceBuffer) => Effect.Effect<void, GpuError>
  /** Waits until the driver really has the destroyed memory back. */
  readonly reclaim: Effect.Effect<void, GpuError>
}

/**
 * The service: the backend's side of the device's queue, for pools, allocators and whatever else works below the checks. Programs
 * use `CommandQueue`.
 *
 * Offsets and lengths are bytes, multiples of the device's `copyAlignment` except for an access that ends at the lease's size: the
 * bytes up to the next multiple then belong to the lease too, if its block has them.
 *
 * **Example** (A queue that counts what is submitted)
 *
 * ```ts
 * import { QueueDriver } from "effect-gpu-pool/backend"
 *
 * let flushes = 0
 * const counting = (driver: QueueDriver.QueueDriver["Service"]): QueueDriver.QueueDriver["Service"] => ({
 *   ...driver,
 *   flushUnsafe: () => {
 *     flushes += 1
 *     return driver.flushUnsafe()
 *   }
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class QueueDriver extends Context.Service<QueueDriver, Driver>()("effect-gpu-pool/QueueDriver") {}
