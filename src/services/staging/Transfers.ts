/**
 * Streams of data to and from device memory, in chunks through staging memory.
 *
 * Few chunks are under way at a time: a fast stream waits for the device, and a slow consumer makes the device wait. So data
 * larger than the memory of the program, and of the pool, passes through.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { attempt } from "../../domain/arguments/ArgumentProblem.ts"
import { line } from "../../domain/arguments/Format.ts"
import type * as HostData from "../../domain/data/HostData.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferPool from "../buffers/BufferPool.ts"
import type { PooledBuffer } from "../buffers/PooledBuffer.ts"
import { bufferFirst, eitherWay } from "../buffers/SubjectFirst.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { mostTogether, reserveTogether } from "../pool/Pool.ts"
import { CommandQueue } from "../queue/CommandQueue.ts"
import * as Chunks from "./Chunks.ts"
import { InOrder } from "./InOrder.ts"
import * as StagingPool from "./StagingPool.ts"
import {
  cutOf,
  type DownloadOptions,
  type Plan,
  planOf,
  type ThroughOptions,
  type TransferOptions
} from "./TransferOptions.ts"

export type { ChunkOptions, DownloadOptions, ThroughOptions, TransferOptions } from "./TransferOptions.ts"

/** Editors show the union under this name, which differs from the `Services` of other modules. */
type TransferServices = DeviceContext | CommandQueue | StagingPool.StagingPool

/**
 * The services that streams to and from buffers take: those of every backend, and a pool of staging memory.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = TransferServices

/**
 * Writes a stream of bytes into a buffer, and returns how many there were. It completes when the device has all of them. The
 * stream's pieces may have any size; each chunk of them goes through staging memory, and waits while the staging pool has no
 * memory for it. The pieces that the stream gives together are copied before it is asked for the next ones.
 *
 * Fails as the stream does; with InvalidRequest when there are more bytes than the buffer has from `offset` on, when their
 * number is no multiple of 4 and they do not end with the buffer, and for a piece that is no bytes; with LimitExceeded for
 * chunks larger than the staging pool; and with Released, DeviceLost, OutOfMemory or DriverError. Chunks that went before the
 * failure stay in the buffer.
 *
 * **Example** (Pieces of any size)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { BufferPool, CommandQueue, StagingPool, Transfers } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(8)
 *   const pieces = Stream.make(Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5, 6, 7, 8))
 *   const bytes = yield* Transfers.upload(pieces, x)
 *   return [bytes, ...(yield* CommandQueue.read(x, Uint8Array))]
 * }).pipe(Effect.provide(StagingPool.layer())) // => [8, 1, 2, 3, 4, 5, 6, 7, 8]
 * ```
 *
 * @category transfers
 * @since 0.1.0
 */
export const upload: {
  /** Writes a stream of bytes into a buffer, and returns how many there were. It completes when the device has all of them. */
  (
    target: BufferLike.BufferLike,
    options?: TransferOptions
  ): <E, R>(stream: Stream.Stream<HostData.HostData, E, R>) => Effect.Effect<number, E | GpuError, R | Services>
  <E, R>(
    stream: Stream.Stream<HostData.HostData, E, R>,
    target: BufferLike.BufferLike,
    options?: TransferOptions
  ): Effect.Effect<number, E | GpuError, R | Services>
} = eitherWay(
  (args) => Stream.isStream(args[0]),
  (stream, target, options) =>
    // Without the sink: Effect turns the failure of a stream that runs through a sink into a defect, which would end
    // the pulling fiber.
    Effect.scopedWith((ofStream) =>
      Effect.flatMap(
        Scope.provide(Stream.toPull(stream), ofStream),
        (pieces) => sendAll("Transfers.upload", pieces, target, options)
      )
    )
)

/**
 * The same as {@link upload}, as a sink: for streams that end in more than one place. Its result is the number of bytes. Every
 * run of it begins at `offset` again.
 *
 * **Example** (A stream that is counted on its way)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { BufferPool, StagingPool, Transfers } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(8)
 *   let pieces = 0
 *   const counted = Stream.make(Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5, 6, 7, 8)).pipe(
 *     Stream.tap(() => Effect.sync(() => pieces++))
 *   )
 *   return [yield* Stream.run(counted, Transfers.sink(x)), pieces]
 * }).pipe(Effect.provide(StagingPool.layer())) // => [8, 2]
 * ```
 *
 * @category transfers
 * @since 0.1.0
 */
