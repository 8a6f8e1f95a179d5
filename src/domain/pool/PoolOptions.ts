/**
 * The options of a pool, and their check.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { attempt, valid } from "../arguments/ArgumentProblem.ts"
import { formatted } from "../arguments/Format.ts"
import * as LayerOptions from "../arguments/LayerOptions.ts"
import * as Delay from "../device/Delay.ts"
import type { DeviceInfo } from "../device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"
import type * as EvictionPolicy from "./EvictionPolicy.ts"
import type { idleClockOf, IdleClockOptions } from "./machine/IdleSchedule.ts"
import type { WaitPolicy } from "./machine/Request.ts"
import * as MemoryLimit from "./MemoryLimit.ts"
import type { OutgrownOptions } from "./Outgrown.ts"
import type { PoolStrategy } from "./PoolStrategy.ts"
import type * as ReusePolicy from "./ReusePolicy.ts"
import * as SizePolicy from "./SizePolicy.ts"

/**
 * The most `idleSteps`.
 *
 * @category functions
 * @since 0.1.0
 */
export const mostIdleSteps = 1000

/**
 * What a request does when nothing fits, after everything else was tried: fail with OutOfMemory, or wait for others to
 * give memory back.
 *
 * **Example** (Waiting in a pool that mostly fails)
 *
 * ```ts
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const patient = BufferPool.allocate(1 << 20, { onExhausted: "wait", waitAtMost: "2 seconds" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ExhaustedOptions extends Schema.Schema.Type<typeof ExhaustedOptions> {}

/** Of {@link ExhaustedOptions}. */
export const ExhaustedOptions = Schema.Struct({
  /** `"fail"` (the default of a pool), or `"wait"`: first come, first served; interruptible; without polling. */
  onExhausted: LayerOptions.oneOf(["fail", "wait"]),
  /**
   * How long a request waits at most, for handlers and in the wait queue, before it fails with OutOfMemory. Without it: for
   * ever. Set on a request or a budget it implies `"wait"`; set on a pool it bounds those of its requests that wait.
   */
  waitAtMost: LayerOptions.duration(0)
})

/**
 * The options of one request to any pool.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestOptions extends ExhaustedOptions {
  readonly label?: string | undefined
  readonly callSite?: string | undefined
}

/**
 * The options of a budget: defaults for the requests under it, in place of those of the pool.
 *
 * **Example** (A budget whose requests wait)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const tile = BufferPool.use(1 << 20, () => Effect.void)
 * const tiles = Effect.replicateEffect(tile, 100, { concurrency: "unbounded" }).pipe(
 *   BufferPool.withBudget("8 MiB", { onExhausted: "wait", label: "tile" })
 * )
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface BudgetOptions extends ExhaustedOptions {
  /** The label of leases without one of their own. */
  readonly label?: string | undefined
}

/**
 * The options of a reservation. It waits unless `onExhausted` is `"fail"`.
 *
 * **Example** (Turning a job away that could not begin within two seconds)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const job = Effect.scoped(BufferPool.allocate(1 << 20)).pipe(
 *   BufferPool.reserve("1 MiB", { waitAtMost: "2 seconds", label: "job" })
 * )
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReserveOptions extends ExhaustedOptions {
  /** The label of leases without one of their own, and of the reservation in errors. */
  readonly label?: string | undefined
}

/**
 * A limit: bytes, or a share of the device's memory from 0 to 1, not both. Neither stands for the device's default.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolLimit extends Schema.Schema.Type<typeof PoolLimit> {}

/** Of {@link PoolLimit}. */
export const PoolLimit = Schema.Struct({
  /** Bytes, or "512 MiB", or "50%"; `Infinity` for no limit. */
  maxBytes: MemoryLimit.amount,
  maxFraction: MemoryLimit.fraction
})

/**
 * What is wrong with a strategy that a program passes.
 *
 * @category functions
 * @since 0.1.0
 */
export const strategyProblem = (operation: string, name: string, strategy: unknown): GpuError | undefined => {
  const { core, problem } = (strategy ?? {}) as Partial<PoolStrategy>
  return typeof core === "function"
    ? problem
    : invalidRequest(
      operation,
      `${name} ${formatted(strategy)} is no PoolStrategy`,
      "Pass PoolStrategy.arena() or PoolStrategy.blocks."
    )
}

