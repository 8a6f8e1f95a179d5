/**
 * The pieces of a stream, which may have any size, as chunks of one size.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import { attempt, valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as HostData from "../../domain/data/HostData.ts"
import { type GpuError, invalidRequest, isGpuError, outOfMemory } from "../../domain/GpuError.ts"

type Bytes = Uint8Array<ArrayBuffer>

/**
 * Bytes of a stream, in one part or several. They are valid until the next chunk is pulled: a stream may reuse the
 * memory of its pieces, and the bytes kept from earlier pieces are reused too.
 */
export class Chunk {
  readonly #parts: ReadonlyArray<readonly [part: Bytes, length: number]>
  /** Bytes. */
  readonly size: number
  /** How many bytes of the stream were before it. */
  readonly offset: number

  constructor(parts: ReadonlyArray<Bytes>, size: number, offset: number) {
    this.#parts = parts.map((part) => [part, part.length])
    this.size = size
    this.offset = offset
  }

  /** Copies the bytes. The program may have transferred or resized the memory of a piece meanwhile. */
  copyTo(operation: string, target: Bytes): GpuError | undefined {
    let at = 0
    for (const [part, length] of this.#parts) {
      if (part.length !== length) return changed(operation)
      target.set(part, at)
      at += length
    }
    return undefined
  }
}

const changed = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "a piece of the stream has changed its length, or was transferred, while it was copied",
    "Leave the memory of a piece alone until the stream is asked for the next one."
  )

/**
 * Cuts pieces into chunks. The rest of a piece that fills no chunk is kept for the next piece; all else is copied from
 * the piece itself.
 */
class Chunks {
  readonly #operation: string
  readonly #chunkBytes: number
  #kept: Bytes = new Uint8Array(0)
  #keptBytes = 0
  #offset = 0

  constructor(operation: string, chunkBytes: number) {
    this.#operation = operation
    this.#chunkBytes = chunkBytes
  }

  /** The chunks that a piece completes, one at a time. */
  *add(piece: HostData.HostData): Generator<Chunk, void> {
    const bytes = valid(HostData.bytes(this.#operation, piece, "piece of the stream"))
    const { length } = bytes
    let at = 0
    while (this.#keptBytes + length - at >= this.#chunkBytes) {
      const part = bytes.subarray(at, at + this.#chunkBytes - this.#keptBytes)
      at += part.length
      yield this.#take(part)
      // The program ran meanwhile, and may have resized the memory or transferred it.
      if (bytes.length !== length) throw changed(this.#operation)
    }
    this.#keep(bytes.subarray(at))
  }

  /** What is left at the end of the stream. */
  *rest(): Generator<Chunk, void> {
    if (this.#keptBytes > 0) yield this.#take(new Uint8Array(0))
  }

  #take(part: Bytes): Chunk {
    const size = this.#keptBytes + part.length
    const parts = this.#keptBytes === 0 ? [part] : [this.#kept.subarray(0, this.#keptBytes), part]
    const chunk = new Chunk(parts, size, this.#offset)
    this.#offset += size
    this.#keptBytes = 0
    return chunk
  }

  #keep(bytes: Bytes): void {
    const size = this.#keptBytes + bytes.length
    if (size > this.#kept.length) this.#grow(size)
    this.#kept.set(bytes, this.#keptBytes)
    this.#keptBytes = size
  }

  /** A short stream has no memory for a whole chunk. */
  #grow(least: number): void {
    const size = Math.min(this.#chunkBytes, Math.max(least, 2 * this.#kept.length))
    const memory = HostData.allocate(size)
    if (memory === undefined) throw outOfMemory(size)
    const grown = new Uint8Array(memory)
    grown.set(this.#kept.subarray(0, this.#keptBytes))
    this.#kept = grown
  }
}

/** Does something with each chunk of a stream, one after the other, and fails as the stream does. */
export const forEach = <E, R, E2, R2>(
  operation: string,
  pieces: Pull.Pull<ReadonlyArray<HostData.HostData>, E, void, R>,
  chunkBytes: number,
  f: (chunk: Chunk) => Effect.Effect<void, E2, R2>
): Effect.Effect<void, E | E2 | GpuError, R | R2> => {
  const chunks = new Chunks(operation, chunkBytes)
  const each = (some: Generator<Chunk, void>): Effect.Effect<void, E2 | GpuError, R2> =>
    Effect.suspend((): Effect.Effect<void, E2 | GpuError, R2> => {
      const next = attempt(() => some.next())
      if (isGpuError(next)) return next
      return next.done === true ? Effect.void : Effect.andThen(f(next.value), each(some))
    })
  return pieces.pipe(
    Effect.flatMap((some) => Effect.forEach(some, (piece) => each(chunks.add(piece)), { discard: true })),
    Effect.forever({ disableYield: true }),
    Pull.catchDone(() => each(chunks.rest()))
  )
}
