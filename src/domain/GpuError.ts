/**
 * The one error of this library: {@link GpuError}, whose tagged `reason` says what happened.
 *
 * Every message names the values that led to it and ends with what to do next. `isRetryable` says whether the same call
 * may succeed later without a change to the program.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"

const TypeId = "~effect-gpu-pool/GpuError"

/**
 * One lease that holds memory, as out-of-memory errors list them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Holder {
  /** The label given at `allocate`, or `undefined`. */
  readonly label: string | undefined
  /** Requested bytes of the lease. */
  readonly size: number
  /** Bytes of its block. */
  readonly capacity: number
  /** How many leases the pool has granted since this one. */
  readonly age: number
}

/**
 * A step of the out-of-memory ladder, in the order in which they are tried.
 *
 * @category models
 * @since 0.1.0
 */
export type Rung = "bin" | "borrow" | "driver" | "reclaim" | "evict" | "exact"

/**
 * The memory does not exist now, but could after a release. Retryable while other bytes are active or reserved.
 *
 * All sizes are bytes. The evidence fields are zero when the error comes from an allocator without a pool.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutOfMemory extends Data.TaggedClass("OutOfMemory")<{
  /** What the caller asked for. */
  readonly requested: number
  /** The block that the size policy made of it. */
  readonly blockSize: number
  /** The pool's byte limit, `Infinity` when there is none. */
  readonly limit: number
  readonly activeBytes: number
  readonly heldBytes: number
  readonly managedBytes: number
  readonly reservedBytes: number
  /** Capacity of the largest block that the pool still holds. */
  readonly largestHeldBytes: number
  /** What was tried, in order. */
  readonly rungs: ReadonlyArray<Rung>
  /** The largest active leases, largest first. */
  readonly holders: ReadonlyArray<Holder>
}> {
  get isRetryable(): boolean {
    return this.activeBytes > 0 || this.reservedBytes > 0
  }
  get message(): string {
    const limit = this.limit === Infinity ? "no byte limit" : `limit ${this.limit}`
    const holders = this.holders.map((h) => `${h.label ?? "(no label)"} ${h.size} B, ${h.age} leases ago`).join("; ")
    return `Out of memory: ${this.requested} bytes asked for (block of ${this.blockSize}), ${limit}, ` +
      `active ${this.activeBytes}, held ${this.heldBytes}, managed ${this.managedBytes}, reserved ${this.reservedBytes}, ` +
      `largest held block ${this.largestHeldBytes}; tried ${this.rungs.join(", ")}` +
      (holders === "" ? ". " : `; largest holders: ${holders}. `) +
      (this.isRetryable
        ? "Release leases and retry (isRetryable is true), or raise maxBytes."
        : "Nothing is leased that could be released: ask for less, raise maxBytes or choose a device with more memory.")
  }
}

/**
 * The request can never fit: it is over `maxBytes` or over a limit of the device. All sizes are bytes.
 *
 * @category errors
 * @since 0.1.0
 */
export class LimitExceeded extends Data.TaggedClass("LimitExceeded")<{
  /** The call that was made, as `BufferPool.allocate`. */
  readonly operation: string
  readonly requested: number
  /** The name of the limit, as `maxBytes` or `maxBufferSize`. */
  readonly limitName: string
  readonly limit: number
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    return `${this.operation}: ${this.requested} is over ${this.limitName} = ${this.limit}, so it can never fit. ` +
      `Ask for less, split the work, or raise ${this.limitName} where that is yours to set.`
  }
}

/**
 * The call is ill-formed: nothing was sent to the device.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidRequest extends Data.TaggedClass("InvalidRequest")<{
  readonly operation: string
  /** What is wrong, with the values. */
  readonly problem: string
  /** What to do instead. */
  readonly hint: string
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    return `${this.operation}: ${this.problem}. ${this.hint}`
  }
}

/**
 * A device that was tried, and why it could not be used.
 *
 * @category models
 * @since 0.1.0
 */
export interface TriedDevice {
  readonly backend: string
  readonly device: string
  readonly why: string
}

/**
 * No device could be opened.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeviceUnavailable extends Data.TaggedClass("DeviceUnavailable")<{
  readonly tried: ReadonlyArray<TriedDevice>
  /** How to get a device. */
  readonly hint: string
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    const tried = this.tried.map((t) => `${t.backend} ${t.device}: ${t.why}`).join("; ")
    return `No device available (${tried === "" ? "nothing was tried" : tried}). ${this.hint}`
  }
}

/**
 * The device is gone, and everything on it. Open it again by building the layer anew.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeviceLost extends Data.TaggedClass("DeviceLost")<{
  readonly backend: string
  /** What the driver said. */
  readonly detail: string
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    return `The ${this.backend} device was lost (${this.detail}). Its buffers are gone: ` +
      `build the device layer again and upload your data anew.`
  }
}

/**
 * A lease or buffer was used after it was released, or asked for in a scope or pool that is closed.
 *
 * @category errors
 * @since 0.1.0
 */
