/**
 * What buffers, images and samplers of every driver have in common.
 *
 * @since 0.1.0
 */
import type * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import type { MemorySpan } from "../../domain/data/MemorySpan.ts"
import { type DeviceInfo, format } from "../../domain/device/DeviceInfo.ts"
import { anotherOpening } from "../../domain/device/DriverHint.ts"
import { ForeignDevice, type GpuError, make as makeError, type Released, released } from "../../domain/GpuError.ts"
import type { Attachments } from "../lease/Attachments.ts"
import type { Giver } from "../lease/Lease.ts"

/** An object of a driver. */
export abstract class DriverObject implements Equal.Equal {
  /** The open device that made it, compared by identity. */
  readonly owner: DeviceInfo
  /** Its name in errors: the label of its present lease, or the one that it was made with. */
  label: string | undefined
  /** Set by the backend when it releases the object. */
  destroyed = false
  /** Another object around the same object of the driver, for one that a backend adopted by its handle. @internal */
  twin: DriverObject | undefined = undefined
  /** What errors call its kind; buffers need no word. @internal */
  readonly what?: "image" | "sampler"
  /** Why it ended, where "it was released" does not say enough. @internal */
  ended: Released["why"] | undefined = undefined

  constructor(owner: DeviceInfo, label?: string) {
    this.owner = owner
    this.label = label
  }

  /** Identifies the driver's object: two wrappers around one object return the same value. */
  get identity(): object {
    return this.twin === undefined ? this : this.twin.identity
  }

  abstract [Equal.symbol](that: Equal.Equal): boolean

  [Hash.symbol](): number {
    return Hash.random(this.identity)
  }
}

/** An object of a driver that has memory: the span of it. */
export abstract class DriverMemory extends DriverObject implements MemorySpan {
  /**
   * False after a command on it was refused for lack of memory or by the driver, or failed on OpenCL, and after a program
   * has taken its memory: no pool leases it again.
   */
  recyclable = true

  /** The program's own memory that it uses, kept for as long as it lives; for all others `undefined`. @internal */
  pinned: Uint8Array<ArrayBuffer> | undefined = undefined
  /** Attachments, which end before it does. @internal */
  attached: Attachments | undefined = undefined
  /** What returns it to its pool, if a pool made it. */
  pooledBy: Giver | undefined = undefined

  /** Identifies the memory that the driver frees: the same for all buffers and images in it. */
  abstract get allocation(): object
  /** Its first byte in the allocation. */
  abstract get begin(): number
  /** The byte after its last one. */
  abstract get end(): number

  /** The span that commands treat as one with it: for a part of a buffer the whole buffer, as in WebGPU. */
  abstract get wholeMemory(): MemorySpan

  /**
   * Marks its memory so that no pool leases it again, also where it was adopted by a handle of pooled memory. @internal
   */
  distrust(): void {
    this.recyclable = false
    const { identity } = this
    if (identity instanceof DriverMemory) identity.recyclable = false
  }
}

/** The error of using an object on a device that did not make it. @internal */
export const foreign = (
  operation: string,
  { label, what }: { readonly label: string | undefined; readonly what?: "image" | "sampler" | undefined },
  owner: DeviceInfo,
  expected: DeviceInfo
): GpuError => {
  const [own, asked] = [format(owner), format(expected)]
  return makeError(
    new ForeignDevice({
      operation,
      label,
      owner: own,
      expected: own === asked ? anotherOpening(asked) : asked,
      what
    })
  )
}

/** Why an object of so many bytes cannot be used on the device `owner`, or `undefined`. @internal */
export const problem = (
  operation: string,
  object: DriverObject,
  owner: DeviceInfo,
  size: number
): GpuError | undefined => {
  if (object.owner !== owner) return foreign(operation, object, object.owner, owner)
  const { ended, label, what } = object
  return object.destroyed ? released(operation, { ended, label, size, what }) : undefined
}
