/**
 * What the host queue records: a command knows its label, the buffers it names, and how to do its work in pieces.
 *
 * @internal
 */
import * as BytePattern from "../../domain/BytePattern.ts"
import * as CommandLabel from "../../domain/CommandLabel.ts"
import { type Extent, packed, type Place, runs } from "../../domain/Rectangle.ts"
import type { Dispatch } from "../../services/device/QueueDriver.ts"
import { bodyArguments, type HostKernel } from "./HostKernel.ts"
import type { HostBuffer } from "./HostMemory.ts"

/** A recorded command. */
export interface HostCommand {
  /** As errors name it. */
  readonly label: string
  readonly buffers: ReadonlyArray<HostBuffer>
  /** Does the work; yields the cost of each piece as a share of one task of the event loop. May throw. */
  readonly pieces: () => Generator<number, void>
}

/** Copies and fills go on in pieces of this many bytes, about a millisecond each. Whole patterns of any size. */
export const chunkBytes = 4 * 1024 * 1024

const eachChunk = function*(bytes: number, work: (start: number, end: number) => void): Generator<number, void> {
  for (let start = 0; start < bytes; start += chunkBytes) {
    const end = Math.min(bytes, start + chunkBytes)
    work(start, end)
    yield (end - start) / chunkBytes
  }
}

/** Copies `bytes` bytes from one piece of memory to another. */
export const copyPieces = (
  source: ArrayBuffer,
  sourceOffset: number,
  target: ArrayBuffer,
  targetOffset: number,
  bytes: number
): Generator<number, void> =>
  eachChunk(bytes, (start, end) => {
    new Uint8Array(target, targetOffset + start).set(new Uint8Array(source, sourceOffset + start, end - start))
  })

/** The cost of a row besides its bytes, as a share of a task. */
const rowCost = 1 / 16_384

/** Copies a region of rows from one piece of memory to another, which begin at `sourceBase` and `targetBase`. */
export const copyRectPieces = function*(
  extent: Extent,
  source: ArrayBuffer,
  sourceBase: number,
  from: Place,
  target: ArrayBuffer,
  targetBase: number,
  to: Place
): Generator<number, void> {
  let cost = 0
  for (const [here, there, bytes] of runs(extent, from, to)) {
    if (bytes > chunkBytes) {
      yield* copyPieces(source, sourceBase + here, target, targetBase + there, bytes)
      continue
    }
    new Uint8Array(target, targetBase + there, bytes).set(new Uint8Array(source, sourceBase + here, bytes))
    cost += rowCost + bytes / chunkBytes
    if (cost < 1) continue
    yield cost
    cost = 0
  }
  if (cost > 0) yield cost
}

export class WriteCommand implements HostCommand {
  readonly buffers: readonly [HostBuffer]
  readonly #offset: number
  readonly #data: Uint8Array<ArrayBuffer>
  readonly #name: string | undefined

  /** Keeps `data`: pass a copy. */
  constructor(target: HostBuffer, offset: number, data: Uint8Array<ArrayBuffer>) {
    this.buffers = [target]
    this.#offset = offset
    this.#data = data
    this.#name = target.label
  }