export const sink = (
  target: BufferLike.BufferLike,
  options?: TransferOptions
): Sink.Sink<number, HostData.HostData, never, GpuError, Services> =>
  Sink.fromTransform((pieces) =>
    Effect.map(sendAll("Transfers.sink", pieces, target, options), (bytes) => [bytes] as const)
  )

/** Writes the pieces of a stream into a buffer, and returns their bytes. */
const sendAll = <E, R>(
  operation: string,
  pieces: Pull.Pull<ReadonlyArray<HostData.HostData>, E, void, R>,
  target: BufferLike.BufferLike,
  options: TransferOptions | undefined
): Effect.Effect<number, E | GpuError, R | Services> =>
  Effect.scopedWith((scope) =>
    Effect.gen(function*() {
      const { status, ...means } = yield* meansOf([yield* StagingPool.StagingPool])
      const plan = attempt(() => planOf(operation, target, options, undefined, means))
      if (isGpuError(plan)) return yield* plan
      const { inFlight, size } = plan
      const chunkBytes = Math.min(plan.chunkBytes, Math.max(size, 4))
      const sent = yield* InOrder.begin<number, E | GpuError, R | Services>((sends) =>
        Chunks.forEach(operation, pieces, chunkBytes, (chunk) =>
          chunk.offset + chunk.size > size
            ? tooLong(operation, target, plan)
            : sends.hand((taken) => send(operation, chunk, target, plan.offset + chunk.offset, taken))), {
        most: inFlight,
        scope,
        status,
        uses: memoryOf(target)
      })
      let bytes = 0
      const count = Effect.map(sent, ([part]) => {
        bytes += part
      })
      yield* count.pipe(
        Effect.forever({ disableYield: true }),
        Pull.catchDone(() => Effect.void)
      )
      return bytes
    })
  )

/** The device in context, and the most bytes that the pools can have for chunks. */
const meansOf = (pools: ReadonlyArray<object>) =>
  DeviceContext.useSync(({ info, status }) => ({ device: info, most: mostTogether(pools), status }))

/** The allocation of the buffer, which is not freed while a transfer uses it. */
const memoryOf = (buffer: BufferLike.BufferLike): ReadonlyArray<object> => {
  const memory = BufferLike.deviceBuffer(buffer)
  return memory === undefined ? [] : [memory.allocation]
}

const tooLong = (operation: string, { label, size }: BufferLike.BufferLike, { offset }: Plan): GpuError =>
  invalidRequest(
    operation,
    `the stream has more bytes than the ${size - offset} of the buffer${
      label === undefined ? "" : ` "${line(label)}"`
    } from ${offset} on`,
    "Allocate more, or take less of the stream."
  )

/**
 * Writes a chunk into a buffer, through staging memory. It calls `taken` once it no longer needs the bytes of the
 * chunk.
 */
const send = (
  operation: string,
  chunk: Chunks.Chunk,
  target: BufferLike.BufferLike,
  offset: number,
  taken: () => void
): Effect.Effect<number, GpuError, CommandQueue | StagingPool.StagingPool> =>
  StagingPool.use(chunk.size, Uint8Array, (array) => {
    // The pool or the device may have ended since.
    if (!array.isMapped) return array.problem(operation)
    const problem = chunk.copyTo(operation, array.data)
    if (problem !== undefined) return problem
    taken()
    return Effect.as(StagingPool.upload(array, target, { offset }), chunk.size)
  }, { onExhausted: "wait", label: "upload" })

/**
 * The bytes of a buffer as a stream of chunks, in order. The next chunks are read while a consumer works on one; a slow
 * consumer stops the reads. A chunk has the buffer's contents when its read begins, so change the buffer only after the
 * stream has ended.
 *
 * Fails with InvalidRequest for bounds and alignment (as of `CommandQueue.read`), Released, ForeignDevice, DeviceLost,
 * OutOfMemory or DriverError.
 *
 * **Example** (Chunks of 8 bytes)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { BufferPool, CommandQueue, StagingPool, Transfers } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(20)
 *   yield* CommandQueue.fill(x, 0)
 *   const chunks = yield* Stream.runCollect(Transfers.download(x, { chunkSize: 8 }))
 *   return chunks.map((chunk) => chunk.length)
 * }).pipe(Effect.provide(StagingPool.layer())) // => [8, 8, 4]
 * ```
 *
 * @category transfers
 * @since 0.1.0
 */
