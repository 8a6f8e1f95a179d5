/**
 * Masks a file: each word of it is combined with a number that depends on its place and on a key. Masking it again
 * restores the file. The file may be far larger than the memory of the pools, since only a few chunks of it are on the
 * device at a time.
 */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { Data, Effect, FileSystem, Stream } from "effect"
import { CommandQueue, KernelArgument, Transfers } from "effect-gpu-pool"
import { createHash, type Hash } from "node:crypto"

export interface MaskOptions {
  readonly from: string
  readonly to: string
  /** Any whole number below 2^32. */
  readonly key: number
  /** Bytes, a multiple of 4. */
  readonly chunkSize: number
  readonly inFlight: number
}

export class WrongChecksum extends Data.TaggedError("WrongChecksum")<{
  readonly file: string
  readonly expected: string
  readonly found: string
}> {
  override get message(): string {
    return `${this.file} has the checksum ${this.found}, and should have ${this.expected}`
  }
}

/** Chris Wellons' lowbias32. */
const mixed = (number: Expr.Expr<"u32">): Expr.Expr<"u32"> => {
  const first = Expr.multiply(Expr.bitwiseXor(number, Expr.rightShift(number, 16)), 0x7feb352d)
  const second = Expr.multiply(Expr.bitwiseXor(first, Expr.rightShift(first, 15)), 0x846ca68b)
  return Expr.bitwiseXor(second, Expr.rightShift(second, 16))
}

const maskWords = ElementwiseKernel.make({
  name: "mask_words",
  args: [
    KernelArgument.VectorArg("u32", "words"),
    KernelArgument.ScalarArg("u32", "start"),
    KernelArgument.ScalarArg("u32", "key")
  ],
  outputs: ({ key, start, words }) => ({
    words: Expr.bitwiseXor(words, mixed(Expr.bitwiseXor(Expr.add(start, Expr.index), key)))
  })
})

/** The same on the processor, for the checksum. */
const mixedHere = (number: number): number => {
  const first = Math.imul(number ^ (number >>> 16), 0x7feb352d)
  const second = Math.imul(first ^ (first >>> 15), 0x846ca68b)
  return second ^ (second >>> 16)
}

/** Masks the bytes of a file from a place on. Bytes after the last whole word stay as they are. */
const maskedHere = (bytes: Uint8Array, place: number, key: number, end: number): Uint8Array => {
  // Node's Buffer has a slice that is no copy.
  const masked = new Uint8Array(bytes)
  const last = Math.min(bytes.length, end - place)
  let byte = place % 4
  let word = (place - byte) / 4
  let mask = mixedHere(word ^ key) >>> (8 * byte)
  for (let at = 0; at < last; at++) {
    masked[at]! ^= mask
    mask >>>= 8
    byte += 1
    if (byte < 4) continue
    byte = 0
    word += 1
    mask = mixedHere(word ^ key)
  }
  return masked
}

const checksumOf = Effect.fnUntraced(function*(file: string, chunkSize: number) {
  const fs = yield* FileSystem.FileSystem
  const hash = createHash("sha256")
  yield* Stream.runForEach(fs.stream(file, { chunkSize }), (piece) => Effect.sync(() => hash.update(piece)))
  return hash.digest("hex")
})

/** Adds the expected result of each piece of a stream to a checksum. */
const expecting = (hash: Hash, key: number, end: number) => {
  let place = 0
  return (piece: Uint8Array) =>
    Effect.sync(() => {
      hash.update(maskedHere(piece, place, key, end))
      place += piece.length
    })
}

/**
 * Masks a file, reads the result again to verify it, and returns its checksum. `advance` is called with the number of
 * bytes that are done.
 */
export const mask = Effect.fn("Mask.mask")(function*(
  { chunkSize, from, inFlight, key, to }: MaskOptions,
  advance: (bytes: number) => Effect.Effect<void>
) {
  const fs = yield* FileSystem.FileSystem
  const size = Number((yield* fs.stat(from)).size)
  const hash = createHash("sha256")
  yield* fs.stream(from, { chunkSize }).pipe(
    Stream.tap(expecting(hash, key, size - size % 4)),
    Transfers.through(
      (chunk, offset) =>
        CommandQueue.dispatch(maskWords, { words: chunk, start: offset / 4, key }, Math.floor(chunk.size / 4)),
      { chunkSize, inFlight }
    ),
    Stream.tap((chunk) => advance(chunk.length)),
    Stream.run(fs.sink(to))
  )
  const expected = hash.digest("hex")
  const found = yield* checksumOf(to, chunkSize)
  if (found !== expected) return yield* new WrongChecksum({ file: to, expected, found })
  return found
})

/** Writes a file of so many bytes that look random. */
export const makeFile = Effect.fn("Mask.makeFile")(function*(file: string, bytes: number) {
  const fs = yield* FileSystem.FileSystem
  const piece = maskedHere(new Uint8Array(2 ** 20), 0, 1, 2 ** 20)
  const pieces = Stream.unfold(0, (at) =>
    Effect.succeed(
      at < bytes ? [piece.subarray(0, Math.min(piece.length, bytes - at)), at + piece.length] as const : undefined
    ))
  yield* Stream.run(pieces, fs.sink(file))
})
