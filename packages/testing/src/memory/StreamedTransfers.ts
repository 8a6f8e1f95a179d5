/**
 * Streams to and from buffers: every byte arrives once and in its place, few chunks are under way, and nothing is left
 * however a stream ends.
 *
 * @internal
 */
import { BufferPool, CommandQueue, StagingPool, Transfers } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectNoFailure, interruptedAt, interruptedAtEach } from "../pool/Interruption.ts"
import { written } from "../pool/Leases.ts"
import { wrong } from "./WrongValues.ts"

const test = inGroup("streamed transfers")

type Services = TestServices | StagingPool.StagingPool

const staged = <A, E>(
  program: Effect.Effect<A, E, Services>,
  options?: StagingPool.StagingPoolOptions
): Effect.Effect<A, E | GpuError, TestServices> =>
  Effect.flatMap(Layer.build(StagingPool.layer(options)), (context) => Effect.provide(Effect.scoped(program), context))

const counted = (bytes: number): Uint8Array<ArrayBuffer> => Uint8Array.from({ length: bytes }, (_, at) => at % 251)

/** Pieces of these lengths, in rotation, all in the same memory: a stream may reuse it. */
const pieces = (bytes: number, lengths: ReadonlyArray<number>): Stream.Stream<Uint8Array<ArrayBuffer>> => {
  const source = counted(bytes)
  const memory = new Uint8Array(Math.max(...lengths))
  return Stream.unfold([0, 0] as readonly [number, number], ([at, turn]) => {
    const length = Math.min(lengths[turn % lengths.length]!, bytes - at)
    if (at >= bytes) return Effect.succeed(undefined)
    memory.fill(0)
    memory.set(source.subarray(at, at + length))
    return Effect.succeed([memory.subarray(0, length), [at + length, turn + 1]] as const)
  })
}

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(chunks.flatMap((chunk) => [...chunk]))

const bothWays = Effect.gen(function*() {
  for (const lengths of [[1], [7, 64, 3], [1000], [0, 5]]) {
    const x = yield* written(new Uint8Array(508).fill(255))
    const sent = yield* Transfers.upload(pieces(500, lengths), x, { chunkSize: 64, offset: 4, inFlight: 3 })
    Expect.equal("bytes", sent, 500)
    const found = yield* CommandQueue.read(x, Uint8Array)
    Expect.numbers("the stream", found.subarray(4, 504), counted(500))
    Expect.numbers("around it", [...found.subarray(0, 4), ...found.subarray(504)] as never, new Uint8Array(8).fill(255))
    const chunks = yield* Stream.runCollect(Transfers.download(x, { chunkSize: 48, offset: 4, size: 500, inFlight: 3 }))
    Expect.same("lengths", chunks.map((chunk) => chunk.length), [...Array.from({ length: 10 }, () => 48), 20])
    Expect.numbers("what comes back", joined(chunks), counted(500))
  }
})

const small = Effect.gen(function*() {
  const x = yield* written(counted(10))
  Expect.equal("bytes of no stream", yield* Transfers.upload(Stream.empty, x), 0)
  Expect.equal("bytes to the end", yield* Transfers.upload(Stream.make(Uint8Array.of(9, 9)), x, { offset: 8 }), 2)
  const chunks = yield* Stream.runCollect(Transfers.download(x))
  Expect.same("one chunk", chunks.map((chunk) => [...chunk]), [[0, 1, 2, 3, 4, 5, 6, 7, 9, 9]])
  const empty = yield* BufferPool.allocate(0)
  Expect.same("no chunks", yield* Stream.runCollect(Transfers.download(empty)), [])
  Expect.equal("bytes of an empty buffer", yield* Transfers.upload(Stream.empty, empty), 0)
})

/** The pool has room for two chunks, and the stream is far longer. */
const bounded = Effect.gen(function*() {
  const bytes = 64 * (yield* scaled(64, 8))
  const x = yield* BufferPool.allocate(bytes)
  yield* Transfers.upload(pieces(bytes, [50]), x, { chunkSize: 64, inFlight: 8 })
  yield* Stream.runDrain(Transfers.download(x, { chunkSize: 64, inFlight: 8 }))
  const { peakManagedBytes } = yield* StagingPool.stats
  Expect.isTrue(`${peakManagedBytes} bytes of staging memory at most`, peakManagedBytes <= 128)
  Expect.numbers("all bytes", yield* CommandQueue.read(x, Uint8Array), counted(bytes))
})

/** A read and an upload share the memory of one chunk: neither keeps it while it waits for the other. */
const bufferToBuffer = Effect.gen(function*() {
  const x = yield* written(counted(100))
  const y = yield* BufferPool.allocate(100)
  const there = Transfers.download(x, { chunkSize: 12, inFlight: 4 })
  Expect.equal("bytes", yield* Transfers.upload(there, y, { chunkSize: 16, inFlight: 4 }), 100)
  Expect.numbers("all bytes", yield* CommandQueue.read(y, Uint8Array), counted(100))
})

