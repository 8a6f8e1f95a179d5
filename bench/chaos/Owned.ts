/** What a fiber of the chaos owns, and what should be in it. */
import { Effect } from "effect"
import { type BufferPool, CommandQueue, type GpuError, Lease } from "effect-gpu-pool"
import { Images, type PooledImage } from "effect-gpu-pool/images"
import type { Watch } from "../soak/Watch.ts"

export type Bytes = Uint8Array<ArrayBuffer>

/** Something with bytes; the model does not know them after an operation that did not end well. */
export interface Owned<L> {
  readonly lease: L
  bytes: Bytes | undefined
}

export type OwnedBuffer = Owned<BufferPool.PooledBuffer>
export type OwnedImage = Owned<PooledImage.PooledImage>

export const buffer = (lease: BufferPool.PooledBuffer): OwnedBuffer => ({ lease, bytes: undefined })
export const image = (lease: PooledImage.PooledImage): OwnedImage => ({ lease, bytes: undefined })

/** An operation on what is owned. Until it has succeeded, and if it does not, the bytes are anything. */
export const changing = <L, A, E, R>(
  owned: Owned<L>,
  operation: Effect.Effect<A, E, R>,
  after: (result: A) => Bytes | undefined
): Effect.Effect<void, E, R> =>
  Effect.suspend(() => {
    owned.bytes = undefined
    return Effect.map(operation, (result) => {
      owned.bytes = after(result)
    })
  })

/** A copy of the bytes with some of them changed; unknown ones stay unknown. */
export const withBytes = ({ bytes }: Owned<unknown>, offset: number, part: Bytes): Bytes | undefined => {
  if (bytes === undefined) return undefined
  const changed = bytes.slice()
  changed.set(part, offset)
  return changed
}

/** Says where the bytes are not those of the model. */
export const compare = (watch: Watch, what: string, found: Uint8Array, expected: Uint8Array | undefined): void => {
  if (expected === undefined) return
  if (found.length !== expected.length) {
    return watch.problem(`${what}: ${found.length} bytes instead of ${expected.length}`)
  }
  const at = found.findIndex((byte, index) => byte !== expected[index])
  if (at >= 0) watch.problem(`${what}: byte ${at} of ${found.length} is ${found[at]} instead of ${expected[at]}`)
  watch.count("compared")
}

export const checkBuffer = (watch: Watch, what: string, { bytes, lease }: OwnedBuffer) =>
  Effect.map(CommandQueue.read(lease, Uint8Array), (found) => compare(watch, what, found, bytes))

export const checkImage = (watch: Watch, what: string, { bytes, lease }: OwnedImage) =>
  Effect.map(Images.read(lease, Uint8Array), (found) => compare(watch, what, found, bytes))

/** Ends a lease before its scope does. */
export const release = ({ lease }: OwnedBuffer): Effect.Effect<void, GpuError.GpuError> => Lease.release(lease)
