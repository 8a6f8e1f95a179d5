/**
 * Elements that the queue copies without a kernel: runs of bytes that follow each other in both arrays.
 *
 * @internal
 */
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DeviceInfo } from "effect-gpu-pool/DeviceContext"
import { byteSize } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"
import type { DeviceArray } from "../ArrayValue.ts"
import * as Layout from "../layout/Layout.ts"
import * as Shape from "../layout/Shape.ts"

/** Runs of bytes in two arrays, at equal distances in each. */
export interface Runs {
  /** The bytes of a run. */
  readonly bytes: number
  readonly count: number
  readonly from: Distances
  readonly to: Distances
}

interface Distances {
  /** The first byte. */
  readonly offset: number
  /** The bytes from a run to the next. */
  readonly pitch: number
}

/** WebGPU copies each run by a command of its own: a kernel is faster for many runs, and for shorter ones. */
const mostRuns = 64

const shortest = 4096

/**
 * The runs of two arrays of one shape with memory; `undefined` if a kernel has to copy, or copies as fast: elements of another type
 * or in another order, short runs, bytes that the device does not copy, or the same memory.
 */
export const runsOf = (source: DeviceArray, target: DeviceArray, { limits }: DeviceInfo): Runs | undefined => {
  const [from, to] = [source.lease, target.lease]
  if (from === undefined || to === undefined || from === to || source.dtype !== target.dtype) return undefined
  if (!BufferUsage.has(from.usage, BufferUsage.copySrc) || !BufferUsage.has(to.usage, BufferUsage.copyDst)) {
    return undefined
  }
  if (!Shape.equals(source.shape, target.shape)) return undefined
  const { shape, strides } = Layout.collapse(target.shape, [source.strides, target.strides])
  const [ofSource, ofTarget] = strides as readonly [ReadonlyArray<number>, ReadonlyArray<number>]
  if (shape.length > 2 || (shape.length > 0 && (ofSource.at(-1) !== 1 || ofTarget.at(-1) !== 1))) return undefined
  const size = byteSize(target.dtype)
  const bytes = (shape.at(-1) ?? 1) * size
  const distances = ({ offset }: DeviceArray, of: ReadonlyArray<number>): Distances => ({
    offset: offset * size,
    pitch: of.length === 2 ? of[0]! * size : bytes
  })
  const runs = {
    bytes,
    count: shape.length === 2 ? shape[0]! : 1,
    from: distances(source, ofSource),
    to: distances(target, ofTarget)
  }
  return (runs.count === 1 || isWorthwhile(runs)) && isAligned(runs, limits.copyAlignment) ? runs : undefined
}

const isWorthwhile = ({ bytes, count, from, to }: Runs): boolean =>
  count <= mostRuns && bytes >= shortest && from.pitch >= bytes && to.pitch >= bytes

const isAligned = ({ bytes, from, to }: Runs, alignment: number): boolean =>
  [bytes, from.offset, from.pitch, to.offset, to.pitch].every((at) => at % alignment === 0)

/** Copies the runs by one command. */
export const copyRuns = (
  queue: CommandQueue["Service"],
  source: DeviceArray,
  target: DeviceArray,
  { bytes, count, from, to }: Runs
): Effect.Effect<void, GpuError> =>
  count === 1
    ? queue.copy(source.lease!, target.lease!, { sourceOffset: from.offset, targetOffset: to.offset, size: bytes })
    : queue.copyRect(source.lease!, target.lease!, {
      region: [bytes, count],
      source: placement(from),
      target: placement(to)
    })

const placement = ({ offset, pitch }: Distances) => ({
  origin: [offset % pitch, Math.floor(offset / pitch)],
  rowPitch: pitch
} as const)