const evictionOrder = Schema.Literals(["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"])

/**
 * The options of a pool's memory. Sizes are bytes, or texts as `"512 MiB"`, or shares of the device's memory as `"50%"`
 * where the backend reports it: see `BufferPool.ByteAmount`.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryOptions extends Schema.Schema.Type<typeof MemoryOptions> {}

/** Of {@link MemoryOptions}. */
export const MemoryOptions = Schema.Struct({
  /**
   * The most bytes that may be managed and pending together: a number, or `"512 MiB"`, or `"50%"` of the device's memory. Without
   * it, and without `maxFraction`, the device's own default: OpenCL's global memory size, no limit elsewhere.
   */
  maxBytes: MemoryLimit.amount,
  /** The same as a share of the device's memory, from 0 to 1. Give one of the two. */
  maxFraction: MemoryLimit.fraction,
  /**
   * The order in which held blocks go where their memory is needed: under the limit, after the driver refused, in `trimTo`
   * and `freeHeld`. Default: `EvictionPolicy.byNeed`.
   */
  eviction: LayerOptions.data<EvictionPolicy.EvictionPolicy>(
    Schema.Struct({ name: Schema.String, whenKnown: evictionOrder, whenUnknown: evictionOrder }),
    "EvictionPolicy",
    "Pass EvictionPolicy.byNeed, largestFirst, oldestFirst or leastRecentlyUsed."
  ),
  /**
   * Which held blocks a request may get that other queues of the device have used last: see `CommandQueue.make`. Default:
   * `ReusePolicy.afterEvents`.
   */
  reuse: LayerOptions.data<ReusePolicy.ReusePolicy>(
    Schema.Struct({ name: Schema.String, ofOtherQueues: Schema.Literals(["never", "afterEvents", "whenEnded"]) }),
    "ReusePolicy",
    "Pass ReusePolicy.ownQueue, afterEvents or whenEnded."
  ),
  /**
   * How free memory is kept: as blocks without it; `PoolStrategy.arena()` splits slabs and merges their parts. `PoolStrategy.config`
   * reads its name from configuration.
   */
  strategy: LayerOptions.any<PoolStrategy>(),
  /**
   * The most held bytes. Above it held blocks are freed, the longest held first. `Infinity` keeps all. Default: where the
   * size policy borrows, a miss frees smaller held blocks of its family while the pool manages more than 1.9 times the most
   * bytes that leases have asked for at one time; where it does not, no limit.
   */
  maxHeldBytes: MemoryLimit.amount,
  /**
   * How long a held block may be idle. Idle blocks are freed over that time in `idleSteps` steps, the longest idle
   * first, and all of them after that time and one more step. Default: held blocks stay.
   */
  idleTimeToLive: LayerOptions.duration(1),
  /** Held bytes that stay however long they are idle. Default 0. */
  idleKeepBytes: MemoryLimit.amount,
  /** The steps in which idle memory is freed, from 1 to 1000. Default 4. */
  idleSteps: LayerOptions.count(1, mostIdleSteps),
  /**
   * How often later requests that fit may bypass a waiting one that does not; a release looks at the first 64 of the
   * wait queue. Default 16; 0 serves strictly in order.
   */
  maxBypasses: LayerOptions.count(0),
  /**
   * How long requests are in a deadlock, with no memory coming back to their wait queues, until some fail with OutOfMemory: as few as let
   * the others be served, those of the jobs that took their first leases last. The error's `deadlock` names them. They fail between one
   * and two such times after they began to wait, and after that fewer jobs may have memory at a time. A program in which one fiber
   * releases a lease of another, waiting one may need a longer time. Default 100 milliseconds; `Infinity` for never.
   */
  deadlockTimeout: LayerOptions.duration(1),
  /** What errors call it; for a pool also the label of leases without one of their own. */
  label: LayerOptions.label
})

