/**
 * The runs of traced commands.
 *
 * @internal
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Order from "effect/Order"
import type * as Scope from "effect/Scope"
import { list } from "../../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import * as BufferMemory from "../../buffers/BufferMemory.ts"
import { BufferPool } from "../../buffers/BufferPool.ts"
import type { PooledBuffer } from "../../buffers/PooledBuffer.ts"
import { BytesInFlight } from "../../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DeviceContext } from "../../device/DeviceContext.ts"
import type { QueueDriver } from "../../device/QueueDriver.ts"
import { distrustUnverified } from "../../device/UnverifiedMemory.ts"
import { transfer } from "../../lease/Lease.ts"
import type { Dispatches } from "../Dispatches.ts"
import * as MemoryPlan from "./MemoryPlan.ts"
import type { Slot } from "./Placeholders.ts"
import { type Command, PreparedDispatch } from "./TracedCommands.ts"

type Leases = ReadonlyArray<PooledBuffer>

const operation = "CommandList.run"

/** As `CommandList.CommandList`. */
export class Replay<A> {
  readonly traced: A
  readonly commands: number
  readonly peakBytes: number
  readonly writtenInputs: ReadonlyArray<number>
  readonly writtenLeases: Leases
  readonly #device: DeviceContext["Service"]
  readonly #pending: BytesInFlight
  readonly #dispatches: Dispatches
  readonly #list: ReadonlyArray<Command>
  readonly #slots: ReadonlyArray<Slot>
  readonly #inputs: ReadonlyArray<Slot>
  /** The leases of the program that commands use. */
  readonly #captured: ReadonlyArray<Slot>
  readonly #results: ReadonlyArray<Slot | PooledBuffer>
  /** The inputs that a run moves to the caller's scope. */
  readonly #moved: ReadonlyArray<Slot>
  /** The inputs that a run releases. */
  readonly #released: ReadonlyArray<Slot>
  readonly #blocks: ReadonlyArray<number>
  /** How many blocks are results: the first ones. */
  readonly #kept: number
  /** The block of each slot that is memory of a run. */
  readonly #blockOf: ReadonlyMap<Slot, number>
  /** What each block is called: as the result in it, or as all that lives in it one after the other. */
  readonly #labels: ReadonlyArray<string | undefined>
  /** Copies of the program's data, in bytes. */
  readonly #bytes: number

