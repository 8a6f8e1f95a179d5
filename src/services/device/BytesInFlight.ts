/**
 * The work under way on one queue, and how much of it there may be at most: commands, and copies of the program's data that they
 * still need. It is the same on every backend.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import { validated } from "../calls/Validated.ts"
import type { QueueDriver } from "./QueueDriver.ts"

/** The most of what is under way. */
export interface Bound {
  /** Of the copies. */
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

/** A write that copies so many bytes of the program's. */
interface Write {
  readonly bytes: number
  readonly write: () => Effect.Effect<void, GpuError>
}

type Check = (operation: string) => Write | GpuError | undefined

/**
 * The work on one queue. A command for which there is no room waits in the wait queue until the device has done enough, without
 * blocking the event loop. A write that is larger than the bound goes alone. Commands wait only for the device, never for
 * another fiber, so every one is served.
 */
export class BytesInFlight {
  readonly #driver: QueueDriver["Service"]
  readonly #line = Semaphore.makeUnsafe(1)
  #most = usualBound
  readonly #pending: Array<Recorded> = []
  #bytes = 0
  #commands = 0
  /** Commands in the wait queue, the first one included. */
  #waiting = 0

  private constructor(driver: QueueDriver["Service"]) {
    this.#driver = driver
  }

  static readonly #ofDrivers = new WeakMap<QueueDriver["Service"], BytesInFlight>()

  /** The work on a driver, whichever services use it. */
  static of(driver: QueueDriver["Service"]): BytesInFlight {
    const known = BytesInFlight.#ofDrivers.get(driver)
    if (known !== undefined) return known
    const work = new BytesInFlight(driver)
    BytesInFlight.#ofDrivers.set(driver, work)
    return work
  }

  /** Changes the bound. What is recorded already stays; commands in the wait queue go by the new one when they look again. */
  limit(most: Bound): void {
    this.#most = most
  }

  /**
   * A write that is checked and done in one step: now if there is room for its copy, and later if not. Then it is checked
   * once more, since its lease may have ended meanwhile. The check answers what is to be done, why it cannot be, or
   * nothing where there are no bytes to write.
   */
  write(operation: string, check: Check): Effect.Effect<void, GpuError> {
    return validated(operation, () => {
      const done = this.#attempt(operation, check, false)
      // What a command begins goes on outside of the wait queue, since it may record another one, which waits in the wait queue itself.
      return typeof done === "number" ? Effect.flatten(this.#inLine(this.#first(operation, check))) : done
    })
  }

  /**
   * A command without a copy, checked and recorded in one step: now, or later where commands are bounded and there is no room.
   * A step that only begins something, as a compilation before a dispatch, has recorded nothing yet.
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

  /** What was done, or the bytes for which there is no room. */
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
    if (!isFirst && this.#waiting > 0) return false
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

  /** Waits until no more than half of the bound is left, so that the device is not asked after each command. */
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

  #inLine<A>(command: Effect.Effect<A, GpuError>): Effect.Effect<A, GpuError> {
    let isWaiting = false
    const enter = Effect.suspend(() => {
      isWaiting = true
      this.#waiting += 1
      return this.#line.withPermit(command)
    })
    return Effect.onExit(enter, () =>
      Effect.sync(() => {
        if (isWaiting) this.#waiting -= 1
      }))
  }
}
