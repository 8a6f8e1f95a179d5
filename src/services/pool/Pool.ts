/**
 * The methods of every pool besides leasing: limits, budgets, reservations, and its memory.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scheduler from "effect/Scheduler"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { attempt, valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, type Holder, invalidRequest, isGpuError, unsupported } from "../../domain/GpuError.ts"
import * as Budget from "../../domain/pool/machine/Budget.ts"
import { idleClockOf } from "../../domain/pool/machine/IdleSchedule.ts"
import type { Account, Family } from "../../domain/pool/machine/Request.ts"
import { waitQueue } from "../../domain/pool/machine/WaitQueue.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import {
  type BudgetOptions,
  type LeasingSettings,
  leasingSettingsOf,
  limitOf,
  type MemorySettings,
  memorySettingsOf,
  PoolLimit,
  type PoolOptions,
  type ReserveOptions,
  strategyProblem,
  waitPolicyOf
} from "../../domain/pool/PoolOptions.ts"
import * as PoolStats from "../../domain/pool/PoolStats.ts"
import type { QueueStats } from "../../domain/pool/PoolStats.ts"
import type { PoolStrategy } from "../../domain/pool/PoolStrategy.ts"
import { validated } from "../calls/Validated.ts"
import { toLoggers } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import type * as QueueEvent from "../device/QueueEvent.ts"
import * as EventOrder from "../device/queues/EventOrder.ts"
import { DefaultStrategy } from "../lease/DefaultStrategy.ts"
import type { Leasable, Lease } from "../lease/Lease.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { CurrentHub } from "./EventHub.ts"
import { Handlers, type Need } from "./Handlers.ts"
import { IdleClock } from "./IdleClock.ts"
import { JointRequests } from "./JointRequests.ts"
import type { PoolRequests } from "./PoolRequests.ts"
import { type PoolParts, PoolRuntime } from "./PoolRuntime.ts"
import { waits } from "./RequestWaits.ts"

/**
 * What can be seen and changed of a pool's memory.
 *
 * **Example** (A function that works on any pool, of buffers or of images)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 *
 * const isFull = (pool: BufferPool.MemoryControls) =>
 *   Effect.zipWith(pool.stats, pool.maxBytes, ({ managedBytes }, limit) => managedBytes >= limit)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryControls {
  /** The counters now; under a budget those of its leases. */
  readonly stats: Effect.Effect<PoolStats.PoolStats>
  /** The largest live leases, largest first: three unless told otherwise. */
  readonly holders: (count?: number) => Effect.Effect<ReadonlyArray<Holder>>
  /** The limit now, in bytes; `Infinity` without one. */
  readonly maxBytes: Effect.Effect<number>
  /** Changes the limit, of the pool or of the budget. See `BufferPool.setLimit`. */
  readonly setLimit: (limit: MemoryLimit.ByteAmount | PoolLimit) => Effect.Effect<void, GpuError>
  /** Frees held blocks until at most so many bytes are managed. See `BufferPool.trimTo`. */
  readonly trimTo: (bytes: MemoryLimit.ByteAmount) => Effect.Effect<void, GpuError>
  /** Frees all held blocks, and waits until the driver has their memory. Active leases stay. */
  readonly freeHeld: Effect.Effect<void, GpuError>
  /** The same for the held blocks of one queue of the device. See `BufferPool.freeHeldOf`. */
  readonly freeHeldOf: (queue: QueueEvent.QueueLike) => Effect.Effect<void, GpuError>
  /** What the pool has for one queue of the device. See `BufferPool.statsOf`. */
  readonly statsOf: (queue: QueueEvent.QueueLike) => Effect.Effect<QueueStats, GpuError>
  /** Frees all held blocks, and from now on every block when its lease ends. */
  readonly stopHolding: Effect.Effect<void, GpuError>
  /** From now on released blocks are kept again. */
  readonly resumeHolding: Effect.Effect<void>
}

