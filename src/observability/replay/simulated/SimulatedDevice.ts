/**
 * The driver of a replay: its answers, when they come, and the memory that it has back.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  DeviceLost,
  DriverError,
  type GpuError,
  LimitExceeded,
  make as makeError,
  outOfMemory
} from "../../../domain/GpuError.ts"
import type { PoolRuntime } from "../../../services/pool/PoolRuntime.ts"
import type { Listening } from "../ReplayEmitter.ts"
import type { MemoryScript } from "../Script.ts"
import { CurrentTicket, type Ticket } from "../Ticket.ts"
import type { VirtualTime } from "../VirtualTime.ts"
import { SimulatedBlock, type SimulatedDriver } from "./SimulatedSource.ts"

const refusal = (why: string, capacity: number): Exit.Exit<never, GpuError> => {
  if (why === "Interrupted") return Exit.interrupt()
  if (why === "OutOfMemory") return Exit.fail(outOfMemory(capacity))
  if (why === "DeviceLost") return Exit.fail(makeError(new DeviceLost({ backend: "recorded", detail: "as recorded" })))
  if (why === "LimitExceeded") {
    const limit = { operation: "Replay.run", requested: capacity, limitName: "the recorded limit", limit: capacity - 1 }
    return Exit.fail(makeError(new LimitExceeded(limit)))
  }
  return Exit.fail(
    makeError(
      new DriverError({
        backend: "recorded",
        call: "allocate",
        codeName: why,
        code: undefined,
        log: "",
        commands: [],
        hint: "The driver refused this call when it was recorded."
      })
    )
  )
}

export class SimulatedDevice implements SimulatedDriver {
  readonly #replay: Listening
  readonly #script: MemoryScript
  readonly #isSame: boolean
  /** Whether the recording decides when memory is back: files of other tools do not tell. */
  readonly #tellsReclaims: boolean
  readonly #time: VirtualTime
  /** How many events of the recording have come. */
  readonly #place: () => number
  /** Those who wait until memory is back, in order; undefined for those that are no requests. */
  readonly #reclaiming = new Map<() => void, Ticket | undefined>()
  /** Set before the first call. */
  memory: PoolRuntime | undefined = undefined

  constructor(
    replay: Listening,
    script: MemoryScript,
    isSame: boolean,
    tellsReclaims: boolean,
    time: VirtualTime,
    place: () => number
  ) {
    this.#replay = replay
    this.#script = script
    this.#isSame = isSame
    this.#tellsReclaims = isSame && tellsReclaims
    this.#time = time
    this.#place = place
  }

  readonly create = (capacity: number): Effect.Effect<SimulatedBlock, GpuError> => {
    const { asking } = this.#replay
    this.#replay.asking = undefined
    return asking === undefined ? Effect.sync(() => new SimulatedBlock()) : this.#create(asking, capacity)
  }

  #create(ticket: Ticket, capacity: number): Effect.Effect<SimulatedBlock, GpuError> {
    const call = ticket.fate.calls?.[ticket.calls++]
    if (this.#isSame && call !== undefined && call.answer >= this.#place()) {
      return answered(ticket, capacity, call.why === "Interrupted")
    }
    const answer = Effect.suspend(() => this.#answer(call?.why, capacity))
    const isAtOnce = this.#isSame || call === undefined || call.answeredAt === Infinity
    const millis = isAtOnce ? 0 : call.answeredAt - call.askedAt
    if (millis <= 0) return answer
    const later = Effect.callback<void>((resume) => {
      const timer = this.#time.after(millis, () => resume(Effect.void))
      return Effect.sync(() => timer.cancel())
    })
    return Effect.andThen(Effect.interruptible(later), answer)
  }

  /** Where another policy asks for other blocks, the driver has as much memory as the refusals of the recording leave it. */
  #answer(why: string | undefined, capacity: number): Exit.Exit<SimulatedBlock, GpuError> {
    if (why !== undefined && why !== "OutOfMemory" && why !== "Interrupted") return refusal(why, capacity)
    const { peakBytes, refusedAt } = this.#script
    const most = Math.max(refusedAt - 1, peakBytes)
    const managed = this.memory?.core.managedBytes ?? 0
    return managed + capacity > most && refusedAt < Infinity
      ? refusal("OutOfMemory", capacity)
      : Exit.succeed(new SimulatedBlock())
  }

  /** As the driver of the recording answers. */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.withFiber((fiber): Effect.Effect<void, GpuError> => {
    const { error } = this.memory!.status
    if (error !== undefined) return error
    if (!this.#tellsReclaims) return Effect.void
    return Effect.callback<void>((resume) => {
      const back = (): void => {
        this.#reclaiming.delete(back)
        resume(Effect.void)
      }
      this.#reclaiming.set(back, fiber.getRef(CurrentTicket))
      return Effect.sync(() => void this.#reclaiming.delete(back))
    })
  })

  /** The memory is back for the first of those that wait for it with this ticket, who goes on in the same step. False when none does. */
  reclaimed(meant: Ticket | undefined): boolean {
    for (const [back, ticket] of this.#reclaiming) {
      if (ticket !== meant) continue
      this.#replay.turns.take(ticket, back)
      return true
    }
    return false
  }

  /** The same for whoever waits first, and whom the recording does not let go on yet. */
  reclaimedFirst(): boolean {
    for (const [back, ticket] of this.#reclaiming) {
      this.#replay.turns.takeUntilTold(ticket, back)
      return true
    }
    return false
  }
}

const answerOf = (
  why: string | undefined,
  block: number | undefined,
  capacity: number
): Exit.Exit<SimulatedBlock, GpuError> => {
  if (why !== undefined) return refusal(why, capacity)
  const made = new SimulatedBlock()
  made.recorded = block ?? -1
  return Exit.succeed(made)
}

/** The answer comes with an event of the recording. */
const answered = (
  ticket: Ticket,
  capacity: number,
  isInterrupted: boolean
): Effect.Effect<SimulatedBlock, GpuError> => {
  const answer = Effect.callback<SimulatedBlock, GpuError>((resume) => {
    ticket.answer = (why, block) => {
      ticket.answer = undefined
      resume(answerOf(why, block, capacity))
    }
    return Effect.sync(() => {
      ticket.answer = undefined
    })
  })
  return isInterrupted ? Effect.interruptible(answer) : answer
}
