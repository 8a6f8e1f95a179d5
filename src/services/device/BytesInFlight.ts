/**
 * The work in flight on one queue, and its limit: commands, and copies of the program's data that they still need. It
 * is the same on every backend.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import type { QueueDriver } from "./QueueDriver.ts"

/** The most work that may be in flight. */
export interface Bound {
  /** Bytes of the copies. */
  readonly bytes: number
  readonly commands: number
}

/** Enough bytes to keep any device busy while the next copies are made. */
export const usualBound: Bound = { bytes: 64 * 1024 * 1024, commands: Infinity }

/**
 * What was recorded up to a position of the queue. When the queue has reached it, the commands have ended, and the copies are
 * not needed any more.
 */
interface Recorded {
  readonly position: number
  bytes: number
  commands: number
}

/** A write that copies `bytes` bytes of the program's data. */
interface Write {
  readonly bytes: number
  readonly write: () => Effect.Effect<void, GpuError>
}

type Check = (operation: string) => Write | GpuError | undefined

/** A command that waits. */
interface Waiting {
  /** Resumes its fiber, when it is the first. */
  begin: () => void
}

/**
 * The work on one queue. A command for which there is no room waits in a queue until the device has done enough,
 * without blocking the event loop. A write that is larger than the bound goes alone. Commands wait only for the device,
 * never for another fiber, so each is served.
 */
export class BytesInFlight {
  readonly #driver: QueueDriver["Service"]
  #most = usualBound
  readonly #pending: Array<Recorded> = []
  #bytes = 0
  #commands = 0
  /** Commands that wait, in order. Only the first one waits for the device. */
  readonly #waiting = new Set<Waiting>()

  private constructor(driver: QueueDriver["Service"]) {
    this.#driver = driver
  }

  static readonly #ofDrivers = new WeakMap<QueueDriver["Service"], BytesInFlight>()

  /** The work on a driver: one object for all services that use it. */
  static of(driver: QueueDriver["Service"]): BytesInFlight {
    const known = BytesInFlight.#ofDrivers.get(driver)
    if (known !== undefined) return known
    const work = new BytesInFlight(driver)
    BytesInFlight.#ofDrivers.set(driver, work)
    return work
  }

  /** Changes the bound. Recorded work stays; waiting commands obey the new bound when they check again. */
  limit(most: Bound): void {
    this.#most = most
  }

  /**
   * Checks a write and does it in one step: now if there is room for its copy, else later, after checking again, since
   * its lease may have ended meanwhile. The check returns the write, or an error, or `undefined` where there are no
   * bytes to write.
   */
  write(operation: string, check: Check): Effect.Effect<void, GpuError> {
    return validated(operation, () => {
      const done = this.#attempt(operation, check, false)
      // The effect that a command returns runs after it has left the wait queue, since it may record another command
      // that waits there.
      return typeof done === "number" ? Effect.flatten(this.#queued(this.#first(operation, check))) : done
    })
  }

  /**
   * Checks and records a command without a copy in one step: now, or later where commands are bounded and there is no
   * room. A step that returns an effect, as the compilation before a dispatch, has recorded nothing yet.
   */
  record(
    operation: string,
    step: (operation: string) => Effect.Effect<void, GpuError>
  ): Effect.Effect<void, GpuError> {
    return validated(operation, () =>
      this.#most.commands === Infinity
        ? step(operation)
        : this.write(operation, () => ({ bytes: 0, write: () => step(operation) })))
  }

  #first(operation: string, check: Check): Effect.Effect<Effect.Effect<void, GpuError>, GpuError> {
    return validated(operation, () => {
      const done = this.#attempt(operation, check, true)
      return typeof done === "number"
        ? Effect.andThen(this.#roomFor(done), this.#first(operation, check))
        : Exit.succeed(done)
    })
  }

  /** Does the write and returns its effect, or returns the bytes for which there is no room. */
  #attempt(operation: string, check: Check, isFirst: boolean): Effect.Effect<void, GpuError> | number {
    const checked = check(operation)
    if (checked === undefined) return Exit.void
    if (isGpuError(checked)) return checked
    const { bytes, write } = checked
    if (!this.#hasRoom(bytes, isFirst)) return bytes
    const done = write()
    if (Exit.isExit(done) && Exit.isSuccess(done)) this.add(bytes)
    return done
  }

  /** Counts a command that cannot wait, as the write at the end of a mapping. */
  add(bytes: number): void {
    const position = this.#driver.positionUnsafe()
    const last = this.#pending.at(-1)
    this.#bytes += bytes
    this.#commands += 1
    if (last !== undefined && last.position >= position) {
      last.bytes += bytes
      last.commands += 1
    } else this.#pending.push({ position, bytes, commands: 1 })
  }

  #hasRoom(bytes: number, isFirst: boolean): boolean {
    if (!isFirst && this.#waiting.size > 0) return false
    if (this.#fits(bytes)) return true
    this.#forgetEnded()
    return this.#fits(bytes)
  }

  #fits(bytes: number): boolean {
    return this.#bytesFit(this.#bytes, bytes) && this.#commands < this.#most.commands
  }

  #bytesFit(pending: number, bytes: number): boolean {
    return pending * bytes === 0 || pending + bytes <= this.#most.bytes
  }

  #forgetEnded(): void {
    const ended = this.#driver.endedUnsafe()
    while (this.#pending.length > 0 && this.#pending[0]!.position <= ended) {
      const { bytes, commands } = this.#pending.shift()!
      this.#bytes -= bytes
      this.#commands -= commands
    }
  }

  /** Waits until at most half of the bound is in flight, so that it does not wait on the driver after each command. */
  #roomFor(bytes: number): Effect.Effect<void, GpuError> {
    let leftBytes = this.#bytes
    let leftCommands = this.#commands
    for (const recorded of this.#pending) {
      leftBytes -= recorded.bytes
      leftCommands -= recorded.commands
      const isHalf = leftBytes * 2 <= this.#most.bytes && leftCommands * 2 <= this.#most.commands
      if (isHalf && this.#bytesFit(leftBytes, bytes)) return this.#driver.awaitEnded(recorded.position)
    }
    return Effect.void
  }

  /** Runs a command when those that came before it have left the wait queue. */
  #queued<A>(command: Effect.Effect<A, GpuError>): Effect.Effect<A, GpuError> {
    const own: Waiting = { begin: constVoid }
    const turn = Effect.callback<void>((resume) => {
      if (this.#nextInTurn() === own) return resume(Effect.void)
      // It yields first: each of many that follow would else run within the one before it.
      own.begin = () => resume(Effect.yieldNow)
    })
    const enter = Effect.suspend(() => {
      this.#waiting.add(own)
      return Effect.andThen(turn, command)
    })
    return Effect.ensuring(
      enter,
      Effect.sync(() => {
        if (this.#waiting.delete(own)) this.#nextInTurn()?.begin()
      })
    )
  }

  #nextInTurn(): Waiting | undefined {
    return this.#waiting.values().next().value
  }
}
