/**
 * The events of pools' memory: see `PoolEvents`.
 *
 * @since 0.1.0
 */

/**
 * What every event says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Happened {
  /** Milliseconds since 1970, by the subscriber's clock. */
  readonly at: number
  /** The memory: the label of the pool, or of the `DeviceMemory` that several pools share. */
  readonly memory: string | undefined
  /** A number for the memory, since several can have one label. */
  readonly memoryNumber: number
  /** The device, as errors name it. */
  readonly device: string
  /** The host, where the listener has the metric attribute `host`. */
  readonly host?: string | undefined
}

/**
 * What every event of a request says. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfRequest extends Happened {
  /** The service that was asked: `"BufferPool"`, `"ImagePool"` or `"StagingPool"`. */
  readonly pool: string
  /** A number for the request, the same in all its events. */
  readonly request: number
  /** What blocks must have in common to serve it, beside their bytes: blocks of one family can stand for each other. */
  readonly family: string
  /** The requested bytes; of a reservation, those that it reserves. */
  readonly size: number
  readonly label: string | undefined
  /** The budget that it was made under. */
  readonly budget: string | undefined
  /** A number for the budget, since several can have one label. Each of several pools on one memory has such a number too. */
  readonly budgetNumber: number | undefined
  /** The queue that it was made on, where the device has several. */
  readonly queue: string | undefined
  /** Where it was made, while `CallSite` tracks that. */
  readonly callSite: string | undefined
  /** How long it may wait in the wait queue, in milliseconds: 0 if it fails instead, `Infinity` without a bound. */
  readonly waitAtMost: number
  /**
   * The number of the reservation that it is made under, as in that one's `Reserved`; or else of the exclusive section, as in its
   * `ReservationEnded`.
   */
  readonly under: number | undefined
}

/**
 * Which part of its block a lease has, in a pool that splits blocks. Both members are there or neither: a lease without them has its
 * whole block. What no lease has is free.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfPart {
  /** The first byte of the part in the block. */
  readonly offset?: number | undefined
  /** The bytes of the part. */
  readonly partBytes?: number | undefined
}

/**
 * The driver is asked for a block. `Leased`, `Kept` or `Refused` of the same request says what became of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface DriverAsked extends OfRequest {
  readonly _tag: "DriverAsked"
  /** The bytes that the driver is asked for. */
  readonly capacity: number
}

/**
 * A request got a lease: of a held block or a part of one (a hit), of a larger one (a borrow), or of a new one (a miss).
 *
 * @category models
 * @since 0.1.0
 */
export interface Leased extends OfRequest, OfPart {
  readonly _tag: "Leased"
  readonly from: "held" | "borrowed" | "driver"
  /** A number for the block, the same from its driver call until `Freed`. A pool that splits slabs has a block for each slab. */
  readonly block: number
  /** The bytes of the block. */
  readonly capacity: number
}

/**
 * The driver made a block for a request that had ended meanwhile. The block is held now, unless `Freed` follows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept extends OfRequest {
  readonly _tag: "Kept"
  readonly block: number
  readonly capacity: number
}

/**
 * A lease has ended. Its block, or its part of that, is held now, unless `Freed` follows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Released extends Happened, OfPart {
  readonly _tag: "Released"
  readonly pool: string
  readonly block: number
  /** The bytes that the lease had asked for. */
  readonly size: number
  readonly capacity: number
  readonly label: string | undefined
  /** Where the lease was asked for, while `CallSite` tracks that. */
  readonly callSite: string | undefined
  /** Why the lease ended, as in the error `Released`. */
  readonly why: "released" | "scopeClosed" | "poolClosed" | "parentReleased"
}

/**
 * Why a pool frees a block: `"evicted"`, since a request needs its bytes; `"trimmed"`, since the program asked for it;
 * `"heldLimit"`, since more is held than the pool is to keep; `"idle"`, since it was idle for too long; `"notKept"`, since its lease
 * ended and the pool does not keep it; `"closed"` and `"lost"`, with the pool or its device.
 *
 * @category models
 * @since 0.1.0
 */
export type FreeReason = "evicted" | "trimmed" | "heldLimit" | "idle" | "notKept" | "closed" | "lost"

/**
 * A block goes back to the driver.
 *
 * @category models
 * @since 0.1.0
 */
export interface Freed extends Happened {
  readonly _tag: "Freed"
  readonly pool: string
  readonly block: number
  readonly capacity: number
  readonly why: FreeReason
}

/**
 * The driver has got back what was freed before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reclaimed extends Happened {
  readonly _tag: "Reclaimed"
}

/**
 * The driver call of a request failed, or could not be made. The pool may try further steps then.
 *
 * @category models
 * @since 0.1.0
 */
export interface Refused extends OfRequest {
  readonly _tag: "Refused"
  /** The bytes that the driver was asked for. */
  readonly capacity: number
  /** The reason of its error, or `"Interrupted"`. */
  readonly why: string
}

/**
 * A request needs more memory than is free: held blocks are evicted for it now, or the program's handlers are asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface RoomNeeded extends OfRequest {
  readonly _tag: "RoomNeeded"
  /** By how many bytes it is over the limit; 0 where the driver has no memory, since nobody knows how much is missing then. */
  readonly missing: number
}

