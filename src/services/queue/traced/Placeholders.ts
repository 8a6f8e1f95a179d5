/**
 * Leases without memory, on which an effect is traced. They end as other leases do, and each stands for one slot of the commands.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { line } from "../../../domain/arguments/Format.ts"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import { type BufferUsage, defaultUsage } from "../../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, type Released, released, unsupported } from "../../../domain/GpuError.ts"
import type { Family } from "../../../domain/pool/machine/Request.ts"
import * as MemoryLimit from "../../../domain/pool/MemoryLimit.ts"
import { Block } from "../../../domain/pool/PoolBlock.ts"
import { waitPolicyOf } from "../../../domain/pool/PoolOptions.ts"
import type {
  AllocateAllOptions,
  BufferPool,
  Leases,
  PoolAllocateOptions,
  PooledBuffer as Lease,
  Sizes
} from "../../buffers/BufferPool.ts"
import { PooledBuffer } from "../../buffers/PooledBuffer.ts"
import * as SeveralSizes from "../../buffers/SeveralSizes.ts"
import { validated } from "../../calls/Validated.ts"
import { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { Lease as AnyLease, LeaseOwner } from "../../lease/Lease.ts"
import { type LeaseList, LeaseTable } from "../../lease/LeaseTable.ts"

/** Memory that commands use: an input, a lease of the program, or memory of the run itself. */
export class Slot {
  readonly number: number
  readonly size: number
  readonly usage: BufferUsage
  readonly label: string | undefined
  /** The input that it stands for, by its number; a lease of the program; `undefined` for memory of the run. */
  readonly origin: number | Lease | undefined
  /** The first and the last command that use it. */
  first = Infinity
  last = -1
  isWritten = false
  /** Whether the effect has ended it, by a release or with a scope to which it transferred it. */
  isReleased = false

  constructor(
    number: number,
    { label, size, usage }: Pick<Lease, "label" | "size" | "usage">,
    origin: Slot["origin"]
  ) {
    this.number = number
    this.size = size
    this.usage = usage
    this.label = label
    this.origin = origin
  }
}

/** What a placeholder leases. */
export class SlotBuffer extends DeviceBuffer {
  readonly slot: Slot

  constructor(owner: DeviceInfo, slot: Slot) {
    super(owner, slot.size, slot.usage, slot.label)
    this.slot = slot
  }
}

/** How the reservations of a trace wait: not at all, as there is room for each. */
const waiting = { onExhausted: "wait", waitAtMost: Infinity } as const

export class Placeholders implements LeaseOwner {
  /** Its own, so that no command but the traced ones takes a placeholder. */
  readonly deviceInfo: DeviceInfo
  /** The first error of `lateProblem`, which a finalizer may have ignored. */
  refusal: GpuError | undefined
  readonly inputs = { scopeClosed: () => {}, serve: () => {} }
  readonly slots: Array<Slot> = []
  readonly #device: DeviceInfo
  readonly #table = new LeaseTable(this)
  readonly #captured = new Map<Lease, Lease>()
  readonly #slotOf = new WeakMap<AnyLease, Slot>()
  #hasReturned = false
  /** Those that the program still has after a run: inputs and its own leases, and results. */
  #lent: ReadonlyArray<AnyLease> = []
  #results: ReadonlyArray<AnyLease> = []

  constructor(device: DeviceInfo) {
    this.#device = device
    this.deviceInfo = { ...device, name: `a trace for ${device.name}` }
  }

  endUnsafe(lease: AnyLease, why: Released["why"]): void {
    const slot = this.#slotOf.get(lease)
    if (slot !== undefined) slot.isReleased = true
    lease.ended = why
    lease.list?.remove(lease)
    lease.block = undefined
  }

  problem(operation: string, { label }: AnyLease): GpuError {
    return invalidRequest(
      operation,
      `the buffer${
        label === undefined ? "" : ` "${line(label)}"`
      } is a placeholder of a trace: it stands for memory of later runs, and has none`,
      "Use it only in commands of the traced effect, with an offset where a part is meant. Do the rest with what a run returns."
    )
  }