/**
 * What every pool can do besides leasing; `P` is the pool itself, as budgets and reservations within it are.
 *
 * **Example** (A job with a share of whatever pool it is given)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 *
 * const withShare = <P, A, E, R>(pool: BufferPool.PoolControls<P>, job: (share: P) => Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(pool.budget("25%"), job)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolControls<P> extends MemoryControls {
  /** Runs `f` with a pool that has reserved so many bytes for it. See `BufferPool.reserve`. */
  readonly reserve: <A, E, R>(
    bytes: MemoryLimit.ByteAmount,
    f: (pool: P) => Effect.Effect<A, E, R>,
    options?: ReserveOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** Runs an effect when no other effect of `exclusively` runs. See `BufferPool.exclusively`. */
  readonly exclusively: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, R>
  /** Asks a handler when memory has run out, until the scope closes. See `BufferPool.onOutOfMemory`. */
  readonly onOutOfMemory: <R>(
    handler: (need: Need) => Effect.Effect<boolean, GpuError, R>
  ) => Effect.Effect<void, GpuError, R | Scope.Scope>
  /**
   * A pool on the same memory that leases no more than so many bytes at a time. See `BufferPool.withBudget`. `called` is
   * the function of the pool's module that its errors name: `"budget"` without it.
   */
  readonly budget: (
    limit: MemoryLimit.ByteAmount,
    options?: BudgetOptions,
    called?: string
  ) => Effect.Effect<P, GpuError>
}

/**
 * The memory of one pool, or of several. It closes with the scope.
 *
 * @internal
 */
export const makeMemory = (
  operation: string,
  settings: MemorySettings
): Effect.Effect<PoolRuntime, GpuError, DeviceContext | Scope.Scope> =>
  Effect.gen(function*() {
    const strategy = settings.strategy ?? (yield* DefaultStrategy)
    const device = yield* DeviceContext
    const core = strategy && coreOf(operation, strategy, device)
    if (isGpuError(core)) return yield* core
    if (strategy?.splits && device.loadParts) yield* device.loadParts
    return yield* makeMemoryWith({ ...settings, strategy }, {
      warn: toLoggers,
      queue: waitQueue,
      waits,
      idleClock: (memory, run) => new IdleClock(memory, run),
      core,
      searchApart: strategy?.searchApart
    })
  })

/** The core that a strategy makes. Only buffers can be split. */
const coreOf = (
  operation: string,
  strategy: PoolStrategy,
  { info, partUnsafe }: DeviceContext["Service"]
): PoolParts["core"] | GpuError => {
  const { core, name, splits } = strategy
  const problem = strategyProblem(operation, "strategy", strategy)
  if (problem !== undefined) return problem
  if (splits && partUnsafe === undefined) {
    return unsupported(
      operation,
      info.backend,
      `the strategy ${name}`,
      "Leave the strategy out: the buffers of this backend cannot be split."
    )
  }
  return (memory, options) =>
    core<Leasable, Family>(options, {
      // So that no part of a slab is smaller than the least block of a request.
      alignment: Math.max(info.limits.regionAlignment, info.limits.granularity),
      splits: (family) =>
        Array.from(memory.sources).some((source) => source.owns(family) && source.splitsFamily?.(family) === true),
      part: (slab, begin, bytes) => partUnsafe!(slab as DeviceBuffer, begin, bytes)
    })
}

/**
 * The same of these parts.
 *
 * @internal
 */
export const makeMemoryWith = (
  settings: MemorySettings,
  parts: PoolParts
): Effect.Effect<PoolRuntime, never, DeviceContext | Scope.Scope> =>
  Effect.gen(function*() {
    const device = yield* DeviceContext
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const scheduler = yield* Scheduler.Scheduler
    const hub = yield* CurrentHub
    const { memory } = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const memory = new PoolRuntime(settings, device, run, scheduler, hub, parts)
        const forgetLoss = device.status.onLost(() => {
          run(Effect.sync(() => memory.inputs.loseDevice()))
        })
        return { memory, forgetLoss }
      }),
      ({ forgetLoss, memory }) => Effect.andThen(Effect.sync(forgetLoss), memory.close)
    )
    return memory
  })

