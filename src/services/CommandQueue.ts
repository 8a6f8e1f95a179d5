/**
 * Ordered work on one device: writes, reads, copies, fills and kernels, in queue order.
 *
 * Every rule is checked here, once for all backends, before a driver sees anything: the right device, live buffers, usage,
 * bounds, alignment, aliasing. They are the portable rules: what passes on the host passes on WebGPU and OpenCL.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferRange from "../domain/BufferRange.ts"
import * as BufferUsage from "../domain/BufferUsage.ts"
import { GpuError, invalidRequest } from "../domain/GpuError.ts"
import * as HostData from "../domain/HostData.ts"
import type { Kernel } from "../domain/Kernel.ts"
import type { KernelArgument } from "../domain/KernelArgument.ts"
import * as BufferLike from "./BufferLike.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import type { DeviceContext } from "./DeviceContext.ts"
import * as DispatchArguments from "./DispatchArguments.ts"
import type { CompiledKernel, KernelCache } from "./KernelCache.ts"
import type { QueueDriver } from "./QueueDriver.ts"

/**
 * A typed array class, such as `Float32Array`, that says how bytes are read.
 *
 * @category models
 * @since 0.1.0
 */
export interface ElementType<A extends ArrayBufferView> {
  readonly BYTES_PER_ELEMENT: number
  readonly name: string
  new(buffer: ArrayBuffer): A
}

/**
 * The part of a buffer that `write` and `readInto` touch.
 *
 * @category models
 * @since 0.1.0
 */
export interface OffsetOptions {
  /** Where to start, in bytes; a multiple of 4. */
  readonly offset?: number | undefined
}

/**
 * The part of a buffer that `read` returns.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadOptions extends OffsetOptions {
  /** How many elements (not bytes); up to the end of the buffer without it. */
  readonly length?: number | undefined
}

/**
 * The part of a buffer that `fill` sets, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface FillOptions extends OffsetOptions {
  /** Bytes; up to the end of the buffer without it. */
  readonly size?: number | undefined
}

/**
 * The parts of two buffers between which `copy` copies, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyOptions {
  readonly sourceOffset?: number | undefined
  readonly targetOffset?: number | undefined
  /** Bytes; up to the end of the source without it. */
  readonly size?: number | undefined
}

/**
 * The service: one queue on one device. Each backend's layer provides it.
 *
 * Operations that return at once only record work; its failures (DriverError with the labels of the commands) are told
 * by the next `finish` or `read`. Every operation fails with BufferReleased, ForeignBuffer, InvalidRequest, LimitExceeded
 * or DeviceLost before anything is sent.
 *
 * @category services
 * @since 0.1.0
 */
export class CommandQueue extends Context.Service<CommandQueue, {
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
  /** Copies between two different buffers of the device. */
  readonly copy: (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ) => Effect.Effect<void, GpuError>
  /** Repeats a 4-byte pattern, given as an unsigned 32-bit number; the last one is cut at the end. */
  readonly fill: (
    target: BufferLike.BufferLike,
    pattern: number,
    options?: FillOptions
  ) => Effect.Effect<void, GpuError>
  /** Runs `count` items of a kernel; its arguments by name. Compiles the kernel on first use. */
  readonly dispatch: <const Args extends ReadonlyArray<KernelArgument>>(
    kernel: Kernel<Args>,
    args: DispatchArguments.DispatchArguments<Args>,
    count: number
  ) => Effect.Effect<void, GpuError>
  /** Submits what was recorded, without waiting. */
  readonly flush: Effect.Effect<void, GpuError>
  /** Waits until everything recorded before has run, and fails with its errors. Never blocks the event loop. */
  readonly finish: Effect.Effect<void, GpuError>
  /** The backend's side, for allocators and other services over this queue. */
  readonly driver: QueueDriver
}>()("effect-gpu-pool/CommandQueue") {}