  get label(): string {
    return CommandLabel.write(this.#data.byteLength, this.#name)
  }

  pieces(): Generator<number, void> {
    const { buffer, byteLength, byteOffset } = this.#data
    const [target] = this.buffers
    return copyPieces(buffer, byteOffset, target.memory, target.base + this.#offset, byteLength)
  }
}

export class CopyCommand implements HostCommand {
  readonly buffers: readonly [source: HostBuffer, target: HostBuffer]
  readonly #sourceOffset: number
  readonly #targetOffset: number
  readonly #bytes: number
  readonly #names: readonly [source: string | undefined, target: string | undefined]

  constructor(source: HostBuffer, sourceOffset: number, target: HostBuffer, targetOffset: number, bytes: number) {
    this.buffers = [source, target]
    this.#sourceOffset = sourceOffset
    this.#targetOffset = targetOffset
    this.#bytes = bytes
    this.#names = [source.label, target.label]
  }

  get label(): string {
    return CommandLabel.copy(this.#bytes, ...this.#names)
  }

  pieces(): Generator<number, void> {
    const [source, target] = this.buffers
    const from = source.base + this.#sourceOffset
    return copyPieces(source.memory, from, target.memory, target.base + this.#targetOffset, this.#bytes)
  }
}

export class WriteRectCommand implements HostCommand {
  readonly buffers: readonly [HostBuffer]
  readonly #extent: Extent
  readonly #to: Place
  readonly #rows: Uint8Array<ArrayBuffer>
  readonly #name: string | undefined

  /** Keeps `rows`, which are packed. */
  constructor(extent: Extent, target: HostBuffer, to: Place, rows: Uint8Array<ArrayBuffer>) {
    this.buffers = [target]
    this.#extent = extent
    this.#to = to
    this.#rows = rows
    this.#name = target.label
  }

  get label(): string {
    return CommandLabel.writeRect(this.#extent, this.#name)
  }

  pieces(): Generator<number, void> {
    const { base, memory } = this.buffers[0]
    const { buffer, byteOffset } = this.#rows
    return copyRectPieces(this.#extent, buffer, byteOffset, packed(this.#extent), memory, base, this.#to)
  }
}

export class CopyRectCommand implements HostCommand {
  readonly buffers: readonly [source: HostBuffer, target: HostBuffer]
  readonly #extent: Extent
  readonly #from: Place
  readonly #to: Place
  readonly #names: readonly [source: string | undefined, target: string | undefined]

  constructor(extent: Extent, source: HostBuffer, from: Place, target: HostBuffer, to: Place) {
    this.buffers = [source, target]
    this.#extent = extent
    this.#from = from
    this.#to = to
    this.#names = [source.label, target.label]
  }

  get label(): string {
    return CommandLabel.copyRect(this.#extent, ...this.#names)
  }

  pieces(): Generator<number, void> {
    const [source, target] = this.buffers
    return copyRectPieces(
      this.#extent,
      source.memory,
      source.base,
      this.#from,
      target.memory,
      target.base,
      this.#to
    )
  }
}

export class FillCommand implements HostCommand {
  readonly buffers: readonly [HostBuffer]
  readonly #offset: number
  readonly #bytes: number
  readonly #patterns: ReadonlyArray<number>
  readonly #name: string | undefined

  constructor(target: HostBuffer, offset: number, bytes: number, patterns: ReadonlyArray<number>) {
    this.buffers = [target]
    this.#offset = offset
    this.#bytes = bytes
    this.#patterns = patterns
    this.#name = target.label
  }

  get label(): string {
    return CommandLabel.fill(this.#bytes, this.#name)
  }

  *pieces(): Generator<number, void> {
    const { base, memory } = this.buffers[0]
    const offset = base + this.#offset
    yield* eachChunk(this.#bytes, (start, end) => {
      BytePattern.repeat(new Uint8Array(memory, offset + start, end - start), this.#patterns)
    })
  }
}

export class DispatchCommand implements HostCommand {
  /** Those of the vectors, and then those of the images. */
  readonly buffers: ReadonlyArray<HostBuffer>
  readonly #kernel: HostKernel
  readonly #dispatch: Dispatch
  readonly #rangeItems: number

  constructor(kernel: HostKernel, dispatch: Dispatch, buffers: ReadonlyArray<HostBuffer>, rangeItems: number) {
    this.buffers = buffers
    this.#kernel = kernel
    this.#dispatch = dispatch
    this.#rangeItems = rangeItems
  }

  get label(): string {
    return CommandLabel.dispatch(this.#kernel.kernel.name, this.#dispatch.count)
  }

  *pieces(): Generator<number, void> {
    const { body, kernel } = this.#kernel
    const { count, scalars } = this.#dispatch
    const args = bodyArguments(kernel.args, this.#dispatch, (index) => this.buffers[index]!)
    const range = this.#kernel.itemsOfTurn(this.#rangeItems, scalars)
    for (let from = 0; from < count; from += range) {
      const to = Math.min(count, from + range)
      body(from, to, args)
      yield (to - from) / range
    }
  }
}
