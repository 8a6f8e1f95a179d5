/**
 * What a pool does with requests: checks them, answers a hit in one step, and sends the others the long way. A budget has
 * requests of its own on the memory of its pool, and so has a reservation.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { functionProblem, membersOf } from "../../domain/ArgumentProblem.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import * as Label from "../../domain/Label.ts"
import { line } from "../../domain/ShownValue.ts"
import * as CallSite from "../CallSite.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import {
  type ExhaustedOptions,
  knownOfRequest,
  patienceOf,
  type PoolAllocateOptions,
  type ReserveOptions
} from "../PoolOptions.ts"
import { type Budget, Charge } from "./Budget.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { CurrentTurn } from "./JobTurns.ts"
import type { LastResort } from "./LastResort.ts"
import type { LeaseList } from "./LeaseList.ts"
import { type LeasePool, together } from "./LeasePool.ts"
import { drawMore, goesFirst, LeaseRequest, type Patience, type Terms, unavailable, undraw } from "./LeaseRequest.ts"
import type { MemoryPool } from "./MemoryPool.ts"
import { SetAside } from "./SetAside.ts"

const operation = "BufferPool.allocate"

/** A request that can never fit is told under its label. */
const labelled = (label: string | undefined): string =>
  label === undefined ? operation : `${operation}, "${line(label)}"`
const togetherOperation = "BufferPool.allocateAll"

/** More are looked at one by one, after their bytes are set aside. */
const mostHitTogether = 16

const noted = (lease: PooledBuffer, options: PoolAllocateOptions | undefined): PooledBuffer => {
  CallSite.note(lease, options?.callSite)
  return lease
}

type AnyFiber = Fiber.Fiber<unknown, unknown>

/** Leases of which all are wanted or none. */
interface WantedTogether {
  /** The list that will own them. */
  readonly list: LeaseList
  readonly fiber: AnyFiber
  readonly sizes: ReadonlyArray<number>
  readonly usage: BufferUsage.BufferUsage
  readonly label: string | undefined
  readonly options: PoolAllocateOptions | undefined
  /** Has each of them from the step on that grants it. */
  readonly granted: Array<PooledBuffer>
}

/** @internal */
export class PoolRequests {
  readonly memory: MemoryPool
  readonly leases: LeasePool
  readonly terms: Terms
  readonly label: string | undefined
  /** Whether neither a budget nor a reservation has to be told of a lease. */
  readonly #isPlain: boolean
  /** No request above it can ever be served by the device. */
  readonly #largest: number

  constructor(memory: MemoryPool, terms: Terms) {
    const { maxBufferSize, memoryBytes = Infinity } = memory.limits
    this.memory = memory
    this.leases = memory.leases
    this.terms = terms
    this.label = terms.label
    this.#isPlain = terms.budget === undefined && terms.from === undefined
    this.#largest = Math.min(maxBufferSize, memoryBytes)
  }

  get budget(): Budget | undefined {
    return this.terms.budget
  }

  /** Of the budget, or of the pool. */
  get lastResort(): LastResort {
    return (this.budget ?? this.memory).lastResort
  }

  allocate(size: number, given: PoolAllocateOptions | undefined): Effect.Effect<PooledBuffer, GpuError, Scope.Scope> {
    const options = this.#read(operation, given, this.allocate)
    if (isGpuError(options)) return options
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.label
    const acquire = (list: LeaseList, fiber: AnyFiber): Effect.Effect<PooledBuffer, GpuError> =>
      this.#acquire(list, fiber, size, usage, label, options)
    return Effect.withFiber((fiber) =>
      this.#problem(size, usage, label) ??
        this.leases.withList(Context.getUnsafe(fiber.context, Scope.Scope), fiber, acquire)
    )
  }

