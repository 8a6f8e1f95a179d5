/**
 * The machine of a pool: the whole protocol of a memory, synchronous and without I/O, for models, replays and recorders.
 *
 * @since 0.1.0
 */

/**
 * The whole protocol of a memory as one synchronous machine.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolMachine from "./domain/pool/machine/PoolMachine.ts"

/**
 * The inputs that a shell gives to the machine of a memory.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolInputs from "./domain/pool/machine/PoolInputs.ts"

/**
 * What receives the decisions of the machine.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolObserver from "./domain/pool/machine/PoolObserver.ts"

/**
 * The state that all parts of a pool's machine share.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolState from "./domain/pool/machine/PoolState.ts"

/**
 * The limits around a memory.
 *
 * @category machine
 * @since 0.1.0
 */
export * as OuterLimits from "./domain/pool/machine/OuterLimits.ts"

/**
 * When idle blocks are due to be freed.
 *
 * @category machine
 * @since 0.1.0
 */
export * as IdleSchedule from "./domain/pool/machine/IdleSchedule.ts"

/**
 * A call site with its callers, as one text.
 *
 * @category requests
 * @since 0.1.0
 */
export * as CallStack from "./domain/CallStack.ts"

/**
 * One request for memory, as the pool's machine knows it.
 *
 * @category requests
 * @since 0.1.0
 */
export * as Request from "./domain/pool/machine/Request.ts"

/**
 * The bytes that are reserved for one effect.
 *
 * @category requests
 * @since 0.1.0
 */
export * as Reservation from "./domain/pool/machine/Reservation.ts"

/**
 * A limit within a memory.
 *
 * @category requests
 * @since 0.1.0
 */
export * as Budget from "./domain/pool/machine/Budget.ts"

/**
 * The bytes that one request charges to its budgets.
 *
 * @category requests
 * @since 0.1.0
 */
export * as Charge from "./domain/pool/machine/Charge.ts"

/**
 * Exclusive sections, for effects that do not know how much memory they need.
 *
 * @category requests
 * @since 0.1.0
 */
export * as ExclusiveSections from "./domain/pool/machine/ExclusiveSections.ts"

/**
 * The requests that wait at an account, in order.
 *
 * @category requests
 * @since 0.1.0
 */
export * as WaitQueue from "./domain/pool/machine/WaitQueue.ts"

/**
 * The jobs whose memory the requests of a wait queue wait for.
 *
 * @category requests
 * @since 0.1.0
 */
export * as HoldingJobs from "./domain/pool/machine/HoldingJobs.ts"

/**
 * The active leases of a memory, summed by label and call site.
 *
 * @category values
 * @since 0.1.0
 */
export * as HolderSums from "./domain/pool/HolderSums.ts"

/**
 * When a program has outgrown the blocks that its pool holds.
 *
 * @category values
 * @since 0.1.0
 */
export * as Outgrown from "./domain/pool/Outgrown.ts"

/**
 * The events of a pool's memory.
 *
 * @category values
 * @since 0.1.0
 */
export * as PoolEvent from "./domain/pool/PoolEvent.ts"

/**
 * The options of a pool, and their check.
 *
 * @category values
 * @since 0.1.0
 */
export * as PoolOptions from "./domain/pool/PoolOptions.ts"

/**
 * Where subscribers of a device's memories are registered.
 *
 * @category machine
 * @since 0.1.0
 */
export * as EventHub from "./services/pool/EventHub.ts"

/**
 * A request for memory, as the pool's shell keeps it.
 *
 * @category machine
 * @since 0.1.0
 */
export * as LeaseRequest from "./services/pool/LeaseRequest.ts"

/**
 * Free lists and the byte ledger behind every pool, synchronous.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolCore from "./domain/pool/PoolCore.ts"

/**
 * The source of a pool's memory.
 *
 * @category machine
 * @since 0.1.0
 */
export * as PoolSource from "./services/lease/PoolSource.ts"

/**
 * The same for slabs that are split and merged.
 *
 * @category machine
 * @since 0.1.0
 */
export * as ArenaCore from "./domain/pool/arena/ArenaCore.ts"