/**
 * A request ends before it has a lease.
 *
 * `"interrupted"`: its fiber was interrupted. `"scopeClosed"`: its scope closed.
 * `"limitExceeded"`: it is larger than a limit of its pool, its budget or the device, perhaps since the limit was lowered. `"failed"`: a
 * handler that it asked failed, or the device was lost or its pool closed after it was served in the wait queue.
 *
 * @category models
 * @since 0.1.0
 */
export interface GaveUp extends OfRequest {
  readonly _tag: "GaveUp"
  readonly why: "interrupted" | "scopeClosed" | "limitExceeded" | "failed"
}

/**
 * A request begins to wait in the wait queue. The event comes again when the request tried after memory came back, and found it taken by
 * others; and when the request moves to the head of its queue, since others wait for memory of its job.
 *
 * @category models
 * @since 0.1.0
 */
export interface Waiting extends OfRequest {
  readonly _tag: "Waiting"
}

/**
 * A request has left the wait queue, served or not.
 *
 * @category models
 * @since 0.1.0
 */
export interface Waited extends OfRequest {
  readonly _tag: "Waited"
  readonly served: boolean
  readonly waitedMillis: number
}

/**
 * Bytes are reserved from now on for the effect of a `reserve`, or for the leases of an `allocateAll`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reserved extends OfRequest {
  readonly _tag: "Reserved"
}

/**
 * The effect of a `reserve` has ended, or its pool has closed: the reserved bytes that it did not use are free again. Or the effect of an
 * `exclusively` has ended: its size is 0 bytes, and no event marks its begin.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReservationEnded extends OfRequest {
  readonly _tag: "ReservationEnded"
}

/**
 * The program's handlers were asked to free something for a request.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandlersAsked extends OfRequest {
  readonly _tag: "HandlersAsked"
  /** Whether one of them answered that it had; false if one failed, or the request was interrupted meanwhile. */
  readonly freed: boolean
}

/**
 * A request fails with OutOfMemory, after every step was tried. For one that is larger than a limit, for which no step is tried, the
 * event is {@link GaveUp}.
 *
 * @category models
 * @since 0.1.0
 */
export interface RanOut extends OfRequest {
  readonly _tag: "RanOut"
  /** What was tried, in order. */
  readonly stepsTried: ReadonlyArray<string>
  /** The bytes that active leases asked for, and those held, now. */
  readonly activeBytes: number
  readonly heldBytes: number
}

/**
 * The limit of the memory, or of a budget within it, has changed.
 *
 * @category models
 * @since 0.1.0
 */
export interface LimitChanged extends Happened {
  readonly _tag: "LimitChanged"
  /** The budget, if it is not the memory's own limit. */
  readonly budget: string | undefined
  readonly budgetNumber: number | undefined
  /** Bytes; `Infinity` for none. */
  readonly from: number
  readonly to: number
}

/**
 * The program asks the pool to free held blocks; so do a lower limit and `stopHolding`. The blocks that go follow as `Freed`, with the
 * reason `"trimmed"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface TrimAsked extends Happened {
  readonly _tag: "TrimAsked"
  /** The pool frees held blocks until at most so many bytes are managed. */
  readonly to: number
  /** Whether all held blocks go, however much is managed. */
  readonly all: boolean
  /** The queue whose blocks are meant, if not all are. */
  readonly queue: string | undefined
}

/**
 * The program asks the pool to keep no blocks from now on, or to keep them again.
 *
 * @category models
 * @since 0.1.0
 */
export interface HoldingChanged extends Happened {
  readonly _tag: "HoldingChanged"
  readonly holds: boolean
}

/**
 * Steps of the idle clock have ended: held blocks have been idle for so many steps more. Those that were idle for too long follow as
 * `Freed`. The clock runs while blocks are held that it may free.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleStep extends Happened {
  readonly _tag: "IdleStep"
  readonly steps: number
}

/**
 * The device of the memory is lost. The events of what that ends follow.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lost extends Happened {
  readonly _tag: "Lost"
}

/**
 * The memory closes, or one of several pools on it does. The events of what that ends follow.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closing extends Happened {
  readonly _tag: "Closing"
  /** The service of the pool, if only that closes. */
  readonly pool: string | undefined
  /** The number of that pool's limit, as in its requests' `budgetNumber`. */
  readonly budgetNumber: number | undefined
}

/**
 * The memory has closed: its leases have ended, and its blocks are freed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closed extends Happened {
  readonly _tag: "Closed"
}

/**
 * One thing that happened to the memory of a pool.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolEvent =
  | DriverAsked
  | Leased
  | Kept
  | Released
  | Freed
  | Reclaimed
  | Refused
  | RoomNeeded
  | GaveUp
  | Waiting
  | Waited
  | Reserved
  | ReservationEnded
  | HandlersAsked
  | RanOut
  | LimitChanged
  | TrimAsked
  | HoldingChanged
  | IdleStep
  | Lost
  | Closing
  | Closed