/** An upload whose first chunk waits for staging memory pulls only few pieces. */
const waitingStream = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(4096)
  let pulled = 0
  const stream = Stream.map(Stream.range(0, 63, 1), () => {
    pulled++
    return new Uint8Array(64)
  })
  yield* StagingPool.use(64, Uint8Array, () =>
    Effect.gen(function*() {
      const upload = Transfers.upload(stream, x, { chunkSize: 64, inFlight: 2 })
      expectNoFailure("an upload that waits", yield* interruptedAt(upload, 5000))
      Expect.isTrue(`${pulled} pieces were taken while none could go`, pulled <= 8)
    }))
})

const failures = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const tooLong = Transfers.upload(pieces(96, [16]), x, { chunkSize: 32 })
  yield* Expect.refused("more bytes than there is room for", tooLong)
  const early = yield* Effect.flip(Transfers.upload(Stream.forever(pieces(96, [96])), x, { chunkSize: 32, offset: 4 }))
  Expect.isTrue(early.message, early.message.includes("more bytes than the 60 of the buffer from 4 on"))
  const own = Stream.concat(Stream.make(new Uint8Array(32)), Stream.fail("enough"))
  Expect.equal("the stream's own", String(yield* Effect.flip(Transfers.upload(own, x, { chunkSize: 16 }))), "enough")
  const { activeBlocks } = yield* StagingPool.stats
  Expect.equal("leased after the failures", activeBlocks, 0)
  const options = [
    { chunkSize: 0 },
    { chunkSize: 6 },
    { inFlight: 0 },
    { inFlight: 1.5 },
    { inFlight: 65 },
    { inFlight: NaN },
    { offset: 2 },
    { offset: 128 }
  ]
  for (const option of options) {
    const named = JSON.stringify(option)
    const { message } = yield* Effect.flip(Transfers.upload(Stream.empty, x, option))
    Expect.isTrue(`${named}: ${message}`, Object.keys(option).every((name) => message.includes(name)))
    yield* Expect.refused(named, Transfers.upload(Stream.empty, x, option))
    yield* Expect.refused(named, Stream.runDrain(Transfers.download(x, option)))
  }
})

/** A stream that changes a piece when the next one is pulled, and one that transfers the piece away at once. */
const borrowedPieces = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const views = [
    new Float64Array(4),
    new DataView(new ArrayBuffer(24), 8, 12),
    new Uint16Array(new ArrayBuffer(10), 2, 2)
  ]
  const of = (byte: number) =>
    Stream.map(Stream.fromIterable(views, { chunkSize: 2 }), (view) => {
      new Uint8Array(view.buffer).fill(99)
      new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(byte)
      return view
    })
  Expect.equal("bytes of views", yield* Transfers.upload(of(5), x, { chunkSize: 20 }), 48)
  const found = yield* CommandQueue.read(x, Uint8Array, { length: 48 })
  Expect.numbers("the views", found, new Uint8Array(48).fill(5))
  const gone = Stream.map(Stream.make(new Uint8Array(64)), (piece) => {
    structuredClone(piece, { transfer: [piece.buffer] })
    return piece
  })
  yield* Expect.refused("a piece without memory", Transfers.upload(gone, x))
  for (const piece of [(memory: ArrayBuffer) => memory, (memory: ArrayBuffer) => new Uint8Array(memory)]) {
    const memory = resizable(96)
    const through = Transfers.through(
      Stream.make(piece(memory)),
      (_, offset) => Effect.sync(() => offset === 0 ? memory.resize(48) : undefined),
      { chunkSize: 32, inFlight: 1 }
    )
    const shrunk = yield* Effect.flip(Stream.runDrain(through))
    Expect.isTrue(shrunk.message, shrunk.message.includes("has changed its length"))
  }
})

/** ES2024 has it; the library's target does not. */
interface Resizable extends ArrayBuffer {
  readonly resize: (bytes: number) => undefined
}

const resizable = (bytes: number): Resizable =>
  Reflect.construct(ArrayBuffer, [bytes, { maxByteLength: bytes }]) as Resizable

/** Streams that emit several pieces at once, each with its own memory. */
const severalAtOnce = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(48)
  const together = Stream.map(Stream.range(1, 12), (n) => new Uint8Array(4).fill(n))
  yield* Transfers.upload(together, x, { chunkSize: 16 })
  const expected = Uint8Array.from({ length: 48 }, (_, at) => 1 + Math.floor(at / 4))
  Expect.numbers("pieces that come together", yield* CommandQueue.read(x, Uint8Array), expected)
  const memory = new Uint8Array(4)
  const again = Stream.map(Stream.rechunk(Stream.range(1, 12), 1), (n) => memory.fill(n))
  yield* Transfers.upload(again, x, { chunkSize: 16 })
  Expect.numbers("pieces in one memory, one by one", yield* CommandQueue.read(x, Uint8Array), expected)
})

