/**
 * A clock that stands still until the explorer lets time pass.
 *
 * @internal
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

interface Timer {
  readonly at: number
  readonly wake: () => void
}

/** A task that became ready to run, and can be removed again. */
export interface Woken {
  readonly cancel: () => void
}

export class VirtualClock implements Clock.Clock {
  /** Milliseconds since the program began. */
  now = 0
  /** The timers in the order in which they are due; of those due at the same time, the first that was set. */
  #timers: Array<Timer> = []
  readonly #onWoken: (task: () => void) => Woken

  /** `onWoken` gets a task for each timer that is due, in order. */
  constructor(onWoken: (task: () => void) => Woken) {
    this.#onWoken = onWoken
  }

  get isWaiting(): boolean {
    return this.#timers.length > 0
  }

  /** Lets time pass up to the next timer. */
  advance(): void {
    const [first] = this.#timers
    if (first === undefined) return
    this.now = first.at
    while (this.#timers[0]?.at === first.at) this.#timers.shift()!.wake()
  }

  currentTimeMillisUnsafe(): number {
    return this.now
  }
  currentTimeNanosUnsafe(): bigint {
    return BigInt(Math.round(this.now * 1_000_000))
  }
  monotonicTimeNanosUnsafe(): bigint {
    return this.currentTimeNanosUnsafe()
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = this.currentTimeNanos

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    if (millis <= 0) return Effect.yieldNow
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback((resume) => {
      let woken: Woken | undefined
      const timer: Timer = {
        at: this.now + millis,
        wake: () => {
          woken = this.#onWoken(() => resume(Effect.void))
        }
      }
      this.#insert(timer)
      return Effect.sync(() => {
        this.#timers = this.#timers.filter((other) => other !== timer)
        woken?.cancel()
      })
    })
  }

  #insert(timer: Timer): void {
    let index = this.#timers.length
    while (index > 0 && this.#timers[index - 1]!.at > timer.at) index--
    this.#timers.splice(index, 0, timer)
  }
}
