/**
 * Runs work of a producer concurrently: each piece on its own fiber, at most `most` at a time, with the results in
 * order. All of it ends with a scope.
 *
 * Effect's `Stream.mapEffect` does this too. But it hangs when it is interrupted at certain steps (Effect 4.1), pulls
 * the next element of a stream before the work on the last one could copy it, and does not end when the device is lost.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { type AnyFiber, CurrentOperation, type Operation } from "../pool/Operation.ts"

interface Terms {
  /** How many pieces of work run at a time. */
  readonly most: number
  /** The scope that ends all fibers. */
  readonly scope: Scope.Scope
  readonly status: DeviceStatus
  /** The memory that all the work uses. */
  readonly uses: ReadonlyArray<object>
}

/** Started work, and its result. */
interface Handed<A, E> {
  exit: Exit.Exit<A, E> | undefined
}

/** Lets one fiber at a time wait for a condition that other fibers change. */
class WaitingPlace {
  #look = constVoid
  /** The fiber that waits here now. */
  fiber: AnyFiber | undefined = undefined

  /** Call it after a change of the condition. */
  readonly wake = (): void => this.#look()

  until(holds: () => boolean): Effect.Effect<void> {
    // Checks again in the step in which it begins to wait, since another fiber may have run before.
    return Effect.withFiber((fiber) =>
      holds() ? Exit.void : Effect.callback<void>((resume) => {
        const leave = (): void => {
          this.#look = constVoid
          this.fiber = undefined
        }
        this.fiber = fiber
        this.#look = () => {
          if (!holds()) return
          leave()
          resume(Exit.void)
        }
        this.#look()
        return Effect.sync(leave)
      })
    )
  }
}

/** One producer, and one consumer that takes the results. Either waits for what the other or the work does. */
export class InOrder<A, E> implements Operation {
  readonly using: () => ReadonlyArray<object>
  readonly #most: number
  readonly #scope: Scope.Scope
  readonly #producer = new WaitingPlace()
  readonly #consumer = new WaitingPlace()
  /** Work whose result was not taken yet, oldest first. */
  readonly #handed: Array<Handed<A, E>> = []
  /** How the producer ended. */
  #end: Exit.Exit<never, E | Cause.Done> | undefined
  #lost: Exit.Exit<never, GpuError> | undefined

  private constructor({ most, scope, uses }: Terms) {
    this.#most = most
    this.#scope = scope
    this.using = () => uses
  }

  /** The ids of the fibers of the producer and the work. */
  readonly #own = new Set<number>()

  readonly runsOn = (fiberId: number): boolean => this.#own.has(fiberId)

  readonly waiting = (): ReadonlyArray<AnyFiber> =>
    [this.#consumer.fiber, this.#producer.fiber].filter((fiber) => fiber !== undefined)

  /**
   * Runs a producer, which starts work with {@link hand}. The pull yields the results in order, then ends as the
   * producer did. It fails with the first failed work, or when the device is lost.
   */
  static begin<A, E, R>(
    produce: (hand: InOrder<A, E>) => Effect.Effect<void, E, R>,
    terms: Terms
  ): Effect.Effect<Pull.Pull<readonly [A], E | GpuError>, never, R> {
    return Effect.suspend(() => {
      const { scope, status } = terms
      const self = new InOrder<A, E>(terms)
      const listening = Effect.suspend(() =>
        Scope.addFinalizer(
          scope,
          Effect.sync(status.onLost((error) => {
            self.#lost = Exit.fail(error)
            self.#consumer.wake()
          }))
        )
      )
      // Fibers of the work inherit the operation.
      const produced = Effect.provideService(Effect.suspend(() => produce(self)), CurrentOperation, self)
      const producer = Effect.forkIn(produced, scope, { startImmediately: true })
      return Effect.map(Effect.andThen(listening, producer), (fiber) => {
        self.#runOn(fiber)
        fiber.addObserver((exit) => {
          self.#end = Exit.isSuccess(exit) ? Exit.fail(Cause.Done()) : Exit.failCause(exit.cause)
          self.#consumer.wake()
        })
        return self.#next
      })
    })
  }

  /**
   * Waits for room, and starts work. It completes when the work has called `taken`, or has ended: until then the
   * producer leaves alone what the work takes.
   */
  hand<R>(work: (taken: () => void) => Effect.Effect<A, E, R>): Effect.Effect<void, never, R> {
    const hasRoom = this.#producer.until(() => this.#handed.length < this.#most)
    return Effect.flatMap(hasRoom, () => {
      const handed: Handed<A, E> = { exit: undefined }
      let isTaken = false
      const taken = (): void => {
        isTaken = true
        this.#producer.wake()
      }
      return Effect.flatMap(Effect.forkIn(work(taken), this.#scope, { startImmediately: true }), (fiber) => {
        this.#handed.push(handed)
        this.#runOn(fiber)
        fiber.addObserver((exit) => {
          handed.exit = exit
          this.#producer.wake()
          this.#consumer.wake()
        })
        return this.#producer.until(() => isTaken || handed.exit !== undefined)
      })
    })
  }

  #runOn(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#own.add(fiber.id)
    fiber.addObserver(() => this.#own.delete(fiber.id))
  }

  readonly #hasNext = (): boolean => {
    const [first] = this.#handed
    return this.#lost !== undefined || (first === undefined ? this.#end !== undefined : first.exit !== undefined)
  }

  readonly #next: Pull.Pull<readonly [A], E | GpuError> = Effect.flatMap(
    this.#consumer.until(this.#hasNext),
    (): Exit.Exit<readonly [A], E | GpuError | Cause.Done> => {
      if (this.#lost !== undefined) return this.#lost
      const first = this.#handed.shift()
      if (first === undefined) return this.#end!
      this.#producer.wake()
      return Exit.map(first.exit!, (result) => [result] as const)
    }
  )
}
