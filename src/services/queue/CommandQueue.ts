/**
 * Ordered work on one device: writes, reads, copies, fills and kernels, in queue order.
 *
 * Every rule is checked once for all backends, before a driver sees anything: the right device, live buffers, usage,
 * bounds, alignment, aliasing. They are the portable rules: what passes on the host passes on WebGPU and OpenCL.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Scope from "effect/Scope"
import type { ElementType, ViewType } from "../../domain/data/ElementClass.ts"
import type * as HostData from "../../domain/data/HostData.ts"
import type { CopyRectOptions, HostRectOptions, ReadRectOptions } from "../../domain/data/Rectangle.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { Kernel } from "../../domain/kernel/Kernel.ts"
import type { KernelArgument } from "../../domain/kernel/KernelArgument.ts"
import type * as Workgroup from "../../domain/kernel/Workgroup.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import { bothBuffers, bufferFirst, methodsOf } from "../buffers/SubjectFirst.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import * as QueueEvent from "../device/QueueEvent.ts"
import * as EventOrder from "../device/queues/EventOrder.ts"
import type { Images } from "../images/Images.ts"
import type * as DispatchArguments from "./DispatchArguments.ts"

export type { ElementType, ViewType } from "../../domain/data/ElementClass.ts"
export type { HostData } from "../../domain/data/HostData.ts"
export type {
  CopyRectOptions,
  HostRectOptions,
  Origin,
  Placement,
  ReadRectOptions,
  Region
} from "../../domain/data/Rectangle.ts"
export type { BufferLike } from "../buffers/BufferLike.ts"

/**
 * The range of a buffer that `write` and `readInto` use.
 *
 * @category models
 * @since 0.1.0
 */
export interface OffsetOptions {
  /** Where to start, in bytes; a multiple of 4, or of the device's `limits.copyAlignment`. */
  readonly offset?: number | undefined
}

/**
 * The range of a buffer that `read` returns.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadOptions extends OffsetOptions {
  /** How many elements (not bytes); up to the end of the buffer without it. */
  readonly length?: number | undefined
}

/**
 * The range of a buffer that `fill` sets, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface FillOptions extends OffsetOptions {
  /** Bytes, a multiple of the pattern's; up to the end of the buffer without it. */
  readonly size?: number | undefined
}

/**
 * The ranges of two buffers between which `copy` copies, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyOptions {
  /** Where to start in the source, in bytes; a multiple of 4, or of the device's `limits.copyAlignment`; 0 without it. */
  readonly sourceOffset?: number | undefined
  /** Where to start in the target, in bytes; a multiple of the same, 0 without it. */
  readonly targetOffset?: number | undefined
  /** Bytes; up to the end of the source without it. */
  readonly size?: number | undefined
}

/**
 * How a further queue is opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueOptions {
  /** What errors and `QueueStats` call it; "queue 2" and so on without it. */
  readonly label?: string | undefined
  /** Returns the device's only queue where it cannot have another, instead of failing with Unsupported. */
  readonly share?: boolean | undefined
}

/**
 * The services that name a queue: those that `on` provides.
 *
 * @category models
 * @since 0.1.0
 */
export type OnQueue = CommandQueue | QueueDriver | Images | ImageDriver