export const download: {
  /** The bytes of a buffer as a stream of chunks, in order. */
  (
    options?: DownloadOptions
  ): (source: BufferLike.BufferLike) => Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, Services>
  (
    source: BufferLike.BufferLike,
    options?: DownloadOptions
  ): Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, Services>
} = eitherWay(
  bufferFirst,
  (source, options) =>
    Stream.unwrap(Effect.gen(function*() {
      const operation = "Transfers.download"
      const { status, ...means } = yield* meansOf([yield* StagingPool.StagingPool])
      const plan = attempt(() => planOf(operation, source, options, options?.size, means))
      if (isGpuError(plan)) return yield* plan
      const scope = yield* Effect.scope
      const chunks = InOrder.begin<Uint8Array<ArrayBuffer>, GpuError, Services>(
        (reads) => readAll(reads, source, plan),
        { most: plan.inFlight, scope, status, uses: memoryOf(source) }
      )
      return Stream.fromPull(chunks)
    }))
)

const readAll = (
  reads: InOrder<Uint8Array<ArrayBuffer>, GpuError>,
  source: BufferLike.BufferLike,
  { chunkBytes, offset, size }: Plan
): Effect.Effect<void, never, CommandQueue> => {
  let at = 0
  return Effect.whileLoop({
    while: () => at < size,
    body: () => {
      const length = Math.min(chunkBytes, size - at)
      const read = readBytes(source, { offset: offset + at, length })
      at += length
      return reads.hand((taken) => {
        taken()
        return read
      })
    },
    step: () => {}
  })
}

const readBytes = (
  source: BufferLike.BufferLike,
  range?: { readonly offset: number; readonly length: number }
): Effect.Effect<Uint8Array<ArrayBuffer>, GpuError, CommandQueue> =>
  CommandQueue.use((queue) => queue.read<Uint8Array<ArrayBuffer>>(source, Uint8Array, range))

/**
 * A stream of bytes through device memory: each chunk goes into a buffer of the pool, `f` does something with it there,
 * and its bytes come back, in order. These are the bytes of the buffer that `f` returns, or of the chunk's own. While a
 * consumer works on one chunk, the next are on their way. Only the last chunk may be short, and may have any number of
 * bytes.
 *
 * `f` gets the chunk and how many bytes of the stream were before it. What it allocates ends when the chunk has come
 * back. With `inFlight` chunks under way the pool needs memory for as many; a chunk waits for its own. Where `f`
 * allocates in a pool whose requests wait, set `reserve` to the bytes that a chunk needs in all.
 *
 * Fails as the stream and `f` do; with InvalidRequest for invalid options, and for a piece that is no bytes; with
 * LimitExceeded for chunks larger than the pool or the staging pool; and with Released, DeviceLost, OutOfMemory or
 * DriverError. Bytes before a failure are emitted.
 *
 * **Example** (Numbers doubled by a kernel, four at a time)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { CommandQueue, KernelArgument, StagingPool, Transfers } from "effect-gpu-pool"
 * import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
 *
 * const double = ElementwiseKernel.make({
 *   name: "double",
 *   args: [KernelArgument.VectorArg("f32", "x")],
 *   outputs: ({ x }) => ({ x: Expr.multiply(x, 2) })
 * })
 *
 * Stream.range(1, 6).pipe(
 *   Stream.map((n) => Float32Array.of(n)),
 *   Transfers.through((x) => CommandQueue.dispatch(double, { x }, x.size / 4), { chunkSize: 16 }),
 *   Stream.map((chunk) => Array.from(new Float32Array(chunk.buffer))),
 *   Stream.runCollect,
 *   Effect.provide(StagingPool.layer())
 * ) // => [[2, 4, 6, 8], [10, 12]]
 * ```
 *
 * @category transfers
 * @since 0.1.0
 */
