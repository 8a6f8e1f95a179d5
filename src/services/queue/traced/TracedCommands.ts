/**
 * The driver of a trace, under a checked queue: it keeps each command for the runs, and records none.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { CompiledKernel } from "../../device/KernelCache.ts"
import type { Dispatch, Driver } from "../../device/QueueDriver.ts"
import type { Dispatches } from "../Dispatches.ts"
import type { Placeholders, Slot, SlotBuffer } from "./Placeholders.ts"

/** The buffer in each slot. */
export type Memory = ReadonlyArray<DeviceBuffer>

/** A command that is recorded again in each run. */
export interface Command {
  readonly slots: ReadonlyArray<Slot>
  /** Copies of the program's data, in bytes. */
  readonly bytes: number
  readonly recordUnsafe: (memory: Memory) => Exit.Exit<void, GpuError>
}

/** A dispatch of a kernel that the cache may drop between two runs. */
export class PreparedDispatch implements Command {
  readonly slots: ReadonlyArray<Slot>
  readonly bytes = 0
  compiled: CompiledKernel
  readonly #dispatch: Dispatch
  readonly #dispatches: Dispatches

  constructor(dispatches: Dispatches, dispatch: Dispatch) {
    this.#dispatches = dispatches
    this.#dispatch = dispatch
    this.compiled = dispatch.compiled
    this.slots = dispatch.vectors.map(({ buffer }) => slotOf(buffer))
  }

  recordUnsafe(memory: Memory): Exit.Exit<void, GpuError> {
    const { count, images, range, samplers, scalars, vectors } = this.#dispatch
    const bound = vectors.map(({ offset, size }, at) => ({ buffer: memory[this.slots[at]!.number]!, size, offset }))
    return this.#dispatches.dispatchUnsafe({
      compiled: this.compiled,
      vectors: bound,
      scalars,
      images,
      samplers,
      count,
      range
    })
  }
}

/** Only placeholders come here: the checks of the trace refuse every other buffer. */
const slotOf = (buffer: DeviceBuffer): Slot => (buffer as SlotBuffer).slot

/** The commands so far, and the driver that notes them. */
export class TracedCommands {
  readonly commands: Array<Command> = []
  readonly driver: Driver
  readonly #real: Driver
  readonly #dispatches: Dispatches
  readonly #placeholders: Placeholders

  constructor(real: Driver, dispatches: Dispatches, placeholders: Placeholders) {
    this.#real = real
    this.#placeholders = placeholders
    this.#dispatches = dispatches
    this.driver = this.#driver()
  }

  #note(command: Command, written: ReadonlyArray<Slot>): Exit.Exit<void, GpuError> {
    const late = this.#placeholders.lateProblem("CommandList.trace", "recorded a command")
    if (late !== undefined) return Exit.fail(late)
    const at = this.commands.push(command) - 1
    for (const slot of command.slots) {
      slot.first = Math.min(slot.first, at)
      slot.last = at
    }
    for (const slot of written) slot.isWritten = true
    return Exit.void
  }

  /** A command on a target, and on a source where it has one. */
  #onTarget(
    target: DeviceBuffer,
    source: DeviceBuffer | undefined,
    recordUnsafe: (target: DeviceBuffer, source: DeviceBuffer) => Exit.Exit<void, GpuError>,
    bytes = 0
  ): Exit.Exit<void, GpuError> {
    const to = slotOf(target)
    const from = source === undefined ? to : slotOf(source)
    return this.#note(
      { slots: [to, from], bytes, recordUnsafe: (memory) => recordUnsafe(memory[to.number]!, memory[from.number]!) },
      [to]
    )
  }

  #driver(): Driver {
    const real = this.#real
    const refused = refusal("QueueDriver", "this call")
    return {
      dispatchUnsafe: (dispatch) => {
        const command = new PreparedDispatch(this.#dispatches, dispatch)
        const vectors = dispatch.compiled.kernel.args.filter((argument) => argument._tag === "VectorArg")
        return this.#note(command, command.slots.filter((_, at) => vectors[at]!.access !== "read"))
      },
      // The data may change or be transferred away after the trace.
      writeUnsafe: (target, offset, data) => {
        const copy = data.slice()
        return this.#onTarget(target, undefined, (target) => real.writeUnsafe(target, offset, copy), copy.byteLength)
      },
      writeRectUnsafe: (extent, target, to, rows) =>
        // The driver keeps the rows that it gets.
        this.#onTarget(
          target,
          undefined,
          (target) => real.writeRectUnsafe(extent, target, to, rows.slice()),
          rows.byteLength
        ),
      copyUnsafe: (source, sourceOffset, target, targetOffset, bytes) =>
        this.#onTarget(
          target,
          source,
          (target, source) => real.copyUnsafe(source, sourceOffset, target, targetOffset, bytes)
        ),
      copyRectUnsafe: (extent, source, from, target, to) =>
        this.#onTarget(target, source, (target, source) => real.copyRectUnsafe(extent, source, from, target, to)),
      fillUnsafe: (target, offset, bytes, pattern) =>
        this.#onTarget(target, undefined, (target) => real.fillUnsafe(target, offset, bytes, pattern)),
      fillWideUnsafe: (target, offset, bytes, patterns) =>
        this.#onTarget(target, undefined, (target) => real.fillWideUnsafe(target, offset, bytes, patterns)),
      // Noted commands have no place in the queue, so that none of them waits for others.
      positionUnsafe: () => 0,
      endedUnsafe: () => Infinity,
      awaitPosition: () => Effect.void,
      awaitEnded: () => Effect.void,
      flushUnsafe: () => refused,
      finish: refused,
      readUnsafe: (_source, _offset, _bytes, answer) => {
        answer(refused)
        return constVoid
      },
      readRectUnsafe: (_extent, _source, _from, answer) => {
        answer(refused)
        return constVoid
      },
      touch: () => refused,
      reclaim: refused
    }
  }
}

/** The error of an operation that no list of commands can run again. */
export const notReplayed = (service: string, what: string): GpuError =>
  invalidRequest(
    service,
    `${what} cannot be part of commands that run again, and this effect is traced`,
    "Return the memory from the effect, and do this with it after a run."
  )

const refusal = (service: string, what: string) => Exit.fail(notReplayed(service, what))