/**
 * The options of a pool for its requests.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeasingOptions extends Schema.Schema.Type<typeof LeasingOptions> {}

/** Of {@link LeasingOptions}. */
export const LeasingOptions = Schema.Struct({
  ...ExhaustedOptions.fields,
  /**
   * Whether the next owner of recycled memory can read what the last one left. A security choice: `"never"` (the
   * default) does not change the memory; `"acquire"` fills the whole block or image with zeros, in queue order, before
   * each lease, and adds `copyDst` to its usage. It holds as long as the queue reports no failure: when the device
   * fails to run a fill, the next `finish` or `read` fails.
   */
  clear: LayerOptions.oneOf(["never", "acquire"]),
  /** The label of leases without one of their own. */
  label: LayerOptions.label
})

/**
 * The options of every pool.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolOptions extends Schema.Schema.Type<typeof PoolOptions> {}

/** Of {@link PoolOptions}. */
export const PoolOptions = Schema.Struct({ ...MemoryOptions.fields, ...LeasingOptions.fields })

const sizePolicy = LayerOptions.instance<SizePolicy.SizePolicy>((operation, _, policy) =>
  SizePolicy.problem(operation, policy as never)
)

/** Of a pool whose memory a size policy divides. */
export const BlockOptions = Schema.Struct({
  ...PoolOptions.fields,
  /** From request to block size; `SizePolicy.defaultPolicy` without it. */
  sizePolicy
})

const { clear, eviction, label, maxBytes, maxFraction, maxHeldBytes } = PoolOptions.fields

/** Of a small pool, whose requests do not wait. */
export const SmallBlockOptions = Schema.Struct({
  /** The most bytes that the pool manages: bytes, or "512 MiB", or "50%". Default: that of the device, which mostly has none. */
  maxBytes,
  /** The same as a share of the device's memory, from 0 to 1. Give one of the two. */
  maxFraction,
  /** The most bytes that the pool keeps for reuse. Default: no limit. */
  maxHeldBytes,
  /** Which held blocks are freed to make room: see `EvictionPolicy`. */
  eviction,
  /** From request to block size; `SizePolicy.defaultPolicy` without it. */
  sizePolicy,
  /** `"acquire"` fills memory with zeros before each lease; `"never"` (the default) does not change it. */
  clear,
  /** The label of leases without one of their own. */
  label
})

/**
 * The options of a pool that shares a `DeviceMemory` with others. Those that concern blocks are options of the memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface SharedPoolOptions extends Schema.Schema.Type<typeof SharedPoolOptions> {}

/** Of {@link SharedPoolOptions}. */
export const SharedPoolOptions = Schema.Struct({
  ...LeasingOptions.fields,
  /** The most bytes that the pool may lease at a time, within the limit of the memory. Default: all of it. */
  maxBytes: MemoryLimit.amount,
  /** The same as a share of the device's memory, from 0 to 1. Give one of the two. */
  maxFraction: MemoryLimit.fraction
})

/** The same, where it shares its memory. */
export const SharedBlockOptions = Schema.Struct({
  ...SharedPoolOptions.fields,
  /** From request to block size; `SizePolicy.defaultPolicy` without it. */
  sizePolicy
})

/**
 * Checked options, resolved for one device.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemorySettings {
  /** What errors call its owner: a pool, or the memory that several pools share. */
  readonly kind: "pool" | "memory"
  readonly maxBytes: number
  readonly maxHeldBytes: number
  /** What is known of the program's sizes, where `maxHeldBytes` is not set; else `undefined`. */
  readonly outgrown: OutgrownOptions | undefined
  readonly eviction: EvictionPolicy.EvictionPolicy | undefined
  readonly reuse: ReusePolicy.ReusePolicy | undefined
  readonly strategy: PoolStrategy | undefined
  readonly idle: IdleClockOptions | undefined
  readonly maxBypasses: number
  readonly deadlockTimeoutMillis: number
  readonly label: string | undefined
}

/**
 * How a pool leases, resolved for a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeasingSettings {
  readonly waitPolicy: WaitPolicy
  readonly clears: boolean
  readonly label: string | undefined
}

/** A checked duration option in milliseconds. */
const millisOf = (value: Duration.Input | undefined, absent: number): number =>
  value === undefined ? absent : Duration.toMillis(Duration.fromInputUnsafe(value))