/**
 * The requests of a pool on a memory. With `maxBytes` it is one of several pools that share the memory, and closes with the scope.
 *
 * @internal
 */
export const openRequests = <W, V extends Leasable, L extends Lease<V>>(
  memory: PoolRuntime,
  source: PoolSource<W, V, L>,
  { label, waitPolicy }: LeasingSettings,
  maxBytes: number | undefined
): Effect.Effect<JointRequests<W, V, L>, never, Scope.Scope> => {
  const terms = { from: undefined, waitPolicy, label }
  if (maxBytes === undefined) {
    memory.add(source)
    return Effect.succeed(new JointRequests(memory, source, terms, undefined))
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      memory.add(source)
      if (memory.closed) source.closed = true
      return new JointRequests(memory, source, terms, Budget.make(memory.machine, "pool", maxBytes, undefined, label))
    }),
    ({ budget }) => memory.closePool(source, budget!)
  )
}

/**
 * Resolves the settings of a pool or a memory for the device in context, and opens it.
 *
 * @internal
 */
export const openWith = <S extends object, A, E, R>(
  settingsOf: (device: DeviceInfo) => S | GpuError,
  open: (settings: S) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | DeviceContext> =>
  Effect.gen(function*() {
    const { info } = yield* DeviceContext
    const settings = attempt(() => settingsOf(info))
    return isGpuError(settings) ? yield* settings : yield* open(settings)
  })

/**
 * Opens a pool of one kind on a memory; with `maxBytes` it is one of several pools that share it.
 *
 * @internal
 */
export type OpenPool<Own, A, E, R> = (
  memory: PoolRuntime,
  settings: LeasingSettings & Own,
  maxBytes: number | undefined
) => Effect.Effect<A, E, R>

/**
 * A pool that has its memory for itself. `ownOf` gives the settings that its kind adds.
 *
 * @internal
 */
export const openAlone = <F extends typeof PoolOptions.fields, Own extends object, A, E, R>(
  operation: string,
  options: Schema.Struct<F>["Type"],
  schema: Schema.Struct<F>,
  ownOf: (options: Schema.Struct<F>["Type"]) => Own,
  open: OpenPool<Own, A, E, R>
): Effect.Effect<A, E | GpuError, R | DeviceContext | Scope.Scope> =>
  openWith((device) => {
    const given = valid(LayerOptions.read(operation, schema, options))
    const memory = valid(memorySettingsOf(operation, "pool", given, device, idleClockOf))
    return { ...ownOf(given), ...memory, ...leasingSettingsOf(given) }
  }, (settings) => Effect.flatMap(makeMemory(operation, settings), (memory) => open(memory, settings, undefined)))

/**
 * Makes a pool's service of its requests: for the pool itself, its budgets and its reservations.
 *
 * @internal
 */
export type PoolOf<W, V extends Leasable, L extends Lease<V>, P> = (requests: JointRequests<W, V, L>) => P

/**
 * The members that concern a memory, or a budget within it.
 *
 * @internal
 */
export const memoryControlsOf = (
  service: string,
  memory: PoolRuntime,
  budget: Budget.Budget | undefined,
  isClosed: () => boolean = () => memory.closed
): MemoryControls => {
  const { deviceInfo: device } = memory
  // The memory of a closed pool may stay open for other pools.
  const whileOpen = <E>(effect: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.suspend(() => isClosed() && !memory.closed ? Effect.void : effect)
  return {
    stats: Effect.sync(() => (budget ?? memory.core).stats()),
    holders: (count = 3) => Effect.sync(() => memory.leases.largestHolders(countOf(count), budget)),
    maxBytes: Effect.sync(() => maxBytesOf(memory, budget)),
    setLimit: (limit) =>
      validated(`${service}.setLimit`, (operation) => {
        const bytes = valid(changedLimit(operation, limit, device, budget))
        return budget === undefined
          ? memory.setMaxBytes(bytes)
          : Effect.sync(() => memory.inputs.setBudgetLimit(budget, bytes))
      }),
    trimTo: (target) =>
      validated(
        `${service}.trimTo`,
        (operation) => whileOpen(memory.trimTo(valid(MemoryLimit.required(operation, "bytes", target, device))))
      ),
    freeHeld: whileOpen(memory.freeHeld),
    freeHeldOf: (queue) =>
      validated(
        `${service}.freeHeldOf`,
        (operation) =>
          Effect.flatMap(EventOrder.orderOf(operation, queue, device), (order) => whileOpen(memory.freeHeldOf(order)))
      ),
    statsOf: (queue) =>
      validated(
        `${service}.statsOf`,
        (operation) => Effect.map(EventOrder.orderOf(operation, queue, device), (order) => memory.statsOf(order))
      ),
    stopHolding: whileOpen(memory.stopHolding),
    resumeHolding: whileOpen(memory.resumeHolding)
  }
}

/**
 * The members that a pool, a budget or a reservation has besides those that lease.
 *
 * @internal
 */
export const controlsOf = <W, V extends Leasable, L extends Lease<V>, P>(
  requests: JointRequests<W, V, L>,
  poolOf: PoolOf<W, V, L, P>
): PoolControls<P> => {
  const { budget, pool: memory, source: { service }, terms } = requests
  const { deviceInfo: device } = memory
  return {
    ...memoryControlsOf(service, memory, budget, () => requests.source.closed),
    reserve: (amount, f, options = {}) =>
      validated(`${service}.reserve`, (operation) => {
        const bytes = valid(MemoryLimit.required(operation, "the reservation", amount, device))
        return requests.reserve(bytes, (reserved) => f(poolOf(reserved)), options)
      }),
    exclusively: (effect) => requests.exclusively(effect),
    onOutOfMemory: (handler) => registered(requests, handler),
    budget: (limit, options = {}, called = "budget") =>
      validated(`${service}.${called}`, (operation) => {
        const bytes = valid(MemoryLimit.required(operation, "the budget", limit, device))
        const waitPolicy = valid(waitPolicyOf(operation, options, terms.waitPolicy))
        if (budget !== undefined && budget.chain.length >= Budget.mostNested) return nestedTooDeep(operation)
        const { label = terms.label } = options
        const inner = Budget.make(memory.machine, "budget", bytes, budget, options.label)
        return Exit.succeed(poolOf(requests.under({ waitPolicy, label }, inner)))
      })
  }
}

const nestedTooDeep = (operation: string): GpuError =>
  invalidRequest(
    operation,
    `the budget would be within ${Budget.mostNested} others, and ${Budget.mostNested - 1} are the most`,
    "Make it within an outer one: each request is charged to all budgets around it."
  )

/** The requests behind each pool service: for the line that it prints, and for what several pools do together. */
const insides = new WeakMap<object, Inside>()

interface Inside extends Pick<PoolRequests<never, Leasable, Lease>, "budget" | "label" | "pool" | "source" | "terms"> {
  /** Left out where nothing can be reserved. */
  readonly reserveForAll?: JointRequests<never, Leasable, Lease>["reserveForAll"]
}

/** By service. Prototypes keep pools small: each reservation, made for every job, is a pool too. */
const prototypes = new Map<string, object>()

const prototypeOf = (service: string): object => {
  const known = prototypes.get(service) ?? showing((pool) => poolLine(insides.get(pool)!), service)({})
  prototypes.set(service, known)
  return known
}

/**
 * A pool service that prints as one line.
 *
 * @internal
 */
export const shownAsPool = <P extends object>(requests: Inside, members: P): P => {
  const pool: P = Object.assign(Object.create(prototypeOf(requests.source.service)), members)
  insides.set(pool, requests)
  return pool
}

/**
 * Runs an effect that has leases of one pool while it requests memory of another one. If both share one memory, it begins when
 * that has room for all bytes together: otherwise such effects could deadlock.
 *
 * @internal
 */
export const reserveTogether = <A, E, R>(
  operation: string,
  wants: ReadonlyArray<{ readonly pool: object; readonly bytes: number }>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> => {
  const pools = wants.flatMap(({ bytes, pool }) => {
    const inside = insides.get(pool)
    return inside === undefined ? [] : [{ inside, bytes: inside.source.exactSize(bytes) }]
  })
  const [first, ...others] = pools
  if (first === undefined || pools.length < wants.length) return effect
  if (others.some(({ inside }) => inside.pool !== first.inside.pool)) return effect
  const bytes = pools.reduce((sum, { bytes }) => sum + bytes, 0)
  const budgets = pools.flatMap(({ inside }) => inside.budget?.chain ?? [])
  return first.inside.reserveForAll?.(operation, bytes, budgets, effect) ?? effect
}

/**
 * The most bytes that each of these pools can lease at a time, all of them together, under the limits that they have now.
 *
 * @internal
 */
export const mostTogether = (pools: ReadonlyArray<object>): number => {
  const inside = pools.flatMap((pool) => insides.get(pool) ?? [])
  return Math.min(...inside.map(({ budget, pool, source }) => {
    const sharing = inside.filter((other) => other.pool === pool).length
    return Math.min(source.largest, pool.core.maxBytes / sharing, ...(budget?.chain ?? []).map(({ limit }) => limit))
  }))
}

const poolLine = ({ budget, label, pool: memory, source, terms: { from } }: Inside): string => {
  const maxBytes = maxBytesOf(memory, budget)
  const limit = budget?.limitName ?? "maxBytes"
  const closed = source.closed ? "closed" : from?.isOpen === false ? "its effect has ended" : undefined
  return inOneLine(
    from !== undefined ? "Reservation" : budget?.owner.kind === "budget" ? "Budget" : source.service,
    label,
    [
      PoolStats.format((budget ?? memory.core).stats()),
      from === undefined ? undefined : `${from.left} B of the reservation left`,
      maxBytes === Infinity ? "no byte limit" : `${limit} ${maxBytes} B`,
      closed ?? deviceState(memory.status, memory.deviceInfo)
    ]
  )
}

const maxBytesOf = ({ core }: PoolRuntime, budget: Budget.Budget | undefined): number =>
  budget === undefined ? core.maxBytes : budget.limit

/** A whole number: fractions are dropped, and anything below 0 or NaN is 0. */
const countOf = (count: number): number => Math.max(0, Math.floor(count) || 0)

const changedLimit = (
  operation: string,
  limit: MemoryLimit.ByteAmount | PoolLimit,
  device: DeviceInfo,
  budget: Budget.Budget | undefined
): number | GpuError => {
  if (typeof limit !== "object" || limit === null) return MemoryLimit.required(operation, "maxBytes", limit, device)
  valid(LayerOptions.read(operation, PoolLimit, limit))
  if (budget !== undefined && limit.maxBytes === undefined && limit.maxFraction === undefined) {
    if (budget.owner.kind === "pool") return Infinity
    return invalidRequest(operation, "a budget has no default limit", `Pass { maxBytes } or { maxFraction }.`)
  }
  return limitOf(operation, limit, device)
}

const newHandlers = (pool: PoolRuntime, account: Account): Handlers => {
  const handlers = new Handlers(pool, (some) => pool.inputs.setHandlers(account, some))
  pool.handlers.set(account, handlers)
  return handlers
}

const registered = <W, V extends Leasable, L extends Lease<V>, R>(
  { accounts, pool }: PoolRequests<W, V, L>,
  handler: (need: Need) => Effect.Effect<boolean, GpuError, R>
): Effect.Effect<void, GpuError, R | Scope.Scope> =>
  Effect.contextWith((context: Context.Context<R | Scope.Scope>): Effect.Effect<void, GpuError, R | Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() =>
        accounts.map((account) => {
          const handlers = pool.handlers.get(account) ?? newHandlers(pool, account)
          return handlers.add((need) => Effect.provideContext(handler(need), context))
        })
      ),
      (removals) => Effect.sync(() => removals.forEach((remove) => remove()))
    )
  )
