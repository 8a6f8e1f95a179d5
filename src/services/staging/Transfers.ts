/**
 * Streams of data to and from device memory, in chunks through staging memory.
 *
 * Few chunks are under way at a time: a fast stream waits for the device, and a slow consumer makes the device wait. So data
 * larger than the memory of the program, and of the pool, passes through.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { optionsProblem, readValues, satisfies, valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import { shown } from "../../domain/arguments/ShownValue.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import * as HostData from "../../domain/data/HostData.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as BufferLike from "../buffers/BufferLike.ts"
import { startsWithSubject } from "../buffers/SubjectFirst.ts"
import { CommandQueue } from "../queue/CommandQueue.ts"
import * as StagingPool from "./StagingPool.ts"

/**
 * How a stream is cut into chunks.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransferOptions {
  /** Bytes of a chunk, a multiple of 4: `"4 MiB"` without it. */
  readonly chunkSize?: MemoryLimit.Input | undefined
  /** How many chunks may be under way at a time, from 1 to 64: 2 without it, so that one is filled while one is copied. */
  readonly inFlight?: number | undefined
  /** Where to start in the buffer, in bytes; a multiple of 4; 0 without it. */
  readonly offset?: number | undefined
}

/**
 * Which bytes of a buffer to stream, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface DownloadOptions extends TransferOptions {
  /** How many bytes; up to the end of the buffer without it. */
  readonly size?: number | undefined
}

const known = KnownOptions.of<DownloadOptions>({ chunkSize: true, inFlight: true, offset: true, size: true })

const knownOfUpload = KnownOptions.of<TransferOptions>({ chunkSize: true, inFlight: true, offset: true })

/** Checked options. */
interface Plan {
  readonly chunkBytes: number
  readonly inFlight: number
  readonly offset: number
}

const planOf = (
  operation: string,
  buffer: BufferLike.BufferLike,
  options: TransferOptions | undefined,
  device: DeviceInfo
): Plan => {
  valid(BufferLike.problem(operation, buffer, device))
  const { chunkSize = "4 MiB", inFlight = 2, offset = 0 } = options ?? {}
  valid(BufferRange.offsetProblem(operation, buffer, offset, BufferRange.portableAlignment))
  const chunkBytes = valid(MemoryLimit.resolve(operation, "chunkSize", { bytes: chunkSize }, device) ?? Infinity)
  if (chunkBytes === 0 || chunkBytes % 4 !== 0) {
    throw invalidRequest(
      operation,
      `chunkSize ${shown(chunkSize)} is no multiple of 4 bytes`,
      `Pass bytes, as "1 MiB".`
    )
  }
  if (!Number.isInteger(inFlight) || inFlight < 1 || inFlight > 64) {
    throw invalidRequest(
      operation,
      `inFlight ${shown(inFlight)} is no whole number from 1 to 64`,
      "Pass 2, or leave it out."
    )
  }
  return { chunkBytes, inFlight, offset }
}

/** Bytes of the stream, and their place in the buffer. */
interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly offset: number
}

/** Fills chunks with the pieces of a stream. It copies them, since a stream may use the memory of a piece for the next one. */
class Chunks {
  readonly #chunkBytes: number
  #offset: number
  #chunk: Uint8Array<ArrayBuffer>
  #filled = 0

  constructor({ chunkBytes, offset }: Plan, room: number) {
    // The last chunk may be short, and so is the only one of a small buffer.
    this.#chunkBytes = Math.min(chunkBytes, Math.max(room, 4))
    this.#offset = offset
    this.#chunk = new Uint8Array(this.#chunkBytes)
  }