/**
 * One queue of a device, as `CommandQueue` provides it and {@link make} opens it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  /** Puts host data into a buffer. The data is copied before the effect completes. */
  readonly write: (
    target: BufferLike.BufferLike,
    data: HostData.HostData,
    options?: OffsetOptions
  ) => Effect.Effect<void, GpuError>
  /** Reads a buffer into a new typed array, after everything recorded before. */
  readonly read: <A extends ArrayBufferView>(
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options?: ReadOptions
  ) => Effect.Effect<A, GpuError>
  /** Reads as many bytes as `target` has into it. */
  readonly readInto: (
    source: BufferLike.BufferLike,
    target: HostData.HostData,
    options?: OffsetOptions
  ) => Effect.Effect<void, GpuError>
  /** Lends a buffer's bytes to `f` as a typed array in place, after everything recorded before. */
  readonly readView: <A extends Elements, B, E, R>(
    source: BufferLike.BufferLike,
    type: ViewType<A>,
    f: (view: A) => Effect.Effect<B, E, R>,
    options?: ReadOptions
  ) => Effect.Effect<B, E | GpuError, R>
  /** Copies between two different buffers of the device. */
  readonly copy: (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ) => Effect.Effect<void, GpuError>
  /** Repeats a pattern: an unsigned 32-bit number, or 1, 2, 4, 8, 16, 32, 64 or 128 bytes. */
  readonly fill: (
    target: BufferLike.BufferLike,
    pattern: number | HostData.HostData,
    options?: FillOptions
  ) => Effect.Effect<void, GpuError>
  /** Copies a region of rows between two different buffers of the device. */
  readonly copyRect: (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options: CopyRectOptions
  ) => Effect.Effect<void, GpuError>
  /** Puts a region of rows of host data into a buffer. The data is copied before the effect completes. */
  readonly writeRect: (
    target: BufferLike.BufferLike,
    data: HostData.HostData,
    options: HostRectOptions
  ) => Effect.Effect<void, GpuError>
  /** Reads a region of rows into a new typed array, packed. */
  readonly readRect: <A extends ArrayBufferView>(
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options: ReadRectOptions
  ) => Effect.Effect<A, GpuError>
  /** Reads a region of rows into a place in `target`. */
  readonly readRectInto: (
    source: BufferLike.BufferLike,
    target: HostData.HostData,
    options: HostRectOptions
  ) => Effect.Effect<void, GpuError>
  /** The event of all commands that were recorded until now. */
  readonly event: Effect.Effect<QueueEvent.QueueEvent>
  /** Opens a further queue of the device, until the scope closes. */
  readonly open: (options?: QueueOptions) => Effect.Effect<Queue, GpuError, Scope.Scope>
  /** Runs an effect on this queue. */
  readonly on: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, OnQueue>>
  /** Runs the items of a kernel; its arguments by name. Compiles the kernel on first use. */
  readonly dispatch: <const Args extends ReadonlyArray<KernelArgument>>(
    kernel: Kernel<Args>,
    args: DispatchArguments.DispatchArguments<Args>,
    items: Workgroup.Range
  ) => Effect.Effect<void, GpuError>
  /** Submits the recorded commands, without waiting. */
  readonly flush: Effect.Effect<void, GpuError>
  /** Waits until everything recorded before has run, and fails with its errors. Never blocks the event loop. */
  readonly finish: Effect.Effect<void, GpuError>
  /** The device that the queue works on: its limits and element types, for programs that fit their kernels to them. */
  readonly info: DeviceInfo
}