/**
 * Builds the queue that programs use from a backend's driver.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromDriver = (options: {
  readonly driver: QueueDriver
  readonly device: DeviceContext["Service"]
  readonly cache: KernelCache["Service"]
}): CommandQueue["Service"] => {
  const { cache, device, driver } = options

  const usable = (operation: string, buffer: BufferLike.BufferLike, usage: number): GpuError | undefined => {
    const problem = device.status.error ?? BufferLike.problem(operation, buffer, device.info)
    if (problem !== undefined || BufferUsage.has(buffer.usage, usage)) return problem
    return invalidRequest(
      operation,
      `the buffer's usage ${BufferUsage.format(buffer.usage)} lacks ${BufferUsage.format(usage)}`,
      "Name that flag in the usage when you allocate."
    )
  }

  const write: CommandQueue["Service"]["write"] = (target, data, options) =>
    Effect.suspend(() => {
      const operation = "CommandQueue.write"
      const unusable = usable(operation, target, BufferUsage.copyDst)
      if (unusable !== undefined) return unusable
      const bytes = HostData.bytes(operation, data)
      if (bytes instanceof GpuError) return bytes
      const offset = options?.offset ?? 0
      const problem = BufferRange.problem(operation, target.size, offset, bytes.byteLength)
      if (problem !== undefined) return problem
      const memory = BufferLike.deviceBuffer(target)
      if (memory === undefined || bytes.byteLength === 0) return Exit.void
      return proven(driver.writeUnsafe(memory, offset, bytes), memory)
    })

  /** The source must be usable. */
  const readBytes = (
    operation: string,
    source: BufferLike.BufferLike,
    offset: number,
    bytes: number
  ): Effect.Effect<ArrayBuffer, GpuError> => {
    const problem = BufferRange.problem(operation, source.size, offset, bytes)
    if (problem !== undefined) return problem
    const memory = BufferLike.deviceBuffer(source)
    return memory === undefined || bytes === 0
      ? Effect.succeed(new ArrayBuffer(0))
      : driver.read(memory, offset, bytes)
  }

  const read: CommandQueue["Service"]["read"] = (source, type, options) =>
    Effect.suspend(() => {
      const operation = "CommandQueue.read"
      const problem = usable(operation, source, BufferUsage.copySrc)
      if (problem !== undefined) return problem
      const offset = options?.offset ?? 0
      const bytes = options?.length === undefined ? source.size - offset : options.length * type.BYTES_PER_ELEMENT
      if (bytes % type.BYTES_PER_ELEMENT !== 0) {
        return invalidRequest(
          operation,
          `${bytes} bytes are no whole number of ${type.name} elements`,
          "Pass length, in elements, or read a Uint8Array."
        )
      }
      return Effect.map(readBytes(operation, source, offset, bytes), (buffer) => new type(buffer))
    })

  const readInto: CommandQueue["Service"]["readInto"] = (source, target, options) =>
    Effect.suspend(() => {
      const operation = "CommandQueue.readInto"
      const problem = usable(operation, source, BufferUsage.copySrc)
      if (problem !== undefined) return problem
      const view = HostData.bytes(operation, target)
      if (view instanceof GpuError) return view
      return Effect.flatMap(
        readBytes(operation, source, options?.offset ?? 0, view.byteLength),
        (buffer) => HostData.copyInto(operation, buffer, target) ?? Exit.void
      )
    })

  const copy: CommandQueue["Service"]["copy"] = (source, target, options) =>
    Effect.suspend(() => {
      const operation = "CommandQueue.copy"
      const unusable = usable(operation, source, BufferUsage.copySrc) ?? usable(operation, target, BufferUsage.copyDst)
      if (unusable !== undefined) return unusable
      const sourceOffset = options?.sourceOffset ?? 0
      const targetOffset = options?.targetOffset ?? 0
      const bytes = options?.size ?? source.size - sourceOffset
      const problem = BufferRange.problem(operation, source.size, sourceOffset, bytes) ??
        BufferRange.problem(operation, target.size, targetOffset, bytes)
      if (problem !== undefined) return problem
      const from = BufferLike.deviceBuffer(source)
      const to = BufferLike.deviceBuffer(target)
      if (from === undefined || to === undefined) return Exit.void
      if (from === to) {
        return invalidRequest(
          operation,
          "source and target are the same buffer",
          "WebGPU forbids a copy within one buffer: go through a second one."
        )
      }
      return bytes === 0
        ? Exit.void
        : proven(driver.copyUnsafe(from, sourceOffset, to, targetOffset, bytes), from, to)
    })

  const fill: CommandQueue["Service"]["fill"] = (target, pattern, options) =>
    Effect.suspend(() => {
      const operation = "CommandQueue.fill"
      const unusable = usable(operation, target, BufferUsage.copyDst)
      if (unusable !== undefined) return unusable
      const offset = options?.offset ?? 0
      const bytes = options?.size ?? target.size - offset
      const problem = BufferRange.problem(operation, target.size, offset, bytes)
      if (problem !== undefined) return problem
      if (!Number.isInteger(pattern) || pattern < 0 || pattern > 0xffffffff) {
        return invalidRequest(
          operation,
          `the pattern ${pattern} is no unsigned 32-bit number`,
          "Pass the 4 bytes as one number, as 0xff00ff00."
        )
      }
      const memory = BufferLike.deviceBuffer(target)
      return memory === undefined || bytes === 0
        ? Exit.void
        : proven(driver.fillUnsafe(memory, offset, bytes, pattern), memory)
    })

  const dispatch: CommandQueue["Service"]["dispatch"] = (kernel, args, count) =>
    Effect.suspend(() => {
      const compiled = cache.getUnsafe(kernel)
      return compiled === undefined
        ? Effect.flatMap(device.status.error ?? cache.get(kernel), (compiled) => record(compiled, kernel, args, count))
        : record(compiled, kernel, args, count)
    })

  /** A kernel can have left the cache since it was compiled for this dispatch; then it is compiled again. */
  const record = (
    compiled: CompiledKernel,
    kernel: Kernel,
    args: Readonly<Record<string, DispatchArguments.ArgumentValue>>,
    count: number
  ): Effect.Effect<void, GpuError> => {
    if (compiled.released) {
      return Effect.flatMap(device.status.error ?? cache.get(kernel), (again) => record(again, kernel, args, count))
    }
    const bound = DispatchArguments.bind(kernel, args, count, device.info, usable)
    if (bound instanceof GpuError) return bound
    if (count === 0) return Exit.void
    const exit = driver.dispatchUnsafe({ compiled, vectors: bound.vectors, scalars: bound.scalars, count })
    return proven(exit, ...bound.vectors.map((vector) => vector.buffer))
  }

  return CommandQueue.of({
    write,
    read,
    readInto,
    copy,
    fill,
    dispatch,
    flush: Effect.suspend(() => device.status.error ?? driver.flushUnsafe()),
    finish: Effect.suspend(() => device.status.error ?? driver.finish),
    driver
  })
}

