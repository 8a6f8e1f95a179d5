/**
 * One device after another, each with everything that stands on it. A service is a fixed value, and a pool is built on one
 * device: so nothing of a lost device can be replaced by itself. All of it together is a generation, and the next one is built
 * anew.
 *
 * @internal
 */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { DeviceUnavailable, type GpuError, make as makeError } from "../../../domain/GpuError.ts"

/** What was opened, and how to hear of its loss. */
export interface OpenedDevice<I> {
  readonly context: Context.Context<I>
  /** Calls the listener at the loss, at once if it has happened. Returns the way to stop listening. */
  readonly onLost: (listener: (error: GpuError) => void) => () => void
}

/** Interruption as it was outside of an uninterruptible region. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** No loss, so that no program tries again for ever. */
export const closedError = (operation: string): GpuError =>
  makeError(
    new DeviceUnavailable({
      tried: [],
      hint: `The layer of ${operation} is closed: use it in the scope of that layer.`
    })
  )

/** How generations are opened, and who hears of a loss. Both run in the context of the layer. */
export interface Plan<I, E> {
  /** As errors name it. */
  readonly operation: string
  /** Opens a device in a scope, or fails and leaves nothing in it. */
  readonly open: (scope: Scope.Scope) => Effect.Effect<OpenedDevice<I>, E | GpuError>
  readonly onLost: (error: GpuError, generation: number) => Effect.Effect<void>
}

class Generation<I, E> {
  readonly scope = Scope.makeUnsafe()
  readonly context = Deferred.makeUnsafe<Context.Context<I>, E | GpuError>()
  /** Effects that run on it or wait for it, and scopes that keep it. Whoever starts it is the first. */
  users = 1
  /** What `context` gives, when it is open. */
  opened: Context.Context<I> | undefined = undefined
  isClosing = false
  /** Opens it. */
  opening: Fiber.Fiber<unknown, unknown> | undefined
  stopListening = (): void => {}
  readonly #closed = Deferred.makeUnsafe<void>()