  use<A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    given: PoolAllocateOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    const options = this.#read("BufferPool.use", given, this.use)
    if (isGpuError(options)) return options
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.label
    return Effect.withFiber((fiber) => {
      const problem = functionProblem("BufferPool.use", "f", f) ?? this.#problem(size, usage, label)
      if (problem !== undefined) return problem
      let hit: PooledBuffer | undefined
      let request: LeaseRequest | undefined
      // The block is taken inside, when the finalizer is on the fiber's stack already: no interruption can lose it.
      return Effect.onExitPrimitive(
        Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
          hit = this.#hit(this.leases.loans, size, usage, label)
          if (hit !== undefined) {
            hit.borrowerId = fiber.id
            return f(noted(hit, options))
          }
          const made = this.#request(this.leases.loans, fiber, size, usage, label, options)
          if (isGpuError(made)) return made
          request = made
          return Effect.flatMap(this.memory.lease(made), f)
        }),
        (exit) => request === undefined ? this.#endLoan(hit) : this.#endRequest(request, exit)
      )
    })
  }

  /** Runs `f` with requests that a reservation of so many bytes serves, as soon as these are certain. */
  reserve<A, E, R>(
    bytes: number,
    f: (requests: PoolRequests) => Effect.Effect<A, E, R>,
    options: ReserveOptions
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const request = this.#reservation("BufferPool.reserve", fiber, bytes, {
        ...options,
        onExhausted: options.onExhausted ?? "wait"
      })
      if (isGpuError(request)) return request
      const { asks } = request
      const requests = new PoolRequests(this.memory, { ...this.terms, from: asks, label: asks.label })
      return this.#whileOpen(request, this.memory.setAside(request), () => f(requests))
    })
  }

  /** Runs an effect when no other one runs that cannot say what it needs, if requests wait at all. */
  inTurn<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R> {
    if (this.terms.patience.onExhausted === "fail") return effect
    return Effect.withFiber((fiber) => {
      const isCovered = this.terms.from?.isOpen === true || this.#turnOf(fiber) !== undefined
      // A handler works for a request, maybe one of the job whose turn it is.
      if (isCovered || isWithin(fiber.getRef(InHandler), this.memory.lines)) return effect
      const request = this.#reservation("BufferPool.inTurn", fiber, 0, {}, fiber.getRef(CurrentTurn))
      if (isGpuError(request)) return request
      const turn = Effect.provideService(effect, CurrentTurn, request.asks)
      return this.#whileOpen(request, this.memory.awaitTurn(request), () => turn)
    })
  }

  /** All leases or none, with one place in line. They belong to the caller's scope. */
  allocateAll(
    sizes: ReadonlyArray<number>,
    given: PoolAllocateOptions | undefined
  ): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError, Scope.Scope> {
    const options = this.#read("BufferPool.allocateAll", given, this.allocateAll)
    if (isGpuError(options)) return options
    return Effect.withFiber((fiber) =>
      this.leases.withList(
        Context.getUnsafe(fiber.context, Scope.Scope),
        fiber,
        (list) => this.#acquireAll(list, fiber, sizes, options, [])
      )
    )
  }

  /** The same for leases that are lent to `f`. */
  useAll<A, E, R>(
    sizes: ReadonlyArray<number>,
    f: (leases: ReadonlyArray<PooledBuffer>) => Effect.Effect<A, E, R>,
    given: PoolAllocateOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    const options = this.#read("BufferPool.useAll", given, this.useAll)
    if (isGpuError(options)) return options
    return Effect.withFiber((fiber) => {
      const lent: Array<PooledBuffer> = []
      return Effect.onExitPrimitive(
        Effect.suspend(() => Effect.flatMap(this.#acquireAll(this.leases.loans, fiber, sizes, options, lent), f)),
        () => this.#endAll(lent, this.leases.loans)
      )
    })
  }

  /** Options with their members as they are now, and where the request was made, while that is tracked. */
  #read(
    where: string,
    given: PoolAllocateOptions | undefined,
    entry: CallSite.Entry
  ): PoolAllocateOptions | GpuError | undefined {
    if (given === undefined) return CallSite.locate(given, entry)
    const read = membersOf(where, given, knownOfRequest)
    return isGpuError(read) ? read : CallSite.locate(read, entry)
  }

  /** Kept short for the requests that are in order, which are nearly all. */
  #problem(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    const { leases, status } = this.memory
    return !leases.closed && status.error === undefined &&
        Number.isInteger(size) && size >= 0 && this.#mayFit(size) &&
        usage === BufferUsage.defaultUsage && Label.isLabel(label)
      ? undefined
      : this.#reason(size, usage, label)
  }

  #reason(size: number, usage: BufferUsage.BufferUsage, label: string | undefined): GpuError | undefined {
    const { leases, status } = this.memory
    if (leases.closed) return unavailable({ operation, size, label }, "poolClosed")
    const problem = status.error ?? BufferRequest.problem(operation, size, usage, label)
    if (problem !== undefined) return problem
    return this.#mayFit(size) ? undefined : this.memory.limitProblem(labelled(label), size, undefined)
  }

  #mayFit(bytes: number): boolean {
    return bytes <= this.#largest && bytes <= this.memory.core.maxBytes
  }

  #acquire(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    options: PoolAllocateOptions | undefined
  ): Effect.Effect<PooledBuffer, GpuError> {
    if (list.closed) return unavailable({ operation, size, label }, "scopeClosed")
    const hit = this.#hit(list, size, usage, label)
    if (hit !== undefined) return Exit.succeed(noted(hit, options))
    const request = this.#request(list, fiber, size, usage, label, options)
    return isGpuError(request) ? request : this.#lease(request)
  }

  /** The whole of a hit, in one step: nothing but the lease is made. Pools that clear and budgets go the longer way. */
  #hit(
    list: LeaseList,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): PooledBuffer | undefined {
    const { memory } = this
    if (size === 0) return this.#empty(list, usage, label)
    if (!memory.mayHit || !this.#isPlain) return undefined
    const block = memory.takeHeld(size, memory.sizeOf(size), usage)
    return block === undefined ? undefined : this.leases.grant(list, block, size, usage, label)
  }

  #empty(list: LeaseList, usage: BufferUsage.BufferUsage, label: string | undefined): PooledBuffer {
    const lease = this.leases.grant(list, undefined, 0, usage, label)
    this.terms.collect?.push(lease)
    return lease
  }

  #request(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    options: PoolAllocateOptions | undefined
  ): LeaseRequest<undefined> | GpuError {
    const { memory, terms } = this
    const { budget } = terms
    const exactSize = memory.exactSizeOf(size)
    const patience = this.#patienceOf(operation, exactSize, undefined, options)
    if (isGpuError(patience)) return patience
    const blockSize = memory.sizeOf(size)
    return new LeaseRequest(
      operation,
      undefined,
      size,
      exactSize,
      budget === undefined ? blockSize : budget.blockSize(blockSize, exactSize),
      usage,
      label,
      options?.callSite,
      list,
      fiber,
      this.#turnOf(fiber),
      patience,
      terms,
      budget === undefined ? undefined : new Charge()
    )
  }

  /**
   * What a request does when nothing fits; or InvalidRequest for options that make no sense, and LimitExceeded for what can
   * never fit.
   */
  #patienceOf(
    where: string,
    exactSize: number,
    asks: SetAside | undefined,
    options: ExhaustedOptions | undefined
  ): Patience | GpuError {
    const { budget, patience: without } = this.terms
    const patience = options?.onExhausted === undefined && options?.waitAtMost === undefined
      ? without
      : patienceOf(where, options, without)
    if ((budget === undefined && this.#mayFit(exactSize)) || isGpuError(patience)) return patience
    return this.memory.limitProblem(where, exactSize, asks) ??
      budget?.limitProblem(where, exactSize) ??
      patience
  }

  #turnOf(fiber: AnyFiber): SetAside | undefined {
    if (this.memory.reservations.size === 0) return undefined
    let turn = fiber.getRef(CurrentTurn)
    while (turn !== undefined && !turn.isOf(this.memory.core)) turn = turn.parent
    return turn
  }

  /** A request that asks for a reservation. */
  #reservation(
    where: string,
    fiber: AnyFiber,
    bytes: number,
    options: ReserveOptions & PoolAllocateOptions,
    parent: SetAside | undefined = this.terms.from
  ): LeaseRequest<SetAside> | GpuError {
    const { memory } = this
    if (this.leases.closed) return unavailable({ operation: where, size: bytes, label: options.label }, "poolClosed")
    const problem = memory.status.error ?? Label.problem(where, options.label)
    if (problem !== undefined) return problem
    const label = options.label ?? this.label
    const { budget } = this.terms
    const asks = new SetAside({
      core: memory.core,
      parent,
      budgets: budget?.chain ?? [],
      label,
      fiberId: fiber.id,
      sequence: this.leases.granted,
      registry: memory.reservations
    })
    const patience = this.#patienceOf(where, bytes, asks, options)
    return isGpuError(patience) ? patience : new LeaseRequest(
      where,
      asks,
      bytes,
      bytes,
      bytes,
      0,
      label,
      options.callSite,
      this.leases.loans,
      fiber,
      this.#turnOf(fiber),
      patience,
      this.terms,
      budget === undefined ? undefined : new Charge()
    )
  }

  #whileOpen<A, E, R>(
    request: LeaseRequest<SetAside>,
    admission: Effect.Effect<void, GpuError>,
    f: () => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, R> {
    const { memory } = this
    return Effect.onExitPrimitive(
      Effect.flatMap(admission, f),
      (exit) => {
        const ended = request.asks.close()
        const left = memory.letGo(request, exit)
        if (ended) memory.lines.serve()
        return left
      }
    )
  }

  #acquireAll(
    list: LeaseList,
    fiber: AnyFiber,
    sizes: ReadonlyArray<number>,
    options: PoolAllocateOptions | undefined,
    granted: Array<PooledBuffer>
  ): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError> {
    const usage = options?.usage ?? BufferUsage.defaultUsage
    const label = options?.label ?? this.label
    let bytes = 0
    for (const size of sizes) {
      const problem = this.#problem(size, usage, label)
      if (problem !== undefined) return problem
      bytes += this.memory.exactSizeOf(size)
    }
    const wanted = { list, fiber, sizes, usage, label, options, granted }
    return this.#areHeld(sizes, usage) ? this.#hitAll(wanted) : this.#reserveAll(wanted, bytes)
  }

  /** Whether each of a few has a held block of its own size, so that none would be taken in vain. */
  #areHeld(sizes: ReadonlyArray<number>, usage: BufferUsage.BufferUsage): boolean {
    const { memory } = this
    if (sizes.length === 0 || sizes.length > mostHitTogether || !memory.mayHit || !this.#isPlain) return false
    const blockSizes = sizes.map((size) => size === 0 ? 0 : memory.sizeOf(size))
    return blockSizes.every((blockSize, index) => {
      let blocks = 1
      for (let before = 0; before < index; before++) if (blockSizes[before] === blockSize) blocks++
      return blockSize === 0 || memory.core.holds(usage, blockSize, blocks)
    })
  }

  /** The whole of several hits, in one step. */
  #hitAll(
    { fiber, granted, label, list, options, sizes, usage }: WantedTogether
  ): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError> {
    const patience = this.#patienceOf(togetherOperation, 0, undefined, options)
    if (isGpuError(patience)) return patience
    if (list.closed) return unavailable({ operation: togetherOperation, size: sizes[0]!, label }, "scopeClosed")
    for (const size of sizes) {
      const hit = this.#hit(list, size, usage, label)!
      if (list.scope === undefined) hit.borrowerId = fiber.id
      granted.push(noted(hit, options))
    }
    return Exit.succeed(granted)
  }

  /** The bytes of all are set aside before the first is acquired. */
  #reserveAll(
    { fiber, granted, label, list, options, sizes, usage }: WantedTogether,
    bytes: number
  ): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError> {
    const request = this.#reservation(togetherOperation, fiber, bytes, { ...options, label })
    if (isGpuError(request)) return request
    const requests = new PoolRequests(this.memory, {
      ...this.terms,
      from: request.asks,
      patience: { onExhausted: "fail", waitAtMost: Infinity },
      collect: granted
    })
    const attempt = Effect.suspend(() =>
      Effect.forEach(
        sizes,
        (size) => requests.#acquire(list, fiber, size, usage, label, { callSite: options?.callSite }),
        { discard: true }
      )
    )
    return Effect.onExitPrimitive(
      this.#whileOpen(
        request,
        this.memory.setAside(request),
        () => Effect.as(this.#untilAll(request, attempt, granted, list), granted)
      ),
      (exit) => Exit.isFailure(exit) ? this.#endAll(granted, list) : undefined
    )
  }

  /** Where the driver has no memory for one of them, all are given back before it waits. */
  readonly #untilAll = Effect.fnUntraced(
    { self: this },
    function*(
      request: LeaseRequest,
      attempt: Effect.Effect<void, GpuError>,
      granted: Array<PooledBuffer>,
      list: LeaseList
    ): Effect.fn.Return<void, GpuError> {
      const { memory } = this
      const rungs = new Set(memory.searchRungs).add("driver")
      while (true) {
        const { core } = memory
        const before = core.releases
        const error = yield* Effect.match(attempt, { onFailure: (error) => error, onSuccess: () => undefined })
        if (error === undefined) return
        const own = granted.flatMap(({ block }) => block ?? [])
        const left = this.#endAll(granted, list)
        // Two that try in turn would wake each other for ever with what each gives back.
        memory.retract(own.length + own.filter(({ state }) => state === "freed").length)
        if (left !== undefined) yield* left
        if (error.reason._tag !== "OutOfMemory" || request.patience.onExhausted === "fail") return yield* error
        // What others gave back meanwhile may do.
        if (core.releases - own.length > before) continue
        const seen = memory.progress
        yield* memory.lastResort.take({
          request,
          rungs,
          missing: () => 0,
          refusal: { seen, isPast: () => memory.progress !== seen },
          mayWait: () => memory.mayWait(request)
        })
      }
    }
  )

  /** Those that were not transferred meanwhile. */
  #endAll(leases: Array<PooledBuffer>, list: LeaseList): Effect.Effect<void> | undefined {
    let left: Effect.Effect<void> | undefined
    for (const lease of leases.splice(0)) {
      if (lease.list === list) left = together(left, this.leases.endUnsafe(lease, "released"))
    }
    return left
  }

  /** A pool that clears has not searched yet; most such requests are hits that need no ladder. */
  #lease(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    const { memory } = this
    if (this.budget === undefined) {
      drawMore(request)
      const found = !memory.hasWaiters || goesFirst(request) ? memory.search(request) : undefined
      if (request.granted === undefined) undraw(request)
      if (found !== undefined) return found
    }
    return Effect.onExitPrimitive(
      Effect.suspend(() => memory.lease(request)),
      (exit) => memory.letGo(request, exit)
    )
  }

  #endRequest(request: LeaseRequest, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> | undefined {
    return together(this.#endLoan(request.granted), this.memory.letGo(request, exit))
  }

  /** Unless it was transferred meanwhile. */
  #endLoan(lease: PooledBuffer | undefined): Effect.Effect<void> | undefined {
    return lease === undefined || lease.list !== this.leases.loans
      ? undefined
      : this.leases.endUnsafe(lease, "scopeClosed")
  }
}
