/**
 * What the host queue records: a command knows its label, the buffers it names, and how to do its work in pieces.
 *
 * @internal
 */
import type * as Clock from "effect/Clock"
import * as CommandLabel from "../../domain/arguments/CommandLabel.ts"
import * as BytePattern from "../../domain/data/BytePattern.ts"
import type { Extent, Place } from "../../domain/data/Rectangle.ts"
import { byteLength, packed, runs } from "../../domain/data/RectangleRows.ts"
import * as Workgroup from "../../domain/kernel/Workgroup.ts"
import type { Dispatch } from "../../services/device/QueueDriver.ts"
import { ended, forget, HostGroups } from "./HostGroups.ts"
import { type BodyArguments, bodyArguments, type HostKernel } from "./HostKernel.ts"
import type { HostBuffer } from "./HostMemory.ts"

/** A recorded command. */
export interface HostCommand {
  /** As errors name it. */
  readonly label: CommandLabel.CommandLabel
  readonly buffers: ReadonlyArray<HostBuffer>
  /** Does the work; yields the cost of each piece as a share of one task of the event loop. May throw. */
  readonly pieces: () => Generator<number, void>
}

/** Copies and fills run in pieces of this many bytes, about a millisecond each: a multiple of every pattern's size. */
export const chunkBytes = 4 * 1024 * 1024

/** Copies `bytes` bytes from one piece of memory to another. */
export const copyPieces = function*(
  source: ArrayBuffer,
  sourceOffset: number,
  target: ArrayBuffer,
  targetOffset: number,
  bytes: number
): Generator<number, void> {
  for (let done = 0; done < bytes; done += chunkBytes) {
    const part = Math.min(chunkBytes, bytes - done)
    new Uint8Array(target, targetOffset + done).set(new Uint8Array(source, sourceOffset + done, part))
    yield part / chunkBytes
  }
}

/** The cost of a row besides its bytes, as a share of a task. */
const rowCost = 1 / 16_384

/** Memory of a buffer or of the host, and the index of the first byte in it. */
interface Bytes {
  readonly memory: ArrayBuffer
  readonly base: number
}

/** Copies a region of rows from one piece of memory to another. */
export const copyRectPieces = function*(
  extent: Extent,
  { base: sourceBase, memory: source }: Bytes,
  from: Place,
  { base: targetBase, memory: target }: Bytes,
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

/** The buffers are those of the vectors, and then those of the images. */
export const dispatch = (
  compiled: HostKernel,
  dispatch: Dispatch,
  buffers: ReadonlyArray<HostBuffer>,
  { clock, rangeItems }: { readonly clock: Clock.Clock; readonly rangeItems: number }
): HostCommand => {
  const { body, kernel } = compiled
  const { count, range: groups, scalars, timed } = dispatch
  const pieces = function*(): Generator<number, void> {
    const args = bodyArguments(compiled, dispatch, (index) => buffers[index]!)
    const range = compiled.itemsOfTask(rangeItems, scalars)
    if (groups !== undefined) return yield* groupPieces(compiled, groups, args, range)
    for (let from = 0; from < count; from += range) {
      const to = Math.min(count, from + range)
      ended(body(from, to, args))
      yield (to - from) / range
    }
  }
  return {
    label: CommandLabel.dispatch(kernel.name, count, groups),
    buffers,
    pieces: timed === undefined ? pieces : () => timedPieces(pieces(), clock, timed)
  }
}

/** Workgroups, as many in a piece as have the items of a task. */
const groupPieces = function*(
  { body, kernel, parameters }: HostKernel,
  range: Workgroup.Extents,
  args: BodyArguments,
  itemsOfTask: number
): Generator<number, void> {
  const size = Workgroup.extentsOf(kernel.workgroupSize)
  const groups = new HostGroups(range, size)
  const local = parameters.filter(({ from }) => from === "local")
    .map(({ argument }) => args[argument.name] as ArrayBufferView)
  const cost = Workgroup.itemsOf(size) / itemsOfTask
  let spent = 0
  for (let index = 0; index < groups.count; index++) {
    groups.moveTo(index)
    local.forEach(forget)
    ended(body(groups, args))
    spent += cost
    if (spent < 1) continue
    yield spent
    spent = 0
  }
  if (spent > 0) yield spent
}

/** The same pieces, timed: without what the event loop does between them. */
const timedPieces = function*(
  pieces: Iterator<number, void>,
  clock: Clock.Clock,
  timed: (seconds: number) => void
): Generator<number, void> {
  let nanos = 0n
  while (true) {
    const begun = clock.monotonicTimeNanosUnsafe()
    const piece = pieces.next()
    nanos += clock.monotonicTimeNanosUnsafe() - begun
    if (piece.done === true) break
    yield piece.value
  }
  timed(Number(nanos) / 1e9)
}

/** Keeps `element`: do not change it later. */
export const fill = (
  target: HostBuffer,
  extent: Extent,
  place: Place,
  element: Uint8Array<ArrayBuffer>
): HostCommand => ({
  label: CommandLabel.fill(byteLength(extent), target),
  buffers: [target],
  pieces: () => fillPieces(target, extent, place, element)
})

const fillPieces = function*(
  { base, memory }: HostBuffer,
  extent: Extent,
  place: Place,
  element: Uint8Array<ArrayBuffer>
): Generator<number, void> {
  const bytes = new Uint8Array(memory)
  /** Where short rows are copied from: a row that was filled since the last pause, in which a program may write there. */
  let filled: number | undefined
  let cost = 0
  for (const [at, , length] of runs(extent, place, packed(extent))) {
    for (let done = 0; done < length; done += chunkBytes) {
      const part = Math.min(chunkBytes, length - done)
      const start = base + at + done
      if (filled !== undefined && length <= BytePattern.largestBlock) bytes.copyWithin(start, filled, filled + part)
      else {
        BytePattern.repeat(bytes.subarray(start, start + part), element)
        filled = start
      }
      cost += rowCost + part / chunkBytes
      if (cost < 1) continue
      yield cost
      cost = 0
      filled = undefined
    }
  }
  if (cost > 0) yield cost
}
