/**
 * What happens to the memory of pools, one value for each time: see `PoolEvents`.
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
  /** Milliseconds since 1970, by the clock of who listens. */
  readonly at: number
  /** The memory: the label of the pool, or of the `DeviceMemory` that several pools share. */
  readonly memory: string | undefined
  /** A number for the memory, since several can have one label. */
  readonly memoryNumber: number
  /** The device, as errors name it. */
  readonly device: string
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
  /** A number for the budget, since several can have one label; of several pools on a memory each is one. */
  readonly budgetNumber: number | undefined
  /** The queue that it was made on, where the device has several. */
  readonly queue: string | undefined
  /** Where it was made, while `CallSite` tracks that. */
  readonly callSite: string | undefined
  /** How long it may wait in the wait queue, in milliseconds: 0 where it fails rather than waits, `Infinity` without a bound. */
  readonly waitAtMost: number
  /** The number of the reservation that it is made under, that of its `Reserved`, or else of the turn: that of its `ReservationEnded`. */
  readonly under: number | undefined
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
 * A request got a lease: of a held block (a hit), of a larger one (a borrow), or of a new one (a miss).
 *
 * @category models
 * @since 0.1.0
 */
export interface Leased extends OfRequest {
  readonly _tag: "Leased"
  readonly from: "held" | "borrowed" | "driver"
  /** A number for the block, the same as long as it exists. */
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
 * A lease has ended. Its block is held now, unless `Freed` follows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Released extends Happened {
  readonly _tag: "Released"
  readonly pool: string
  readonly block: number
  /** The bytes that the lease had asked for. */
  readonly size: number
  readonly capacity: number
  readonly label: string | undefined
  /** Where the lease was asked for, while `CallSite` tracks that. */
  readonly callSite: string | undefined
  /** As the error `Released` says it of a late use. */
  readonly why: "released" | "scopeClosed" | "poolClosed" | "parentReleased"
}

/**
 * Why a pool frees a block: `"evicted"`, since a request needs its bytes; `"trimmed"`, since the program asked for it;
 * `"heldLimit"`, since more is held than the pool is to keep; `"idle"`, by its clock; `"notKept"`, since its lease ended and the pool does not hold it;
 * `"closed"` and `"lost"`, with the pool or its device.
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
 * The driver refused a request, or could not be asked. The pool may try other things then.
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
 * A request ends before it has a lease: it is interrupted; or its scope has closed; or it fails with LimitExceeded, since it is larger than
 * a limit of its pool, of its budget or of the device (`"limitExceeded"`), as it is made or since the limit is lower now; or it fails
 * (`"failed"`), since a handler that it asked has failed, or since it may not use any more what it was given in the wait queue: the device is lost, or
 * its pool has closed.
 *
 * @category models
 * @since 0.1.0
 */
export interface GaveUp extends OfRequest {
  readonly _tag: "GaveUp"
  readonly why: "interrupted" | "scopeClosed" | "limitExceeded" | "failed"
}

/**
 * A request begins to wait in the wait queue. It is told again of one that was let try when memory came back, and found that others had taken that,
 * and of one that goes to the head of its line, since others wait for the memory that it has.
 *
 * @category models
 * @since 0.1.0
 */
export interface Waiting extends OfRequest {
  readonly _tag: "Waiting"
}

/**
 * A request has left the line: served, or without anything.
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
 * The effect of a `reserve` has ended, or its pool has closed: what it had reserved and did not use is free again. Or that of an
 * `exclusively`, of 0 bytes, which tells nothing as it begins.
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
  /** Whether one of them said that it had: not where one failed, or the request was interrupted meanwhile. */
  readonly freed: boolean
}

/**
 * A request fails with OutOfMemory, after everything was tried. {@link GaveUp} tells of one that is larger than a limit, for which nothing
 * is tried.
 *
 * @category models
 * @since 0.1.0
 */
export interface RanOut extends OfRequest {
  readonly _tag: "RanOut"
  /** What was tried, in order. */
  readonly stepsTried: ReadonlyArray<string>
  /** How much of the memory is leased and held now. */
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
 * The program asks that held blocks are freed; a lower limit and an end of holding ask so too. Those that are follow as `Freed`, with
 * the reason `"trimmed"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface TrimAsked extends Happened {
  readonly _tag: "TrimAsked"
  /** Until so many bytes are managed. */
  readonly to: number
  /** Whether all that is held goes, however much is managed. */
  readonly all: boolean
  /** The queue whose blocks are meant, if not all are. */
  readonly queue: string | undefined
}

/**
 * The program asks that no blocks are held from now on, or that they are held again.
 *
 * @category models
 * @since 0.1.0
 */
export interface HoldingChanged extends Happened {
  readonly _tag: "HoldingChanged"
  readonly holds: boolean
}

/**
 * Steps of the idle clock have ended: what is held has been idle for so many more. Blocks that have been idle for too long follow as
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
 * The device of the memory is lost. What ends by that follows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lost extends Happened {
  readonly _tag: "Lost"
}

/**
 * The memory closes, or one of several pools on it does. What ends by that follows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closing extends Happened {
  readonly _tag: "Closing"
  /** The service of the pool, if others go on. */
  readonly pool: string | undefined
  /** The number of that pool's own limit. */
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