export class BufferReleased extends Data.TaggedClass("BufferReleased")<{
  readonly operation: string
  readonly label: string | undefined
  /** Requested bytes of the lease. */
  readonly size: number
  readonly why: "released" | "scopeClosed" | "poolClosed"
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    const what = `${this.operation}: the buffer ${
      this.label === undefined ? "" : `"${this.label}" `
    }of ${this.size} bytes`
    switch (this.why) {
      case "released":
        return `${what} was released before. Use it inside the scope that acquired it, or transfer the lease.`
      case "scopeClosed":
        return `${what} belongs to a scope that is closed. Allocate or transfer before the scope closes.`
      case "poolClosed":
        return `${what} belongs to a pool that is closed. Keep the pool's layer alive for as long as its leases.`
    }
  }
}

/**
 * A buffer of one device was given to another device, or of one backend to another.
 *
 * @category errors
 * @since 0.1.0
 */
export class ForeignBuffer extends Data.TaggedClass("ForeignBuffer")<{
  readonly operation: string
  readonly label: string | undefined
  /** The device that made the buffer. */
  readonly owner: string
  /** The device that was asked to use it. */
  readonly expected: string
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    return `${this.operation}: the buffer ${
      this.label === undefined ? "" : `"${this.label}" `
    }belongs to ${this.owner}, ` +
      `not to ${this.expected}. Read it on its own device and write the data to the other one.`
  }
}

/**
 * The backend or device has no such ability.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unsupported extends Data.TaggedClass("Unsupported")<{
  readonly operation: string
  readonly backend: string
  readonly feature: string
  /** Why, and what to use instead. */
  readonly hint: string
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    return `${this.operation}: ${this.feature} is not supported on ${this.backend}. ${this.hint}`
  }
}

/**
 * A driver call failed for another reason than the ones above, a kernel did not compile, or recorded work failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class DriverError extends Data.TaggedClass("DriverError")<{
  readonly backend: string
  /** The driver's function, as `clEnqueueNDRangeKernel` or `GPUQueue.submit`. */
  readonly call: string
  /** The driver's name for the code, as `CL_INVALID_KERNEL`, when it has one. */
  readonly codeName: string | undefined
  readonly code: number | undefined
  /** What the driver or its compiler printed. */
  readonly log: string
  /** Labels of the recorded commands among which the failure happened. */
  readonly commands: ReadonlyArray<string>
}> {
  get isRetryable(): boolean {
    return false
  }
  get message(): string {
    const code = this.codeName === undefined && this.code === undefined
      ? ""
      : ` (${[this.codeName, this.code].filter((part) => part !== undefined).join(" ")})`
    const commands = this.commands.length === 0 ? "" : ` Commands: ${this.commands.join(", ")}.`
    return `${this.backend}: ${this.call} failed${code}: ${this.log}.${commands}`
  }
}

/**
 * Everything that can be the `reason` of a {@link GpuError}.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason =
  | OutOfMemory
  | LimitExceeded
  | InvalidRequest
  | DeviceUnavailable
  | DeviceLost
  | BufferReleased
  | ForeignBuffer
  | Unsupported
  | DriverError

/**
 * The one error of this library. Handle a single reason with `Effect.catchReason`.
 *
 * **Example** (Answering one reason)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const smaller = BufferPool.allocate(1 << 30).pipe(
 *   Effect.catchReason("GpuError", "OutOfMemory", () => BufferPool.allocate(1 << 20))
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class GpuError extends Data.TaggedError("GpuError")<{ readonly reason: Reason }> {
  readonly [TypeId] = TypeId

  /** Says what happened, with the values, and what to do next. */
  override get message(): string {
    return this.reason.message
  }

  /** Whether the same call may succeed later, as after another lease was released. */
  get isRetryable(): boolean {
    return this.reason.isRetryable
  }
}

/**
 * Whether a value is a {@link GpuError}.
 *
 * **Example** (Guarding an unknown value)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * GpuError.isGpuError(new Error("no")) // => false
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isGpuError = (u: unknown): u is GpuError => Predicate.hasProperty(u, TypeId)

/**
 * Makes a {@link GpuError} from its reason.
 *
 * **Example** (Failing with a reason of your own backend)
 *
 * ```ts
 * import { GpuError } from "effect-gpu-pool"
 *
 * const error = GpuError.make(new GpuError.DeviceLost({ backend: "mine", detail: "unplugged" }))
 * error.isRetryable // => false
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (reason: Reason): GpuError => new GpuError({ reason })

/**
 * An {@link InvalidRequest} as an error.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidRequest = (operation: string, problem: string, hint: string): GpuError =>
  make(new InvalidRequest({ operation, problem, hint }))

/**
 * An {@link OutOfMemory} as an allocator raises it, which knows nothing of a pool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const outOfMemory = (bytes: number): GpuError =>
  make(
    new OutOfMemory({
      requested: bytes,
      blockSize: bytes,
      limit: Infinity,
      activeBytes: 0,
      heldBytes: 0,
      managedBytes: 0,
      reservedBytes: 0,
      largestHeldBytes: 0,
      rungs: ["driver"],
      holders: []
    })
  )