  /** The chunks that a piece completes, one at a time. */
  *add(piece: Uint8Array<ArrayBuffer>): Generator<Chunk> {
    for (let at = 0; at < piece.length;) {
      const part = piece.subarray(at, at + this.#chunkBytes - this.#filled)
      this.#chunk.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === this.#chunkBytes) yield this.#take()
    }
  }

  /** What is left at the end of the stream. */
  rest(): ReadonlyArray<Chunk> {
    return this.#filled === 0 ? [] : [this.#take()]
  }

  #take(): Chunk {
    const chunk = { bytes: this.#chunk.subarray(0, this.#filled), offset: this.#offset }
    this.#offset += this.#filled
    this.#filled = 0
    this.#chunk = new Uint8Array(this.#chunkBytes)
    return chunk
  }
}

/**
 * Writes a stream of bytes into a buffer, and returns how many there were. It completes when the device has all of them. The
 * stream's pieces may have any size; they are copied into chunks, and each chunk goes through staging memory. A chunk waits while
 * the staging pool has no memory for it.
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
  ): <E, R>(
    stream: Stream.Stream<HostData.HostData, E, R>
  ) => Effect.Effect<number, E | GpuError, R | CommandQueue | StagingPool.StagingPool>
  <E, R>(
    stream: Stream.Stream<HostData.HostData, E, R>,
    target: BufferLike.BufferLike,
    options?: TransferOptions
  ): Effect.Effect<number, E | GpuError, R | CommandQueue | StagingPool.StagingPool>
} = dual(
  (args) => satisfies(args[0], Stream.isStream),
  <E, R>(
    stream: Stream.Stream<HostData.HostData, E, R>,
    target: BufferLike.BufferLike,
    options?: TransferOptions
  ): Effect.Effect<number, E | GpuError, R | CommandQueue | StagingPool.StagingPool> =>
    CommandQueue.use((queue): Effect.Effect<number, E | GpuError, R | CommandQueue | StagingPool.StagingPool> => {
      const operation = "Transfers.upload"
      const plan = readValues(operation, () => {
        valid(optionsProblem(operation, options, knownOfUpload))
        return planOf(operation, target, options, queue.info)
      })
      if (isGpuError(plan)) return plan
      const chunks = Stream.flatMap(
        Stream.mapAccum(
          stream,
          () => new Chunks(plan, target.size - plan.offset),
          (filling, piece: HostData.HostData) => [filling, [completed(operation, filling, piece)]] as const,
          { onHalt: (filling) => [Stream.suspend(() => Stream.fromIterable(filling.rest()))] }
        ),
        (chunks: Stream.Stream<Chunk, GpuError>) => chunks
      )
      return Effect.scopedWith((scope) => {
        const sends = new InFlight<number>(plan.inFlight, scope)
        let sent = 0
        const joined = Effect.map(Effect.suspend(() => sends.join()), (bytes) => {
          sent += bytes
        })
        const all = Stream.runForEach(
          chunks,
          (chunk) => Effect.andThen(sends.isFull ? joined : Effect.void, sends.start(send(target, chunk)))
        )
        const rest = Effect.whileLoop({ while: () => !sends.isEmpty, body: () => joined, step: () => {} })
        return Effect.map(Effect.andThen(all, rest), () => sent)
      })
    })
)

/** The chunks that a piece completes, made as the device takes them. */
const completed = (
  operation: string,
  filling: Chunks,
  piece: HostData.HostData
): Stream.Stream<Chunk, GpuError> => {
  const bytes = readValues(operation, () => HostData.bytes(operation, piece, "a piece of the stream"))
  return isGpuError(bytes) ? Stream.fail(bytes) : Stream.fromIterable(filling.add(bytes), { chunkSize: 1 })
}

const send = (
  target: BufferLike.BufferLike,
  { bytes, offset }: Chunk
): Effect.Effect<number, GpuError, CommandQueue | StagingPool.StagingPool> =>
  StagingPool.use(bytes.length, Uint8Array, (array) => {
    array.data.set(bytes)
    return Effect.as(StagingPool.upload(array, target, { offset }), bytes.length)
  }, { onExhausted: "wait", label: "upload" })

/**
 * The bytes of a buffer as a stream of chunks, in order. The next chunks are read while a consumer works on one; a slow consumer
 * stops the reads. Each chunk has what was recorded before its read begins: change the buffer after the stream has ended.
 *
 * Fails with InvalidRequest for bounds and alignment (as of `CommandQueue.read`), Released, ForeignDevice, DeviceLost, OutOfMemory
 * or DriverError.
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
  ): (
    source: BufferLike.BufferLike
  ) => Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, CommandQueue | StagingPool.StagingPool>
  (
    source: BufferLike.BufferLike,
    options?: DownloadOptions
  ): Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, CommandQueue | StagingPool.StagingPool>
} = dual(
  startsWithSubject,
  (
    source: BufferLike.BufferLike,
    options?: DownloadOptions
  ): Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, CommandQueue | StagingPool.StagingPool> =>
    Stream.unwrap(CommandQueue.use((queue) => {
      const operation = "Transfers.download"
      const plan = readValues(operation, () => {
        valid(optionsProblem(operation, options, known))
        const plan = planOf(operation, source, options, queue.info)
        const size = options?.size ?? source.size - plan.offset
        valid(BufferRange.lengthProblem(operation, source, plan.offset, size, BufferRange.portableAlignment))
        return { ...plan, size }
      })
      return isGpuError(plan) ? plan : Effect.succeed(readsOf(queue, source, plan))
    }))
)

const readsOf = (
  queue: CommandQueue["Service"],
  source: BufferLike.BufferLike,
  { chunkBytes, inFlight, offset, size }: Plan & { readonly size: number }
): Stream.Stream<Uint8Array<ArrayBuffer>, GpuError, StagingPool.StagingPool> =>
  Stream.unwrap(Effect.map(Effect.scope, (scope) => {
    const reads = new InFlight<Uint8Array<ArrayBuffer>>(inFlight, scope)
    let at = 0
    const ahead = Effect.whileLoop({
      while: () => at < size && !reads.isFull,
      body: () => {
        const length = Math.min(chunkBytes, size - at)
        const from = offset + at
        at += length
        return reads.start(queue.read<Uint8Array<ArrayBuffer>>(source, Uint8Array, { offset: from, length }))
      },
      step: () => {}
    })
    return Stream.unfold(
      undefined,
      () =>
        Effect.flatMap(
          ahead,
          () => reads.isEmpty ? Effect.undefined : Effect.map(reads.join(), (bytes) => [bytes, undefined] as const)
        )
    )
  }))

/**
 * Effects on fibers of their own, at most so many at a time, which are joined in order. They end with the scope. Concurrent
 * `Stream.mapEffect` would do the same, and hangs when it is interrupted at certain steps (Effect 4.1).
 */
class InFlight<A> {
  readonly #most: number
  readonly #scope: Scope.Scope
  readonly #running: Array<Fiber.Fiber<A, GpuError>> = []

  constructor(most: number, scope: Scope.Scope) {
    this.#most = most
    this.#scope = scope
  }

  get isFull(): boolean {
    return this.#running.length >= this.#most
  }

  get isEmpty(): boolean {
    return this.#running.length === 0
  }

  start<R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<void, never, R> {
    return Effect.map(Effect.forkIn(effect, this.#scope), (fiber) => {
      this.#running.push(fiber)
    })
  }

  /** Waits for the first of those under way, of which there is one. */
  join(): Effect.Effect<A, GpuError> {
    return Fiber.join(this.#running.shift()!)
  }
}
