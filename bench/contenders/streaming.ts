/**
 * Streams to, from and through a device, against one transfer of all bytes, turn by turn. Then a stream alone, through pools
 * whose limit is far below its bytes.
 */
import { Effect, Layer, Schema, Stream } from "effect"
import { BufferPool, CommandQueue, DeviceMemory, StagingPool, Transfers } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

const rounds = { warmUp: 1, measured: 5 }

const millis = <A, E, R>(transfer: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const from = performance.now()
    yield* transfer
    return performance.now() - from
  })

interface Input {
  readonly bytes: number
  readonly chunkBytes: number
  readonly inFlight: number
  readonly limit: number
}

/** Pieces of the size of a chunk, as a file is read. */
const pieces = ({ bytes, chunkBytes }: Input) => {
  const piece = new Uint8Array(chunkBytes).fill(3)
  return Stream.map(Stream.range(1, bytes / chunkBytes, 1), () => piece)
}

/** Marks each chunk, so that a missing one would be noticed. */
const mark = (chunk: BufferPool.PooledBuffer, offset: number) => CommandQueue.fill(chunk, offset, { size: 4 })

const streamedThrough = (input: Input) =>
  pieces(input).pipe(
    Transfers.through(mark, { chunkSize: input.chunkBytes, inFlight: input.inFlight }),
    Stream.runFold(() => 0, (offset, chunk) => {
      if (new Uint32Array(chunk.buffer)[0] !== offset) throw new Error("a chunk is not where it was")
      return offset + chunk.length
    })
  )

/** Compares the rates: a single transfer needs a buffer of all bytes. */
const rates = Effect.fnUntraced(function*(input: Input) {
  const { bytes, chunkBytes: chunkSize, inFlight } = input
  const x = yield* BufferPool.allocate(bytes)
  const data = new Uint8Array(bytes).fill(3)
  const round = Effect.all({
    write: millis(Effect.andThen(CommandQueue.write(x, data), CommandQueue.finish)),
    upload: millis(Transfers.upload(pieces(input), x, { chunkSize, inFlight })),
    read: millis(CommandQueue.read(x, Uint8Array)),
    download: millis(Stream.runDrain(Transfers.download(x, { chunkSize, inFlight }))),
    both: millis(Effect.andThen(CommandQueue.write(x, data), CommandQueue.read(x, Uint8Array))),
    through: millis(streamedThrough(input))
  })
  yield* Effect.replicateEffect(round, rounds.warmUp)
  return yield* Effect.replicateEffect(round, rounds.measured)
})

const peak = (input: Input) =>
  Effect.gen(function*() {
    const before = process.memoryUsage.rss()
    yield* streamedThrough(input)
    const { peakManagedBytes } = yield* DeviceMemory.stats
    return { managed: peakManagedBytes, grown: process.resourceUsage().maxRSS * 1024 - before }
  }).pipe(
    Effect.provide(
      Layer.merge(BufferPool.layerShared(), StagingPool.layerShared()).pipe(
        Layer.provideMerge(DeviceMemory.layer({ maxBytes: input.limit }))
      )
    )
  )

const Millis = Schema.Finite

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({
    backend: Backend.Name,
    bytes: Schema.Int,
    chunkBytes: Schema.Int,
    inFlight: Schema.Int,
    limit: Schema.Int
  }),
  figures: Schema.Struct({
    rounds: Schema.Array(
      Schema.Struct({
        write: Millis,
        upload: Millis,
        read: Millis,
        download: Millis,
        both: Millis,
        through: Millis
      })
    ),
    peak: Schema.Struct({ managed: Schema.Int, grown: Schema.Int })
  }),
  measure: ({ backend, ...input }) =>
    Effect.gen(function*() {
      // First, while the process has not yet had the large arrays.
      const highest = yield* peak(input)
      const staging = StagingPool.layer({ maxBytes: input.limit, onExhausted: "wait" })
      const measured = yield* Effect.scoped(rates(input)).pipe(Effect.provide(Layer.merge(BufferPool.layer(), staging)))
      return { rounds: measured, peak: highest }
    }).pipe(Effect.provide(Backend.layers[backend]))
})

if (import.meta.main) Contender.main(contender)