/**
 * The service: one queue on one device. Each backend's layer provides it.
 *
 * Operations that return at once only record commands. The next `finish` or `read` fails with the errors of these
 * commands (DriverError with their labels). Every operation fails with Released, ForeignDevice, InvalidRequest,
 * LimitExceeded or DeviceLost before anything is sent.
 *
 * **Example** (Looking the service up once for many commands)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const clearAll = Effect.fnUntraced(function*(leases: ReadonlyArray<BufferPool.PooledBuffer>) {
 *   const queue = yield* CommandQueue.CommandQueue
 *   for (const lease of leases) yield* queue.fill(lease, 0)
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class CommandQueue extends Context.Service<CommandQueue, Queue>()("effect-gpu-pool/CommandQueue") {}

const method = methodsOf(CommandQueue)

/**
 * Puts host data into a buffer, at `offset` bytes. The data is copied before the effect completes. While 64 MiB of
 * such copies are under way, the write waits in the wait queue until the device has used enough of them.
 *
 * **Example** (Uploading four numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const upload = Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 * })
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const write: {
  /**
   * Puts host data into a buffer, at `offset` bytes. The data is copied before the effect completes. While 64 MiB of
   * such copies are under way, the write waits in the wait queue until the device has used enough of them.
   */
  (
    data: HostData.HostData,
    options?: OffsetOptions
  ): (target: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    target: BufferLike.BufferLike,
    data: HostData.HostData,
    options?: OffsetOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("write", bufferFirst)

/**
 * Reads a buffer into a new typed array, after everything recorded before; `offset` in bytes, `length` in elements.
 *
 * **Example** (Reading two of four numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   return yield* CommandQueue.read(x, Float32Array, { offset: 4, length: 2 })
 * }) // => Float32Array.of(2, 3)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const read: {
  /**
   * Reads a buffer into a new typed array, after everything recorded before; `offset` in bytes, `length` in elements.
   */
  <A extends ArrayBufferView>(
    type: ElementType<A>,
    options?: ReadOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<A, GpuError, CommandQueue>
  <A extends ArrayBufferView>(
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options?: ReadOptions
  ): Effect.Effect<A, GpuError, CommandQueue>
} = method("read", bufferFirst)

/**
 * Reads as many bytes as `target` has into it, from `offset` bytes on. The target is only touched at the end, in one
 * step, so an interrupted read leaves it as it was.
 *
 * **Example** (Reusing one host array)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const frame = new Float32Array(1024)
 * const next = (x: BufferPool.PooledBuffer) => Effect.as(CommandQueue.readInto(x, frame), frame)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readInto: {
  /**
   * Reads as many bytes as `target` has into it, from `offset` bytes on. The target is only touched at the end, in one
   * step, so an interrupted read leaves it as it was.
   */
  (
    target: HostData.HostData,
    options?: OffsetOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    source: BufferLike.BufferLike,
    target: HostData.HostData,
    options?: OffsetOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("readInto", bufferFirst)

/**
 * Lends the bytes of a buffer to `f` as a typed array, after everything recorded before: in the memory that the device
 * gives the program, without a copy by the program. `offset` is bytes, a multiple of an element's, and `length`
 * elements. When `f` ends, or the buffer's lease before it, the view is detached: its length is 0. Do not store into
 * it: a store may or may not reach the buffer. To keep the bytes, copy them with `slice()`: where the view is the
 * driver's memory, transferring it fails the read with InvalidRequest.
 *
 * Meanwhile the bytes are mapped for reading: commands can read and copy from the buffer, and not change it.
 *
 * On WebGPU the device copies to staging memory first: of the `StagingPool` in context, or else made for this one read.
 * On OpenCL the driver maps the buffer; the host lends a copy.
 *
 * Fails with Released, ForeignDevice, DeviceLost, OutOfMemory; with InvalidRequest for bounds and alignment (as of
 * {@link read}), for bytes that are mapped to be written, or without the usage `copySrc`; with DriverError, also for
 * the failures of recorded work.
 *
 * **Example** (The sum of a buffer, without an array of its own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   return yield* CommandQueue.readView(x, Float32Array, (view) => Effect.sync(() => view.reduce((a, b) => a + b)))
 * }) // => 10
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readView: {
  /**
   * Lends the bytes of a buffer to `f` as a typed array, after everything recorded before: in the memory that the device
   * gives the program, without a copy by the program. `offset` is bytes, a multiple of an element's, and `length` elements.
   * When `f` ends, or the buffer's lease before it, the view is detached: its length is 0.
   */
  <A extends Elements, B, E, R>(
    type: ViewType<A>,
    f: (view: A) => Effect.Effect<B, E, R>,
    options?: ReadOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<B, E | GpuError, R | CommandQueue>
  <A extends Elements, B, E, R>(
    source: BufferLike.BufferLike,
    type: ViewType<A>,
    f: (view: A) => Effect.Effect<B, E, R>,
    options?: ReadOptions
  ): Effect.Effect<B, E | GpuError, R | CommandQueue>
} = method("readView", bufferFirst)

/**
 * Copies bytes between two different buffers of one device.
 *
 * **Example** (Copying the first 64 bytes)
 *
 * ```ts
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const head = (from: BufferPool.PooledBuffer, to: BufferPool.PooledBuffer) =>
 *   CommandQueue.copy(from, to, { size: 64 })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const copy: {
  /** Copies bytes between two different buffers of one device. */
  (
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("copy", bothBuffers)

/**
 * Repeats a pattern over a buffer or the `size` bytes of it from `offset` on. A number is taken as an unsigned 32-bit
 * integer; a typed array (or DataView, or ArrayBuffer) gives a pattern of 1, 2, 4, 8, 16, 32, 64 or 128 bytes, which is
 * copied before the effect completes. One byte, as `Uint8Array.of(0)`, fits buffers of every size.
 *
 * Fails with InvalidRequest for another pattern, and for an offset or a size that is no multiple of the pattern's.
 *
 * **Example** (Clearing a buffer)
 *
 * ```ts
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const clear = (x: BufferPool.PooledBuffer) => CommandQueue.fill(x, 0)
 * ```
 *
 * **Example** (Setting each pair of numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.fill(x, Float32Array.of(0.5, -1))
 *   return Array.from(yield* CommandQueue.read(x, Float32Array))
 * }) // => [0.5, -1, 0.5, -1]
 * ```
 *
 * @see pyopencl.enqueue_fill_buffer
 * @category accessors
 * @since 0.1.0
 */
export const fill: {
  /**
   * Repeats a pattern over a buffer or the `size` bytes of it from `offset` on. A number is taken as an unsigned 32-bit
   * integer; a typed array (or DataView, or ArrayBuffer) gives a pattern of 1, 2, 4, 8, 16, 32, 64 or 128 bytes, which
   * is copied before the effect completes. One byte, as `Uint8Array.of(0)`, fits buffers of every size.
   */
  (
    pattern: number | HostData.HostData,
    options?: FillOptions
  ): (target: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    target: BufferLike.BufferLike,
    pattern: number | HostData.HostData,
    options?: FillOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("fill", bufferFirst)

/**
 * Runs the items of a kernel with its arguments by name. Compiles the kernel on first use; a compile error is a
 * DriverError with the compiler's log. For 0 items the arguments are checked and nothing runs; only then may a buffer
 * be too small for one element. No argument may be null, because WebGPU cannot bind null.
 *
 * `items` is their number, or their number in each dimension, as `[columns, rows]`. A kernel that is written for
 * workgroups (`GroupKernel`) gets the range, rounded up to whole workgroups; a kernel of single items runs as many as
 * the dimensions have together, and sees one index. More workgroups in a dimension of
 * several than the device's `limits.groups.maxWorkgroups` are LimitExceeded.
 *
 * **Example** (Doubling a vector)
 *
 * ```ts
 * import { type BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
 *
 * const scale = Kernel.make({
 *   name: "scale",
 *   args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
 *   body: { wgsl: "x[i] = a * x[i];", opencl: "x[i] = a * x[i];" }
 * })
 * const double = (x: BufferPool.PooledBuffer) => CommandQueue.dispatch(scale, { x, a: 2 }, x.size / 4)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const dispatch = <const Args extends ReadonlyArray<KernelArgument>>(
  kernel: Kernel<Args>,
  args: DispatchArguments.DispatchArguments<Args>,
  items: Workgroup.Range
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.dispatch(kernel, args, items))

/**
 * Submits the recorded commands, without waiting for them. Fails with DeviceLost, or with DriverError when the driver
 * refuses the submit. `finish` and `read` fail with the errors of the commands themselves.
 *
 * **Example** (Letting the device begin while the program goes on)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const begin = (x: BufferPool.PooledBuffer) => Effect.andThen(CommandQueue.fill(x, 0), CommandQueue.flush)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const flush: Effect.Effect<void, GpuError, CommandQueue> = CommandQueue.use((queue) => queue.flush)

/**
 * Waits until everything recorded before has run, without blocking the event loop, and fails with its errors. The error
 * is a DriverError with the labels of the commands, reported once, or DeviceLost.
 *
 * **Example** (Waiting for the device, and hearing of failures)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 *
 * const settled = CommandQueue.finish.pipe(
 *   Effect.catchReason("GpuError", "DriverError", ({ commands, log }) => Effect.logError(log, commands))
 * )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const finish: Effect.Effect<void, GpuError, CommandQueue> = CommandQueue.use((queue) => queue.finish)

/**
 * Copies a region of rows, or of slices of rows, between two different buffers of one device. On the device the
 * origin's byte, the row's length and the pitches are multiples of 4, or of the device's `limits.copyAlignment`.
 *
 * **Example** (A quarter of a picture of 512 x 512 pixels)
 *
 * ```ts
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const quarter = (picture: BufferPool.PooledBuffer, part: BufferPool.PooledBuffer) =>
 *   CommandQueue.copyRect(picture, part, {
 *     region: [256 * 4, 256],
 *     source: { origin: [256 * 4, 256], rowPitch: 512 * 4 }
 *   })
 * ```
 *
 * @see pyopencl.enqueue_copy with `src_origin`
 * @category accessors
 * @since 0.1.0
 */
export const copyRect: {
  /**
   * Copies a region of rows, or of slices of rows, between two different buffers of one device. On the device the
   * origin's byte, the row's length and the pitches are multiples of 4, or of the device's `limits.copyAlignment`.
   */
  (
    target: BufferLike.BufferLike,
    options: CopyRectOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options: CopyRectOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("copyRect", bothBuffers)

/**
 * Puts a region of rows of host data into a buffer. The data is copied before the effect completes; it may begin and
 * step at any byte, the buffer's side as {@link copyRect} says.
 *
 * **Example** (The middle of a small matrix)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(4 * 4 * 4)
 *   yield* CommandQueue.fill(x, 0)
 *   yield* CommandQueue.writeRect(x, Uint32Array.of(1, 2, 3, 4), {
 *     region: [2 * 4, 2],
 *     buffer: { origin: [4, 1], rowPitch: 4 * 4 }
 *   })
 *   return Array.from(yield* CommandQueue.read(x, Uint32Array))
 * }) // => [0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0]
 * ```
 *
 * @see pyopencl.enqueue_copy with `buffer_origin`
 * @category accessors
 * @since 0.1.0
 */
export const writeRect: {
  /**
   * Puts a region of rows of host data into a buffer. The data is copied before the effect completes; it may begin and
   * step at any byte, the buffer's side as {@link copyRect} says.
   */
  (
    data: HostData.HostData,
    options: HostRectOptions
  ): (target: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    target: BufferLike.BufferLike,
    data: HostData.HostData,
    options: HostRectOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("writeRect", bufferFirst)

/**
 * Reads a region of rows into a new typed array, row after row without gaps, after everything recorded before.
 *
 * **Example** (A column of a matrix)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(24)
 *   yield* CommandQueue.write(x, Uint32Array.of(1, 2, 3, 4, 5, 6))
 *   const column = yield* CommandQueue.readRect(x, Uint32Array, {
 *     region: [4, 2],
 *     buffer: { origin: [4], rowPitch: 12 }
 *   })
 *   return Array.from(column)
 * }) // => [2, 5]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readRect: {
  /** Reads a region of rows into a new typed array, row after row without gaps, after everything recorded before. */
  <A extends ArrayBufferView>(
    type: ElementType<A>,
    options: ReadRectOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<A, GpuError, CommandQueue>
  <A extends ArrayBufferView>(
    source: BufferLike.BufferLike,
    type: ElementType<A>,
    options: ReadRectOptions
  ): Effect.Effect<A, GpuError, CommandQueue>
} = method("readRect", bufferFirst)

/**
 * Reads a region of rows into a place in `target`, of which no other byte changes. The target is only touched at the
 * end, in one step, so an interrupted read leaves it as it was.
 *
 * **Example** (A tile of a frame that the program keeps)
 *
 * ```ts
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const frame = new Uint8Array(640 * 480 * 4)
 * const showTile = (tile: BufferPool.PooledBuffer, x: number, y: number) =>
 *   CommandQueue.readRectInto(tile, frame, {
 *     region: [64 * 4, 64],
 *     host: { origin: [x * 4, y], rowPitch: 640 * 4 }
 *   })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readRectInto: {
  /**
   * Reads a region of rows into a place in `target`, of which no other byte changes. The target is only touched at the
   * end, in one step, so an interrupted read leaves it as it was.
   */
  (
    target: HostData.HostData,
    options: HostRectOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  (
    source: BufferLike.BufferLike,
    target: HostData.HostData,
    options: HostRectOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = method("readRectInto", bufferFirst)

/**
 * The event of all commands that were recorded until now, to wait for with {@link QueueEvent}. It has no driver object,
 * so it costs nothing and is never released.
 *
 * **Example** (Waiting for the first half only)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, CommandQueue, QueueEvent } from "effect-gpu-pool"
 *
 * const halves = Effect.fnUntraced(function*(first: BufferPool.PooledBuffer, second: BufferPool.PooledBuffer) {
 *   yield* CommandQueue.fill(first, 1)
 *   const filled = yield* CommandQueue.event
 *   yield* CommandQueue.fill(second, 2)
 *   yield* QueueEvent.wait(filled)
 * })
 * ```
 *
 * @see pyopencl.enqueue_marker
 * @category events
 * @since 0.1.0
 */
export const event: Effect.Effect<QueueEvent.QueueEvent, never, CommandQueue> = CommandQueue.use((queue) => queue.event)

/**
 * Opens a further queue of the device, which closes with the scope. Its commands run concurrently with those of the
 * other queues, but after everything that these have recorded so far. Use the queue itself, or run an effect on it with
 * {@link on}.
 *
 * Commands of two queues have no order, unless {@link after} makes one. Memory is safe all the same: when a pool leases
 * a block again, the first command of the new owner waits, on the device, for what the last owner has recorded on other
 * queues. The pool's option `reuse` says which blocks it prefers.
 *
 * When the scope closes, the commands of the queue have run; reads under way fail with Released, as every later use
 * does.
 *
 * Fails with Unsupported where a device has one queue, as on WebGPU, unless `share` is set; with InvalidRequest for
 * wrong options; with DeviceLost or DriverError.
 *
 * **Example** (Uploads beside the work of the first queue)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const upload = Effect.fnUntraced(function*(frame: Float32Array<ArrayBuffer>) {
 *   const uploads = yield* CommandQueue.make({ label: "uploads", share: true })
 *   const x = yield* BufferPool.allocate(frame.byteLength)
 *   yield* uploads.write(x, frame)
 *   return { x, uploaded: yield* uploads.event }
 * })
 * ```
 *
 * @see pyopencl.CommandQueue, pycuda.driver.Stream, cupy.cuda.Stream
 * @category queues
 * @since 0.1.0
 */
export const make = (
  options?: QueueOptions
): Effect.Effect<Queue, GpuError, CommandQueue | Scope.Scope> => CommandQueue.use((queue) => queue.open(options))

/**
 * Runs an effect on a queue: `CommandQueue`, `Images`, arrays and everything else that records commands use it, and
 * pools lease for it.
 *
 * **Example** (A job on a queue of its own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const job = BufferPool.use(16, (x) =>
 *   Effect.andThen(CommandQueue.fill(x, 7), CommandQueue.read(x, Uint32Array)))
 *
 * Effect.flatMap(CommandQueue.make(), (queue) => CommandQueue.on(job, queue)) // => Uint32Array.of(7, 7, 7, 7)
 * ```
 *
 * @see cupy.cuda.Stream.use
 * @category queues
 * @since 0.1.0
 */
export const on: {
  /**
   * Runs an effect on a queue: `CommandQueue`, `Images`, arrays and everything else that records commands use it, and pools lease
   * for it.
   */
  (
    queue: Queue
  ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, OnQueue>>
  <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    queue: Queue
  ): Effect.Effect<A, E, Exclude<R, OnQueue>>
} = dual(
  2,
  <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    queue: Queue
  ): Effect.Effect<A, E, Exclude<R, OnQueue>> => queue.on(effect)
)

/**
 * The event of all that was recorded by the end of an effect, and the effect's result: a pair, as `Effect.timed` makes.
 *
 * **Example** (Handing work on with its event)
 *
 * ```ts
 * import { type BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const cleared = (x: BufferPool.PooledBuffer) => CommandQueue.withEvent(CommandQueue.fill(x, 0))
 * ```
 *
 * @category events
 * @since 0.1.0
 */
export const withEvent = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<[event: QueueEvent.QueueEvent, result: A], E, R | CommandQueue> =>
  Effect.flatMap(effect, (result) => Effect.map(event, (event) => [event, result]))

/**
 * Runs an effect when these events are done. A queue runs in order, so events of the effect's own queue need no wait.
 * For events of other queues of the device the device waits: what the effect records runs after them. For those of
 * other devices the fiber waits, without blocking.
 *
 * When commands of another device failed, it fails with their errors and does not run the effect. Errors of another
 * queue of the same device are reported by that queue alone.
 *
 * **Example** (Work of one device after that of another)
 *
 * ```ts
 * import { type BufferPool, CommandQueue, type QueueEvent } from "effect-gpu-pool"
 *
 * const clearAfter = (events: ReadonlyArray<QueueEvent.QueueEvent>, x: BufferPool.PooledBuffer) =>
 *   CommandQueue.fill(x, 0).pipe(CommandQueue.after(events))
 * ```
 *
 * @see the `wait_for` of PyOpenCL's enqueue functions
 * @category events
 * @since 0.1.0
 */
export const after: {
  /**
   * Runs an effect when these events are done. A queue runs in order, so events of the effect's own queue need no
   * wait. For events of other queues of the device the device waits: what the effect records runs after them. For those
   * of other devices the fiber waits, without blocking.
   */
  (
    events: Iterable<QueueEvent.QueueEvent>
  ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, R | CommandQueue>
  <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    events: Iterable<QueueEvent.QueueEvent>
  ): Effect.Effect<A, E | GpuError, R | CommandQueue>
} = dual(
  2,
  <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    events: Iterable<QueueEvent.QueueEvent>
  ): Effect.Effect<A, E | GpuError, R | CommandQueue> =>
    Effect.flatMap(event, (own) =>
      Effect.flatMap(
        Effect.forEach(
          Array.from(events).filter((event) => event.driver !== own.driver),
          (event) => EventOrder.order("CommandQueue.after", own, event) ?? QueueEvent.wait(event),
          { discard: true }
        ),
        () => effect
      ))
)