  constructor(
    { device, driver }: { readonly device: DeviceContext["Service"]; readonly driver: QueueDriver["Service"] },
    dispatches: Dispatches,
    traced: A,
    list: ReadonlyArray<Command>,
    { inputs, moved, results, slots }: {
      readonly slots: ReadonlyArray<Slot>
      readonly results: ReadonlyArray<Slot | PooledBuffer>
      readonly inputs: number
      readonly moved: ReadonlyArray<Slot>
    }
  ) {
    this.traced = traced
    this.#device = device
    this.#pending = BytesInFlight.of(driver)
    this.#dispatches = dispatches
    this.#list = list
    this.#bytes = list.reduce((sum, { bytes }) => sum + bytes, 0)
    this.commands = list.length
    this.#slots = slots
    this.#results = results
    this.#moved = moved
    this.#released = slots.filter(({ isReleased, origin }) => isReleased && origin !== undefined)
    this.#inputs = slots.slice(0, inputs)
    this.#captured = slots.filter(({ origin, last }) => typeof origin === "object" && last >= 0)
    const kept = slots.filter((slot) => slot.origin === undefined && results.includes(slot))
    const passing = slots.filter((slot) => slot.origin === undefined && slot.last >= 0 && !results.includes(slot))
    const fresh = [...kept, ...passing]
    const { blockOf, blocks } = MemoryPlan.plan(fresh.map(({ first, last, size }, at) => ({
      bytes: size,
      first,
      last: at < kept.length ? Infinity : last
    })))
    this.#blocks = blocks
    this.#kept = kept.length
    this.#blockOf = new Map(fresh.map((slot, at) => [slot, blockOf[at]!]))
    this.#labels = blocks.map((_, block) =>
      block < kept.length ? kept[block]!.label : labelOf(passing.filter((slot) => this.#blockOf.get(slot) === block))
    )
    this.peakBytes = blocks.reduce((sum, bytes) => sum + bytes, 0)
    this.writtenInputs = this.#inputs.flatMap(({ isWritten }, at) => isWritten ? [at] : [])
    this.writtenLeases = this.#captured.flatMap(({ isWritten, origin }) => isWritten ? [origin as PooledBuffer] : [])
  }

  accepts(inputs: Leases): boolean {
    return inputs.length === this.#inputs.length &&
      this.#inputs.every(({ size, usage }, at) => inputs[at]!.size === size && inputs[at]!.usage === usage) &&
      this.writtenInputs.every((at) =>
        inputs.every((other, index) => index === at || other !== inputs[at]) &&
        this.#captured.every(({ origin }) => origin !== inputs[at])
      ) &&
      this.writtenLeases.every((lease) => !inputs.includes(lease))
  }

  run(inputs: Leases): Effect.Effect<Leases, GpuError, BufferPool | Scope.Scope> {
    return Effect.withFiber((fiber) => {
      if (!this.accepts(inputs)) return notAccepted()
      const pool = Context.getUnsafe(fiber.context as Context.Context<BufferPool>, BufferPool)
      const [first] = this.#blocks
      const memory: Effect.Effect<Leases, GpuError, Scope.Scope> = this.#blocks.length === 1
        ? Effect.map(pool.allocate(first!, { label: this.#labels[0], apart: inputs }), (lease) => [lease])
        : this.#blocks.length === 0
        ? Exit.succeed([])
        : pool.allocateAll(this.#blocks, { labels: this.#labels, apart: inputs })
      let leases: Leases = []
      return Effect.onExitPrimitive(
        Effect.flatMap(memory, (granted) => {
          leases = granted
          return Effect.map(
            Effect.andThen(this.#record(inputs, granted, 0), this.#moveInputs(inputs)),
            () => this.#results.map((result) => this.#leaseOf(result, inputs, granted))
          )
        }),
        (exit) => {
          // After a failure the memory is released at once, since the scope may live for long.
          if (Exit.isFailure(exit)) { for (const lease of leases) release(lease) }
          return undefined
        }
      )
    })
  }

  /** Records the commands from one on. */
  #record(inputs: Leases, blocks: Leases, from: number): Effect.Effect<void, GpuError> {
    const record = () => this.#recordUnsafe(inputs, blocks, from)
    return this.#bytes === 0
      ? this.#pending.record(operation, record)
      : this.#pending.write(operation, () => ({ bytes: this.#bytes, write: record }))
  }

  /**
   * Records the commands in one step, and releases what is no result. A kernel that the cache has dropped is compiled again before the
   * command that runs it: all at once may be more kernels than the cache keeps.
   */
  #recordUnsafe(inputs: Leases, blocks: Leases, from: number): Effect.Effect<void, GpuError> {
    const memory: Array<DeviceBuffer> = []
    for (const slot of this.#slots) {
      if (slot.last < from) continue
      const lease = this.#leaseOf(slot, inputs, blocks)
      memory[slot.number] = BufferMemory.use(operation, lease, this.#device, 0)!
    }
    for (let at = from; at < this.#list.length; at++) {
      const command = this.#list[at]!
      if (command instanceof PreparedDispatch && command.compiled.released) {
        return Effect.flatMap(this.#dispatches.compiled(command.compiled.kernel), (compiled) => {
          command.compiled = compiled
          return this.#record(inputs, blocks, at)
        })
      }
      const exit = command.recordUnsafe(memory)
      if (Exit.isFailure(exit)) return distrustUnverified(exit, ...command.slots.map(({ number }) => memory[number]!))
    }
    // The last first, so that the next run gets the same blocks in the same order, for which the driver may have bindings.
    for (let block = blocks.length - 1; block >= this.#kept; block--) release(blocks[block]!)
    for (const slot of this.#released) release(this.#leaseOf(slot, inputs, blocks))
    return Exit.void
  }

  #moveInputs(inputs: Leases): Effect.Effect<void, GpuError, Scope.Scope> {
    return this.#moved.length === 0 ?
      Exit.void :
      Effect.flatMap(
        Effect.scope,
        (scope) =>
          Effect.forEach(this.#moved, ({ origin }) => transfer(inputs[origin as number]!, scope), { discard: true })
      )
  }

  #leaseOf(slot: Slot | PooledBuffer, inputs: Leases, blocks: Leases): PooledBuffer {
    if (!("origin" in slot)) return slot
    const { origin } = slot
    if (origin === undefined) return blocks[this.#blockOf.get(slot)!]!
    return typeof origin === "number" ? inputs[origin]! : origin
  }
}

/** The labels of memory that has one block, in the order of its first use. */
const labelOf = (slots: ReadonlyArray<Slot>): string | undefined => {
  const ordered = Arr.sortWith(slots, ({ first }) => first, Order.Number)
  const labels = [...new Set(ordered.flatMap(({ label }) => label ?? []))]
  return labels.length === 0 ? undefined : list(labels, ", ", 4)
}

const release = (lease: PooledBuffer): void => lease.list?.owner.endUnsafe(lease, "released")

const notAccepted = (): GpuError =>
  invalidRequest(
    operation,
    "the inputs differ from those of the trace in number, size or usage, or one that is written is given twice",
    "Ask `accepts` first, and trace again for other inputs."
  )