export const through: {
  /**
   * A stream of bytes through device memory: each chunk goes into a buffer of the pool, `f` does something with it there, and its
   * bytes come back, in order.
   */
  <E2, R2>(
    f: (chunk: PooledBuffer, offset: number) => Effect.Effect<BufferLike.BufferLike | void, E2, R2>,
    options?: ThroughOptions
  ): <E, R>(stream: Stream.Stream<HostData.HostData, E, R>) => Through<E, R, E2, R2>
  <E, R, E2, R2>(
    stream: Stream.Stream<HostData.HostData, E, R>,
    f: (chunk: PooledBuffer, offset: number) => Effect.Effect<BufferLike.BufferLike | void, E2, R2>,
    options?: ThroughOptions
  ): Through<E, R, E2, R2>
} = dual(
  (args) => Stream.isStream(args[0]),
  <E, R, E2, R2>(
    stream: Stream.Stream<HostData.HostData, E, R>,
    f: Use<E2, R2>,
    options?: ThroughOptions
  ): Through<E, R, E2, R2> =>
    Stream.unwrap(Effect.gen(function*() {
      const operation = "Transfers.through"
      const pools = [yield* BufferPool.BufferPool, yield* StagingPool.StagingPool]
      const { status, ...means } = yield* meansOf(pools)
      const cut = attempt(() => cutOf(operation, options, means))
      if (isGpuError(cut)) return yield* cut
      const reserve = MemoryLimit.resolve(operation, "reserve", { bytes: options?.reserve }, means.device)
      if (isGpuError(reserve)) return yield* reserve
      // Scopes close in the reverse order: the fibers that use the stream end before the stream does.
      const ofStream = yield* Effect.flatMap(Effect.scope, Scope.fork)
      const scope = yield* Effect.flatMap(Effect.scope, Scope.fork)
      const pieces = yield* Scope.provide(Stream.toPull(stream), ofStream)
      const results = InOrder.begin<Uint8Array<ArrayBuffer>, E | E2 | GpuError, R | UseServices<R2>>(
        (uses) =>
          Chunks.forEach(operation, pieces, cut.chunkBytes, (chunk) =>
            uses.hand((taken) =>
              reserving(operation, chunk.size, reserve, useOn(operation, chunk, f, taken))
            )),
        { most: cut.inFlight, scope, status, uses: [] }
      )
      return Stream.fromPull(results)
    }))
)

/** Reserves the chunk's bytes, since a chunk has its buffer while it waits for staging memory. */
const reserving = <A, E, R>(
  operation: string,
  size: number,
  reserve: number | undefined,
  used: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | BufferPool.BufferPool | StagingPool.StagingPool> =>
  Effect.gen(function*() {
    const buffers = { pool: yield* BufferPool.BufferPool, bytes: reserve ?? size }
    const staging = { pool: yield* StagingPool.StagingPool, bytes: size }
    return yield* reserveTogether(
      operation,
      [buffers, staging],
      reserve === undefined ? used : BufferPool.reserve(used, reserve)
    )
  })

type Use<E, R> = (chunk: PooledBuffer, offset: number) => Effect.Effect<BufferLike.BufferLike | void, E, R>

type UseServices<R> = Exclude<R, Scope.Scope> | Services | BufferPool.BufferPool

/**
 * The result of {@link through}.
 *
 * @category models
 * @since 0.1.0
 */
export type Through<E, R, E2, R2> = Stream.Stream<
  Uint8Array<ArrayBuffer>,
  E | E2 | GpuError,
  R | Exclude<R2, Scope.Scope> | Services | BufferPool.BufferPool
>

const useOn = <E, R>(
  operation: string,
  chunk: Chunks.Chunk,
  f: Use<E, R>,
  taken: () => void
): Effect.Effect<Uint8Array<ArrayBuffer>, E | GpuError, UseServices<R>> =>
  BufferPool.use(chunk.size, (input) =>
    Effect.scoped(Effect.gen(function*() {
      yield* send(operation, chunk, input, 0, taken)
      return yield* readBytes((yield* f(input, chunk.offset)) ?? input)
    })), { onExhausted: "wait", label: "chunk" })