/** The default chunks of 4 MiB would be larger than the pool. */
const boundByPool = Effect.gen(function*() {
  const x = yield* written(counted(500))
  yield* Transfers.upload(pieces(500, [100]), x)
  Expect.numbers("what comes back", joined(yield* Stream.runCollect(Transfers.download(x))), counted(500))
  const { peakManagedBytes } = yield* StagingPool.stats
  Expect.isTrue(`${peakManagedBytes} bytes of staging memory at most`, peakManagedBytes <= 64)
  const named = yield* Effect.flip(Transfers.upload(pieces(500, [100]), x, { chunkSize: 128 }))
  yield* Expect.failsWith("larger than the pool", Effect.fail(named), "LimitExceeded")
})

const asSink = Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const into = Transfers.sink(x, { chunkSize: 16 })
  for (const turn of [1, 2]) {
    const stream = Stream.map(pieces(64, [10]), (piece) => piece.map((byte) => byte * turn))
    Expect.equal("bytes", yield* Stream.run(stream, into), 64)
    Expect.numbers("the stream", yield* CommandQueue.read(x, Uint8Array), counted(64).map((byte) => byte * turn))
  }
  const own = Stream.concat(pieces(32, [16]), Stream.fail("enough"))
  Expect.equal("the stream's failure", String(yield* Effect.flip(Stream.run(own, into))), "enough")
  yield* Expect.refused("its own", Stream.run(pieces(96, [16]), into))
  const offset = yield* Effect.flip(Stream.run(Stream.empty, Transfers.sink(x, { offset: 2 })))
  Expect.isTrue(offset.message, offset.message.includes("Transfers.sink"))
})

/** Adds 1 to each number of a chunk, in another buffer. */
const addOne = (chunk: PooledBuffer) =>
  Effect.gen(function*() {
    const sums = yield* BufferPool.allocate(chunk.size)
    yield* CommandQueue.dispatch(Kernels.addTo, { x: chunk, y: sums, a: 1 }, chunk.size / 4)
    return sums
  })

/** Writes a chunk's offset and its bytes to another buffer. */
const elsewhere = (chunk: PooledBuffer, offset: number) =>
  Effect.gen(function*() {
    const end = yield* BufferPool.allocate(8)
    yield* CommandQueue.fill(end, Uint32Array.of(offset, chunk.size))
    return end
  })

const words = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer)

const throughKernels = Effect.gen(function*() {
  const source = counted(500)
  const expected = words(source).map((word) => word + 1)
  for (const [lengths, inFlight] of [[[1], 1], [[7, 64, 3], 2], [[1000], 3]] as const) {
    const chunks = yield* pieces(500, lengths).pipe(
      Transfers.through(addOne, { chunkSize: 48, inFlight }),
      Stream.runCollect
    )
    Expect.same("lengths", chunks.map((chunk) => chunk.length), [...Array.from({ length: 10 }, () => 48), 20])
    Expect.numbers("every number and one", words(joined(chunks)), expected)
  }
  const ends = yield* Stream.runCollect(Transfers.through(pieces(42, [5]), elsewhere, { chunkSize: 16, reserve: 64 }))
  Expect.same("another buffer", ends.map((end) => [...words(end)]), [[0, 16], [16, 16], [32, 10]])
  const odd = yield* Stream.runCollect(Transfers.through(pieces(7, [3]), () => Effect.void, { chunkSize: 4 }))
  Expect.numbers("an odd number of bytes", joined(odd), counted(7))
  Expect.same("no chunks", yield* Stream.runCollect(Transfers.through(Stream.empty, addOne)), [])
  const { activeBlocks } = yield* BufferPool.stats
  Expect.equal("leased afterwards", activeBlocks, 0)
})

/** The consumer pulls nothing: the stream is pulled for the chunks in flight, and for one more. */
const throughWaits = Effect.gen(function*() {
  let pulled = 0
  const stream = Stream.map(Stream.range(0, 63, 1), () => {
    pulled++
    return new Uint8Array(64)
  })
  const first = yield* Stream.runHead(Transfers.through(stream, () => Effect.void, { chunkSize: 64, inFlight: 3 }))
  Expect.isTrue("a chunk", first._tag === "Some")
  Expect.isTrue(`${pulled} pieces were taken`, pulled <= 6)
  let left = 10
  const slow = Transfers.through(pieces(640, [64]), () => Effect.void, { chunkSize: 64, inFlight: 3 })
  yield* Stream.runForEach(slow, () => Effect.sync(() => left--))
  Expect.equal("chunks left", left, 0)
  const { activeBlocks } = yield* BufferPool.stats
  Expect.equal("leased afterwards", activeBlocks, 0)
})