  /** The inputs that belong to a scope now. */
  ownedBy(scope: Scope.Scope): ReadonlyArray<Slot> {
    return [...this.#table.live()].flatMap((lease) => {
      const slot = this.#slotOf.get(lease)
      return slot !== undefined && lease.list?.scope === scope && slot.origin !== undefined ? slot : []
    })
  }

  /** InvalidRequest if a scope outlives the trace and has one of them. A run cannot give that scope memory. */
  outlivingProblem(operation: string): GpuError | undefined {
    for (const { label, list } of this.#table.live()) {
      if (list === this.#table.loans) continue
      return invalidRequest(
        operation,
        `the lease${label === undefined ? "" : ` "${line(label)}"`} belongs to a scope that outlives the traced effect`,
        "Return the lease, and transfer what a run returns to that scope."
      )
    }
    return undefined
  }

  /** From now on there are no further commands and no further memory, so that the slots stay as they are. */
  effectReturned(results: ReadonlyArray<AnyLease>): void {
    this.#hasReturned = true
    const { loans } = this.#table
    this.#lent = [...this.#table.live()].filter((lease) =>
      lease.list === loans && this.#slotOf.get(lease)?.origin !== undefined
    )
    this.#results = results
  }

  /** InvalidRequest when a finalizer has ended or moved what the program still has after a run. */
  lateEndProblem(operation: string): GpuError | undefined {
    const { loans } = this.#table
    return this.#lent.some(({ list }) => list !== loans) || this.#results.some(({ ended }) => ended === "released")
      ? this.lateProblem(operation, "released or transferred a lease")
      : undefined
  }

  /** InvalidRequest when the effect has returned. */
  lateProblem(operation: string, what: string): GpuError | undefined {
    if (!this.#hasReturned) return undefined
    const problem = invalidRequest(
      operation,
      `a finalizer of the traced effect, or a fiber that outlives it, ${what} when the effect had returned: no run would do it`,
      "Do it before the effect returns, or after each run."
    )
    this.refusal ??= problem
    return problem
  }

  /** Ends all of them. */
  end(): void {
    this.#table.endAll("scopeClosed")
  }

  input(lease: Lease, number: number): Lease {
    return this.#grant(this.#table.loans, lease, number)
  }

  /** What stands for a buffer in a traced command. Buffers that it does not know are refused where the command is checked. */
  standIn<B>(operation: string, buffer: B): B | Lease {
    if (buffer instanceof DeviceBuffer) {
      if (buffer.owner !== this.#device) return buffer
      throw invalidRequest(
        operation,
        "the buffer is no lease of a pool, and this effect is traced",
        "Use memory of a pool in commands that run again and again."
      )
    }
    if (!(buffer instanceof PooledBuffer) || buffer.list?.owner.deviceInfo !== this.#device) return buffer
    const known = this.#captured.get(buffer)
    if (known !== undefined) return known
    const standIn = this.#grant(this.#table.loans, buffer, buffer)
    this.#captured.set(buffer, standIn)
    return standIn
  }

  /** The slot of a placeholder, or Released for one that has ended; `undefined` for any other lease. */
  slotOf(operation: string, lease: AnyLease): Slot | GpuError | undefined {
    const slot = this.#slotOf.get(lease)
    return slot !== undefined && lease.list === undefined ? released(operation, lease) : slot
  }

  /** The pool as a traced effect sees it. It leases placeholders; what it says of itself is that of the real one. */
  poolOf(pool: BufferPool["Service"]): BufferPool["Service"] {
    const { loans } = this.#table
    const lease = (list: LeaseList, size: number, options: PoolAllocateOptions | undefined) =>
      validated("BufferPool.allocate", (operation) => this.#lease(operation, list, size, options))
    const leaseAll = <const S extends Sizes>(
      list: LeaseList,
      sizes: S,
      options: AllocateAllOptions<NoInfer<S>> | undefined
    ): Effect.Effect<Leases<S>, GpuError> =>
      Effect.suspend((): Effect.Effect<Leases<S>, GpuError> => {
        return SeveralSizes.read(sizes, options?.labels, (wants, inShape) =>
          Effect.map(
            Effect.forEach(wants, ({ label = options?.label, size }) => lease(list, size, { ...options, label })),
            (leases) => inShape(leases) as Leases<S>
          ))
      })
    const traced: BufferPool["Service"] = {
      ...pool,
      allocate: (size, options) => this.#inScope((list) => lease(list, size, options)),
      allocateAll: (sizes, options) => this.#inScope((list) => leaseAll(list, sizes, options)),
      use: (size, f, options) =>
        Effect.flatMap(lease(loans, size, options), (lease) => Effect.onExit(f(lease), () => this.#endLoans([lease]))),
      useAll: (sizes, f, options) =>
        Effect.flatMap(
          leaseAll(loans, sizes, options),
          (leases) => Effect.onExit(f(leases), () => this.#endLoans(Object.values<Lease>(leases)))
        ),
      // A run requests all its memory together, so it never waits with a part of it.
      reserve: (amount, f, options = {}) =>
        validated("BufferPool.reserve", (operation) => {
          valid(MemoryLimit.required(operation, "the reservation", amount, this.#device))
          valid(waitPolicyOf(operation, options, waiting))
          return f(traced)
        }),
      exclusively: (effect) => effect,
      budget: (_limit, _options, called = "budget") =>
        invalidRequest(
          `BufferPool.${called}`,
          "this effect is traced, and a budget inside of it would not limit its runs",
          "Put the budget around the run, or around the call of the compiled function."
        )
    }
    return traced
  }

  /** Leases for the scope of the fiber. */
  #inScope<A>(lease: (list: LeaseList) => Effect.Effect<A, GpuError>): Effect.Effect<A, GpuError, Scope.Scope> {
    return Effect.withFiber((fiber) =>
      lease(this.#table.listOf(Context.getUnsafe(fiber.context as Context.Context<Scope.Scope>, Scope.Scope), fiber.id))
    )
  }

  /** Those that were not transferred meanwhile. */
  #endLoans(leases: ReadonlyArray<Lease>): Effect.Effect<void> {
    return Effect.sync(() => {
      for (const lease of leases) if (lease.list === this.#table.loans) this.endUnsafe(lease, "scopeClosed")
    })
  }

  #lease(
    operation: string,
    list: LeaseList,
    size: number,
    { label, usage = defaultUsage }: PoolAllocateOptions = {}
  ): Effect.Effect<Lease, GpuError> {
    const late = this.lateProblem(operation, "requested memory")
    if (late !== undefined) return late
    valid(BufferRequest.problem(operation, size, usage, label))
    valid(BufferRequest.deviceProblem(operation, size, this.#device.limits))
    if (usage !== defaultUsage) {
      return unsupported(
        operation,
        "a traced effect",
        "memory with another usage than BufferUsage.defaultUsage",
        "Leave the usage out, or allocate the memory before and use it in the effect."
      )
    }
    if (list.closed) return released(operation, { ended: "scopeClosed", label, size, what: undefined })
    return Exit.succeed(this.#grant(list, { size, usage, label }, undefined))
  }

  #grant(list: LeaseList, like: Pick<Lease, "label" | "size" | "usage">, origin: Slot["origin"]): Lease {
    const slot = new Slot(this.slots.length, like, origin)
    this.slots.push(slot)
    const block = like.size === 0
      ? undefined
      : new Block<DeviceBuffer, Family>(new SlotBuffer(this.deviceInfo, slot), like.size, undefined)
    const lease = new PooledBuffer(block, like.size, like.usage, like.label, slot.number)
    this.#slotOf.set(lease, slot)
    list.add(lease)
    return lease
  }
}
