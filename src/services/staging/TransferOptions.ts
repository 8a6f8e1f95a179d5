/**
 * How streams are cut into chunks, with the checks of the options.
 *
 * @since 0.1.0
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../domain/arguments/Format.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { invalidRequest } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as BufferLike from "../buffers/BufferLike.ts"

/**
 * The chunks of a stream.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChunkOptions {
  /**
   * Bytes of a chunk, a multiple of 4. Without it `"4 MiB"`, or less where the limits of the pools have no room for as many chunks as
   * may be under way.
   */
  readonly chunkSize?: MemoryLimit.ByteAmount | undefined
  /** How many chunks may be under way at a time, from 1 to 64: 2 without it, so that one is filled while one is copied. */
  readonly inFlight?: number | undefined
}

/**
 * How a stream is written into a buffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransferOptions extends ChunkOptions {
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

/**
 * How a stream passes through device memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface ThroughOptions extends ChunkOptions {
  /**
   * The most bytes of the pool that one chunk uses at a time: its own, and what the function allocates. A chunk begins
   * when these are reserved (`BufferPool.reserve`), so chunks cannot deadlock. Without it a chunk begins when its own
   * bytes are allocated.
   */
  readonly reserve?: MemoryLimit.ByteAmount | undefined
}

/**
 * Checked options of chunks.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cut {
  readonly chunkBytes: number
  readonly inFlight: number
}

/**
 * Checked options of chunks in a buffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan extends Cut {
  readonly offset: number
  readonly size: number
}

/**
 * The device and pools that a stream passes through.
 *
 * @category models
 * @since 0.1.0
 */
export interface Means {
  readonly device: DeviceInfo
  /** The most bytes that the pools can have at a time, for all chunks under way. */
  readonly most: number
}

/** The default bytes of a chunk. */
const usualBytes = 4 * 2 ** 20

/**
 * The checked options of chunks; throws their error, as `valid` does. Call it within `attempt`.
 *
 * @category getters
 * @since 0.1.0
 */
export const cutOf = (operation: string, options: ChunkOptions | undefined, { device, most }: Means): Cut => {
  const { chunkSize, inFlight = 2 } = options ?? {}
  if (!Number.isInteger(inFlight) || inFlight < 1 || inFlight > 64) {
    throw invalidRequest(
      operation,
      `inFlight ${formatted(inFlight)} is no whole number from 1 to 64`,
      "Pass 2, or leave it out."
    )
  }
  const given = valid(MemoryLimit.resolve(operation, "chunkSize", { bytes: chunkSize }, device))
  const chunkBytes = given ?? Math.max(4, 4 * Math.floor(Math.min(usualBytes, most / inFlight) / 4))
  if (chunkBytes === 0 || chunkBytes % 4 !== 0) {
    throw invalidRequest(
      operation,
      `chunkSize ${formatted(chunkSize)} is no multiple of 4 bytes`,
      `Pass bytes, as "1 MiB".`
    )
  }
  return { chunkBytes, inFlight }
}

/**
 * Checked options of a transfer of `size` bytes, or of all up to the buffer's end; throws as {@link cutOf} does.
 *
 * @category getters
 * @since 0.1.0
 */
export const planOf = (
  operation: string,
  buffer: BufferLike.BufferLike,
  options: TransferOptions | undefined,
  size: number | undefined,
  means: Means
): Plan => {
  const { offset = 0 } = options ?? {}
  const { portableAlignment } = BufferRange
  valid(BufferLike.problem(operation, buffer, means.device))
  valid(BufferRange.offsetProblem(operation, buffer, offset, portableAlignment))
  const bytes = size ?? buffer.size - offset
  valid(BufferRange.lengthProblem(operation, buffer, offset, bytes, portableAlignment))
  return { ...cutOf(operation, options, means), offset, size: bytes }
}