  /** Closes it once; whoever else closes it waits for that. */
  readonly close: Effect.Effect<void> = Effect.uninterruptible(Effect.suspend(() => {
    if (this.isClosing) return Deferred.await(this.#closed)
    this.isClosing = true
    this.stopListening()
    return Effect.ensuring(
      Effect.andThen(this.#stopOpening, Scope.close(this.scope, Exit.void)),
      Effect.sync(() => Deferred.doneUnsafe(this.#closed, Exit.void))
    )
  }))

  /** A driver that is asked for a device answers first, and what it gives is in the scope then. */
  get #stopOpening(): Effect.Effect<void> {
    return this.opening === undefined ? Effect.void : Fiber.interrupt(this.opening)
  }
}

/**
 * The generations of one layer. At most one of them takes new users: the current one. It changes in the very step in which a
 * device is lost, so no effect begins on a device that is known to be lost.
 */
export class Generations<I, E> {
  readonly #plan: Plan<I, E>
  readonly #context: Context.Context<never>
  readonly #scope: Scope.Scope
  /** Those that are not closed: the current one, and earlier ones that effects still run on. */
  readonly #live = new Set<Generation<I, E>>()
  /** What follows losses, and has not ended. An observer has only begun. */
  readonly #following = new Set<Fiber.Fiber<void>>()
  #current: Generation<I, E> | undefined
  #opened = 0
  #isClosed = false

  /** The context and the scope are those of the layer. Its scope must close what is left with {@link close}. */
  constructor(plan: Plan<I, E>, context: Context.Context<never>, scope: Scope.Scope) {
    this.#plan = plan
    this.#context = context
    this.#scope = scope
  }

  /** How many were opened. */
  get opened(): number {
    return this.#opened
  }

  /** What the current generation has, where one is open. */
  get current(): Context.Context<I> | undefined {
    return this.#current?.opened
  }

  /** Runs an effect on the current generation. Where there is none, the first effect that comes opens one for all. */
  provide<A, E2, R>(effect: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2 | GpuError, Exclude<R, I>> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend((): Effect.Effect<A, E | E2 | GpuError, Exclude<R, I>> => {
        if (this.#isClosed) return this.#closedError
        const generation = this.#join()
        const run = Effect.flatMap(
          Deferred.await(generation.context),
          (context) => Effect.provideContext(effect, context)
        )
        return Effect.onExit(restore(run), () => this.#leave(generation))
      })
    )
  }

  /**
   * The current generation, which then stays open until the scope closes: for callers that cannot be interrupted, and wait
   * through `restore`. Where there is none, it opens one for all.
   */
  keep(scope: Scope.Scope, restore: Restore): Effect.Effect<Context.Context<I>, E | GpuError> {
    return Effect.suspend(() => this.#isClosed ? this.#closedError : this.#kept(this.#join(), scope, restore))
  }

  /**
   * The same for an open generation, also a lost one that is still used. `undefined` where none is the right one: then nothing
   * is opened. For one synchronous step.
   */
  keepOpen(
    isRight: (context: Context.Context<I>) => boolean,
    scope: Scope.Scope,
    restore: Restore
  ): Effect.Effect<Context.Context<I>, E | GpuError> | undefined {
    const generation = this.#find(isRight)
    if (generation === undefined) return undefined
    generation.users++
    return this.#kept(generation, scope, restore)
  }

  /** Whether {@link keepOpen} finds one. */
  has(isRight: (context: Context.Context<I>) => boolean): boolean {
    return this.#find(isRight) !== undefined
  }

  #find(isRight: (context: Context.Context<I>) => boolean): Generation<I, E> | undefined {
    return Array.from(this.#live).find(({ isClosing, opened }) => opened !== undefined && !isClosing && isRight(opened))
  }

  /** Effects that still run find a lost device, and later ones none. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#isClosed = true
    this.#current = undefined
    return Effect.andThen(
      Fiber.awaitAll(Array.from(this.#following)),
      Effect.forEach(Array.from(this.#live), (generation) => this.#close(generation), {
        concurrency: "unbounded",
        discard: true
      })
    )
  })

  #join(): Generation<I, E> {
    if (this.#current === undefined) return this.#start()
    this.#current.users++
    return this.#current
  }

  #kept(
    generation: Generation<I, E>,
    scope: Scope.Scope,
    restore: Restore
  ): Effect.Effect<Context.Context<I>, E | GpuError> {
    let hasLeft = false
    const leave = Effect.suspend(() => {
      hasLeft = true
      return this.#leave(generation)
    })
    return Effect.flatMap(
      Scope.addFinalizer(scope, leave),
      // A closed scope has run it already.
      () => hasLeft ? Effect.interrupt : restore(Deferred.await(generation.context))
    )
  }

  #start(): Generation<I, E> {
    const generation = new Generation<I, E>()
    this.#live.add(generation)
    this.#current = generation
    // On a fiber of its own: others may wait for it when the effect that asked first is interrupted.
    const opening = Effect.runForkWith(this.#context)(
      Effect.flatMap(
        this.#plan.open(generation.scope),
        (opened) => Effect.suspend(() => this.#begin(generation, opened))
      )
    )
    generation.opening = opening
    opening.addObserver((exit) => {
      if (Exit.isFailure(exit)) this.#refuse(generation, exit.cause)
    })
    return generation
  }

  #begin(generation: Generation<I, E>, { context, onLost }: OpenedDevice<I>): Effect.Effect<void> {
    // What is closed meanwhile is refused, to whoever waits for it.
    if (generation.isClosing) return Effect.interrupt
    this.#opened++
    const number = this.#opened
    generation.opened = context
    generation.stopListening = onLost((error) => this.#lose(generation, error, number))
    Deferred.doneUnsafe(generation.context, Exit.succeed(context))
    return Effect.void
  }

  /** Whoever tries again starts the next one. */
  #refuse(generation: Generation<I, E>, cause: Cause.Cause<E | GpuError>): void {
    this.#retire(generation)
    Deferred.doneUnsafe(generation.context, this.#isClosed ? this.#closedError : Exit.failCause(cause))
  }

  #lose(generation: Generation<I, E>, error: GpuError, number: number): void {
    this.#retire(generation)
    this.#later(Effect.suspend(() => {
      Fiber.runIn(Effect.runForkWith(this.#context)(this.#plan.onLost(error, number)), this.#scope)
      // Effects that run on it close it when they leave.
      return generation.users === 0 ? this.#close(generation) : Effect.void
    }))
  }

  /** In a later step: a driver may be in the middle of a call, and others not know of a loss yet. */
  #later(effect: Effect.Effect<void>): void {
    const following = Effect.runForkWith(this.#context)(
      Effect.andThen(Effect.yieldNow, effect),
      { uninterruptible: true }
    )
    this.#following.add(following)
    following.addObserver(() => this.#following.delete(following))
  }

  #retire(generation: Generation<I, E>): void {
    if (this.#current === generation) this.#current = undefined
  }

  /** The last one to leave closes what takes no new users. */
  #leave(generation: Generation<I, E>): Effect.Effect<void> {
    generation.users--
    if (generation.users > 0 || (generation.opened !== undefined && this.#current === generation)) return Effect.void
    if (generation.opened === undefined) {
      // Refused, or nobody wants it any more.
      this.#retire(generation)
      return this.#close(generation)
    }
    // The driver of a lost device may take its time, and whoever hears of the loss goes on at once.
    return Effect.sync(() => this.#later(this.#close(generation)))
  }

  #close(generation: Generation<I, E>): Effect.Effect<void> {
    return Effect.andThen(generation.close, Effect.sync(() => this.#live.delete(generation)))
  }

  get #closedError(): Exit.Exit<never, GpuError> {
    return Exit.fail(closedError(this.#plan.operation))
  }
}