/**
 * A deferred block shows only at its first use that its memory does not exist; it must never be leased again.
 *
 * @see pyopencl.tools.DeferredAllocator
 */
const proven = (
  exit: Exit.Exit<void, GpuError>,
  ...buffers: ReadonlyArray<DeviceBuffer>
): Exit.Exit<void, GpuError> => {
  if (Exit.isFailure(exit)) { for (const buffer of buffers) buffer.recyclable = false }
  return exit
}

/**
 * Puts host data into a buffer, at `offset` bytes. The data is copied before the effect completes.
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
export const write = (
  target: BufferLike.BufferLike,
  data: HostData.HostData,
  options?: OffsetOptions
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.write(target, data, options))

/**
 * Reads a buffer into a new typed array, after everything recorded before; `offset` in bytes, `length` in elements.
 *
 * **Example** (Reading two of four numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   return yield* CommandQueue.read(x, Float32Array, { offset: 4, length: 2 })
 * }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer()))
 *
 * Array.from(await Effect.runPromise(program)) // => [2, 3]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const read = <A extends ArrayBufferView>(
  source: BufferLike.BufferLike,
  type: ElementType<A>,
  options?: ReadOptions
): Effect.Effect<A, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.read(source, type, options))

/**
 * Reads as many bytes as `target` has into it, from `offset` bytes on. The target is only touched at the end, in one
 * step, so an interrupted read leaves it as it was.
 *
 * **Example** (Reusing one host array)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 *
 * const frame = new Float32Array(1024)
 * const next = (x: PooledBuffer.PooledBuffer) => Effect.as(CommandQueue.readInto(x, frame), frame)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readInto = (
  source: BufferLike.BufferLike,
  target: HostData.HostData,
  options?: OffsetOptions
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.readInto(source, target, options))

/**
 * Copies bytes between two different buffers of one device.
 *
 * **Example** (Copying the first 64 bytes)
 *
 * ```ts
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 *
 * const head = (from: PooledBuffer.PooledBuffer, to: PooledBuffer.PooledBuffer) =>
 *   CommandQueue.copy(from, to, { size: 64 })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const copy = (
  source: BufferLike.BufferLike,
  target: BufferLike.BufferLike,
  options?: CopyOptions
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.copy(source, target, options))

/**
 * Repeats a 4-byte pattern over a buffer or the `size` bytes of it from `offset` on.
 *
 * **Example** (Clearing a buffer)
 *
 * ```ts
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 *
 * const clear = (x: PooledBuffer.PooledBuffer) => CommandQueue.fill(x, 0)
 * ```
 *
 * @see pyopencl.enqueue_fill_buffer
 * @category accessors
 * @since 0.1.0
 */
export const fill = (
  target: BufferLike.BufferLike,
  pattern: number,
  options?: FillOptions
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.fill(target, pattern, options))

/**
 * Runs `count` items of a kernel with its arguments by name. Compiles the kernel on first use; a compile error is a
 * DriverError with the compiler's log.
 *
 * **Example** (Doubling a vector)
 *
 * ```ts
 * import { CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 *
 * const scale = Kernel.make({
 *   name: "scale",
 *   args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", "a")],
 *   body: { wgsl: "x[i] = a * x[i];", opencl: "x[i] = a * x[i];" }
 * })
 * const double = (x: PooledBuffer.PooledBuffer) => CommandQueue.dispatch(scale, { x, a: 2 }, x.size / 4)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const dispatch = <const Args extends ReadonlyArray<KernelArgument>>(
  kernel: Kernel<Args>,
  args: DispatchArguments.DispatchArguments<Args>,
  count: number
): Effect.Effect<void, GpuError, CommandQueue> => CommandQueue.use((queue) => queue.dispatch(kernel, args, count))

/**
 * Submits what was recorded, without waiting for it.
 *
 * @category accessors
 * @since 0.1.0
 */
export const flush: Effect.Effect<void, GpuError, CommandQueue> = CommandQueue.use((queue) => queue.flush)

/**
 * Waits until everything recorded before has run, without blocking the event loop, and fails with its errors.
 *
 * @category accessors
 * @since 0.1.0
 */
export const finish: Effect.Effect<void, GpuError, CommandQueue> = CommandQueue.use((queue) => queue.finish)
