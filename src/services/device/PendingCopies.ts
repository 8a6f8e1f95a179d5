/**
 * The copies of the program's data that commands under way still need, and the most bytes of them on every backend.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import { checkedStep } from "../calls/CheckedStep.ts"
import type { QueueDriver } from "./QueueDriver.ts"

/** Enough to keep any device busy while the next copies are made. */
const mostBytes = 64 * 1024 * 1024

/**
 * The copies that were made up to a position of the queue. When the queue has reached it, the copies are not needed any
 * more.
 */
interface Copies {
  readonly position: number
  bytes: number
}

/** A write that copies so many bytes of the program's. */
interface Write {
  readonly bytes: number
  readonly write: () => Effect.Effect<void, GpuError>
}

/**
 * The copies for one queue. A write for which there is no room waits in line until the device has used enough of them,
 * without blocking the event loop. A write that is larger than the bound goes alone. Writes wait only for the device,
 * never for another fiber, so every write is served.
 */
export class PendingCopies {
  readonly #driver: QueueDriver["Service"]
  readonly #line = Semaphore.makeUnsafe(1)
  #pending: Array<Copies> = []
  #bytes = 0
  /** Writes in line, the first one included. */
  #waiting = 0

  private constructor(driver: QueueDriver["Service"]) {
    this.#driver = driver
  }

  static readonly #ofDrivers = new WeakMap<QueueDriver["Service"], PendingCopies>()

  /** The copies for a driver, whichever services use it. */
  static of(driver: QueueDriver["Service"]): PendingCopies {
    const known = PendingCopies.#ofDrivers.get(driver)
    if (known !== undefined) return known
    const copies = new PendingCopies(driver)
    PendingCopies.#ofDrivers.set(driver, copies)
    return copies
  }

  /** Bytes of copies that are not known to have been used. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * A write that is checked and done in one step: now if there is room for its copy, and later if not. Then it is checked
   * once more, since its lease may have ended meanwhile. The check answers what is to be done, why it cannot be, or
   * nothing where there are no bytes to write.
   */
  write(
    operation: string,
    check: (operation: string) => Write | GpuError | undefined,
    isFirst: boolean = false
  ): Effect.Effect<void, GpuError> {
    return checkedStep(operation, () => {
      const checked = check(operation)
      if (checked === undefined) return Exit.void
      if (isGpuError(checked)) return checked
      const { bytes, write } = checked
      if (this.#hasRoom(bytes, isFirst)) {
        const written = write()
        this.add(bytes)
        return written
      }
      const later = this.write(operation, check, true)
      return isFirst ? Effect.andThen(this.#roomFor(bytes), later) : this.#inLine(later)
    })
  }

  /** Counts the copy of a write that cannot wait, as one at the end of a mapping. */
  add(bytes: number): void {
    const position = this.#driver.positionUnsafe()
    const last = this.#pending.at(-1)
    this.#bytes += bytes
    if (last !== undefined && last.position >= position) last.bytes += bytes
    else this.#pending.push({ position, bytes })
  }

  #hasRoom(bytes: number, isFirst: boolean): boolean {
    if (!isFirst && this.#waiting > 0) return false
    if (this.#bytes + bytes <= mostBytes) return true
    this.#forgetEnded()
    return this.#bytes === 0 || this.#bytes + bytes <= mostBytes
  }

  #forgetEnded(): void {
    const ended = this.#driver.endedUnsafe()
    const left = this.#pending.findIndex(({ position }) => position > ended)
    const gone = this.#pending.splice(0, left < 0 ? this.#pending.length : left)
    for (const { bytes } of gone) this.#bytes -= bytes
  }

  /** Waits for half of the copies at least, so that the device is not asked after each. */
  #roomFor(bytes: number): Effect.Effect<void, GpuError> {
    const rest = Math.max(0, Math.min(mostBytes / 2, mostBytes - bytes))
    let left = this.#bytes
    for (const copies of this.#pending) {
      left -= copies.bytes
      if (left <= rest) return this.#driver.awaitEnded(copies.position)
    }
    return Effect.void
  }

  #inLine(write: Effect.Effect<void, GpuError>): Effect.Effect<void, GpuError> {
    let isWaiting = false
    const enter = Effect.suspend(() => {
      isWaiting = true
      this.#waiting += 1
      return this.#line.withPermit(write)
    })
    return Effect.onExit(enter, () =>
      Effect.sync(() => {
        if (isWaiting) this.#waiting -= 1
      }))
  }
}