/** Fails for the third chunk of 16 bytes. */
const third = (_: PooledBuffer, offset: number) => offset === 32 ? Effect.fail("no more") : Effect.void

/** The chunks before a failure are in the stream, whatever fails, and the program's stream has ended too. */
const throughFails = Effect.gen(function*() {
  let closed = 0
  const closing = <E>(stream: Stream.Stream<Uint8Array<ArrayBuffer>, E>) =>
    Stream.unwrap(Effect.gen(function*() {
      yield* Effect.acquireRelease(Effect.void, () => Effect.sync(() => closed++))
      return stream
    }))
  const attempt = <E>(
    stream: Stream.Stream<Uint8Array<ArrayBuffer>, E>,
    f: (chunk: PooledBuffer, offset: number) => Effect.Effect<void, string>
  ) =>
    Effect.gen(function*() {
      let chunks = 0
      const error = yield* closing(stream).pipe(
        Transfers.through(f, { chunkSize: 16 }),
        Stream.runForEach(() => Effect.sync(() => chunks++)),
        Effect.flip
      )
      return [error instanceof GpuError ? error.reason._tag : error, chunks]
    })
  const own = Stream.concat(pieces(40, [8]), Stream.fail("enough"))
  Expect.same("the stream's", yield* attempt(own, () => Effect.void), ["enough", 2])
  Expect.same("the function's", yield* attempt(pieces(640, [100]), third), ["no more", 2])
  const noBytes = Stream.concat(pieces(16, [16]), Stream.make(wrong<Uint8Array<ArrayBuffer>>(7)))
  Expect.same("no bytes", yield* attempt(noBytes, () => Effect.void), ["InvalidRequest", 1])
  Expect.equal("streams that were closed", closed, 3)
  for (const option of [{ chunkSize: 6 }, { inFlight: 0 }, { reserve: -1 }]) {
    const run = Stream.runDrain(Transfers.through(Stream.empty, () => Effect.void, wrong(option)))
    yield* Expect.refused(JSON.stringify(option), run)
  }
  const { activeBlocks } = yield* BufferPool.stats
  Expect.equal("leased afterwards", activeBlocks, 0)
})

const interrupted = Effect.gen(function*() {
  const x = yield* written(counted(128))
  const there = Transfers.upload(pieces(128, [24]), x, { chunkSize: 32 })
  const back = Stream.runDrain(Transfers.download(x, { chunkSize: 32 }))
  const steps = yield* scaled(120, 20)
  const through = Stream.runDrain(Transfers.through(pieces(128, [24]), addOne, { chunkSize: 32 }))
  for (const program of [there, back, through]) {
    yield* interruptedAtEach(
      "a stream",
      steps,
      () => program,
      (step) =>
        Effect.map(
          Effect.all([StagingPool.stats, BufferPool.stats]),
          (stats) => Expect.same(`leased after step ${step}`, stats.map(({ activeBlocks }) => activeBlocks), [0, 1])
        )
    )
  }
  Expect.equal("a whole upload", yield* there, 128)
  Expect.numbers("its bytes", yield* CommandQueue.read(x, Uint8Array), counted(128))
})

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  test("every byte arrives once, in its place and in order", staged(bothWays)),
  test("short, empty and odd ends are as good as others", staged(small)),
  test("a stream passes through memory for two chunks", staged(bounded, { maxBytes: 128, onExhausted: "wait" })),
  test(
    "a stream goes from buffer to buffer through memory for one chunk",
    staged(bufferToBuffer, { maxBytes: 16, onExhausted: "wait" })
  ),
  test(
    "a stream waits while the device takes nothing",
    staged(waitingStream, { maxBytes: 64, deadlockTimeout: "1 hour" })
  ),
  test("pieces are any views, and are copied before the next one is made", staged(borrowedPieces)),
  test("pieces that come together have memory of their own, or come one by one", staged(severalAtOnce)),
  test(
    "chunks are as large as the pool has room for, unless they are told",
    staged(boundByPool, { maxBytes: 64, onExhausted: "wait" })
  ),
  test("a buffer is a sink, as often as one likes", staged(asSink)),
  test("a stream comes through kernels in order, in chunks that may be short at the end", staged(throughKernels)),
  test("a stream through a kernel waits for its consumer", staged(throughWaits)),
  test("a stream through a kernel ends as the stream or the function fails", staged(throughFails)),
  test("failures are those of the stream, or say what is wrong", staged(failures)),
  test("an interruption at any step leaves no memory behind", { interrupts: true }, staged(interrupted))
]
