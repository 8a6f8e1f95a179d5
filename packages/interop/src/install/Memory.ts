/**
 * Where the buffers of an installation come from: a pool of its own, or the program's.
 *
 * @internal
 */
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import type { Stack } from "../foreign/CallStack.ts"
import type { Buffer, BufferDescriptor, DeviceError } from "./Native.ts"
import type { Slot } from "./Slot.ts"

/** What a program asks `createBuffer` for. */
export interface Asked {
  readonly label: string
  readonly mappedAtCreation: boolean
  readonly size: number
  readonly usage: number
}

/** A slot whose `held` is the buffer; or a text that says why there is none; or `undefined`, where the device is to answer itself. */
export type Lent = Slot | string | undefined

export interface Memory {
  /** Whether it destroys a buffer that programs no longer have, in this step. */
  readonly isFreeing: boolean
  /** Lends a buffer whose memory may serve others later. `stack` is the program's, where calls are tracked. */
  lend(asked: Asked, stack: Stack | undefined): Lent
  /** Counts a buffer that is the device's own. */
  own(asked: Asked): Lent
  /** A lease has ended. Returns whether the driver is to destroy the buffer. */
  giveBack(slot: Slot, buffer: Buffer): boolean
  /** A lease has ended, and its memory with it. */
  discard(slot: Slot): void
  /** The driver had no memory for a buffer. */
  refused(slot: Slot): void
  /** Destroys what programs do not have. */
  trim(): void
  /** From now on nothing is held. */
  stop(): void
  stats(): PoolStats
}

/** What of a device creates a buffer. */
export interface Creates {
  createBuffer(descriptor: BufferDescriptor): Buffer
  pushErrorScope(filter: "out-of-memory"): void
  popErrorScope(): Promise<DeviceError | null>
}

/** A driver's buffer, and the error that the driver may yet report: it tells later whether it had memory. */
export interface Created {
  readonly buffer: Buffer
  readonly creation: Promise<object | null>
}

/** Asks the driver in an error scope for lack of memory. */
export const create = (native: Creates, descriptor: BufferDescriptor): Created => {
  native.pushErrorScope("out-of-memory")
  const buffer = native.createBuffer(descriptor)
  // A device that is lost meanwhile may reject: it tells of no error.
  return { buffer, creation: native.popErrorScope().then((error) => error, () => null) }
}