/** A duration in milliseconds, or the error. */
const millis = (where: string, name: string, value: Duration.Input | undefined, absent: number): number | GpuError => {
  const duration = value === undefined ? undefined : Delay.parse(value)
  if (value === undefined || duration !== undefined) return millisOf(duration, absent)
  return LayerOptions.durationProblem(0)(where, name, value)
}

/**
 * The waiting options of a request or a pool, with the defaults of the level around it.
 *
 * @category getters
 * @since 0.1.0
 */
export const waitPolicyOf = (
  where: string,
  options: ExhaustedOptions,
  without: WaitPolicy
): WaitPolicy | GpuError => {
  const { onExhausted, waitAtMost } = options
  const longest = millis(where, "waitAtMost", waitAtMost, without.waitAtMost)
  if (isGpuError(longest)) return longest
  // A hit never reads it. Here it decides whether the request waits, so a wrong text must not pass for "fail".
  const problem = LayerOptions.problemOf(ExhaustedOptions.fields.onExhausted, where, "onExhausted", onExhausted)
  if (problem !== undefined) return problem
  // A request with `waitAtMost` waits.
  const implied = waitAtMost === undefined ? without.onExhausted : "wait"
  return { onExhausted: onExhausted ?? implied, waitAtMost: longest }
}

/**
 * The limit of a pool in bytes; without one the device's own.
 *
 * @category getters
 * @since 0.1.0
 */
export const limitOf = (
  where: string,
  { maxBytes, maxFraction }: PoolLimit,
  device: DeviceInfo
): number | GpuError =>
  MemoryLimit.resolve(where, "maxBytes", { bytes: maxBytes, fraction: maxFraction }, device) ??
    device.limits.defaultMaxBytes ?? Infinity

/**
 * The options of a memory resolved for a device, or the error. `idleClock` is the function of `IdleSchedule`, for pools that
 * give idle blocks back.
 *
 * @category functions
 * @since 0.1.0
 */
export const memorySettingsOf = (
  operation: string,
  kind: MemorySettings["kind"],
  options: MemoryOptions,
  device: DeviceInfo,
  idleClock?: typeof idleClockOf
): MemorySettings | GpuError =>
  attempt(() => {
    const { eviction, idleSteps = 4, label, maxBypasses = 16, reuse } = options
    const bytesOf = (name: "idleKeepBytes" | "maxHeldBytes") =>
      valid(MemoryLimit.resolve(operation, name, { bytes: options[name] }, device))
    const maxBytes = valid(limitOf(operation, options, device))
    const maxHeldBytes = bytesOf("maxHeldBytes") ?? Infinity
    const keepBytes = bytesOf("idleKeepBytes") ?? 0
    const timeToLive = millisOf(options.idleTimeToLive, Infinity)
    return {
      kind,
      maxBytes,
      maxHeldBytes,
      outgrown: options.maxHeldBytes === undefined ? { mostLeasedBytes: 0, missedBytes: 0 } : undefined,
      eviction,
      reuse,
      strategy: options.strategy,
      idle: timeToLive < Infinity
        ? idleClock?.({ steps: idleSteps, keepBytes, stepMillis: timeToLive / idleSteps })
        : undefined,
      maxBypasses,
      deadlockTimeoutMillis: millisOf(options.deadlockTimeout, 100),
      label
    }
  })

/**
 * The same for the options of requests.
 *
 * @category getters
 * @since 0.1.0
 */
export const leasingSettingsOf = ({ clear, label, onExhausted, waitAtMost }: LeasingOptions): LeasingSettings => ({
  waitPolicy: { onExhausted: onExhausted ?? "fail", waitAtMost: millisOf(waitAtMost, Infinity) },
  clears: clear === "acquire",
  label
})

/**
 * The same for a pool that shares its memory.
 *
 * @category getters
 * @since 0.1.0
 */
export const sharedSettingsOf = (
  operation: string,
  options: SharedPoolOptions,
  device: DeviceInfo
): (LeasingSettings & { readonly maxBytes: number }) | GpuError => {
  const { maxBytes: bytes, maxFraction: fraction } = options
  const maxBytes = MemoryLimit.resolve(operation, "maxBytes", { bytes, fraction }, device) ?? Infinity
  return isGpuError(maxBytes) ? maxBytes : { ...leasingSettingsOf(options), maxBytes }
}
