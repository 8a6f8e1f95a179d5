/**
 * Streams to and from buffers: every byte arrives once and in its place, few chunks are under way, and any end leaves nothing.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { GpuError } from "../../domain/GpuError.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import * as CommandQueue from "../../services/queue/CommandQueue.ts"
import * as StagingPool from "../../services/staging/StagingPool.ts"
import * as Transfers from "../../services/staging/Transfers.ts"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectNoFailure, interruptedAt } from "../pool/Interruption.ts"
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

/** Pieces of these lengths, over and over, each in the same memory: a stream may use it again. */
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

/** No memory comes back for the first chunk until enough of the stream was asked for, or it stays so. */
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
  yield* Expect.failsWith("more bytes than there is room for", tooLong, "InvalidRequest")
  yield* Expect.failsWith("no bytes", Transfers.upload(Stream.make(wrong<Uint8Array>("x")), x), "InvalidRequest")
  const own = Stream.concat(Stream.make(new Uint8Array(32)), Stream.fail("enough"))
  Expect.equal("the stream's own", String(yield* Effect.flip(Transfers.upload(own, x, { chunkSize: 16 }))), "enough")
  const { activeBlocks } = yield* StagingPool.stats
  Expect.equal("leased after the failures", activeBlocks, 0)
  const options = [
    { chunkSize: 0 },
    { chunkSize: 6 },
    { chunkSize: "x" },
    { inFlight: 0 },
    { inFlight: 1.5 },
    {
      inFlight: 65
    },
    { offset: 2 },
    { offset: 128 },
    { wrong: 1 }
  ]
  for (const option of options) {
    const named = JSON.stringify(option)
    yield* Expect.failsWith(named, Transfers.upload(Stream.empty, x, wrong(option)), "InvalidRequest")
    yield* Expect.failsWith(named, Stream.runDrain(Transfers.download(x, wrong(option))), "InvalidRequest")
  }
  yield* Expect.failsWith("no buffer", Stream.runDrain(Transfers.download(wrong<never>(7), {})), "InvalidRequest")
})

const interrupted = Effect.gen(function*() {
  const x = yield* written(counted(128))
  const there = Transfers.upload(pieces(128, [24]), x, { chunkSize: 32 })
  const back = Stream.runDrain(Transfers.download(x, { chunkSize: 32 }))
  const steps = yield* scaled(120, 20)
  for (const program of [there, back]) {
    for (let step = 0; step < steps; step++) {
      expectNoFailure(`interrupted at step ${step}`, yield* interruptedAt(program, step))
      Expect.equal(`leased after step ${step}`, (yield* StagingPool.stats).activeBlocks, 0)
    }
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
    "a stream waits while the device takes nothing",
    staged(waitingStream, { maxBytes: 64, suspectAfter: "1 hour" })
  ),
  test("failures are those of the stream, or say what is wrong", staged(failures)),
  test("an interruption at any step leaves no memory behind", staged(interrupted))
]
