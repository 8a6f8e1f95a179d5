/**
 * One device after another, each with everything that is built on it. Services are fixed values, and a pool is built on
 * one device, so the services of a lost device cannot be replaced one by one. Together they are a generation, and the
 * next one is built anew.
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
import { deviceUnavailable, type GpuError } from "../../../domain/GpuError.ts"

/** An opened device, and how to subscribe to its loss. */
export interface OpenedDevice<I> {
  readonly context: Context.Context<I>
  /** Calls the listener at the loss, at once if it has happened. Returns a function that removes the listener. */
  readonly onLost: (listener: (error: GpuError) => void) => () => void
}

/** Restores the interruptibility from outside of an uninterruptible region. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The error is not DeviceLost, so that programs that retry after losses stop. */
export const closedError = (operation: string): GpuError =>
  deviceUnavailable([], `The layer of ${operation} is closed: use it in the scope of that layer.`)

/** How generations are opened, and what runs after a loss. Both run in the context of the layer. */
export interface Plan<I, E> {
  /** The name of the operation in errors. */
  readonly operation: string
  /** Opens a device in a scope, or fails and leaves nothing in it. */
  readonly open: (scope: Scope.Scope) => Effect.Effect<OpenedDevice<I>, E | GpuError>
  readonly onLost: (error: GpuError, generation: number) => Effect.Effect<void>
}

class Generation<I, E> {
  readonly scope = Scope.makeUnsafe()
  readonly context = Deferred.makeUnsafe<Context.Context<I>, E | GpuError>()
  /**
   * Counts the effects that run on it or wait for it, and the scopes that keep it. The one that starts it is counted
   * from the beginning.
   */
  users = 1
  /** The result of `context`, once it is open. */
  opened: Context.Context<I> | undefined = undefined
  isClosing = false
  /** The fiber that opens it. */
  opening: Fiber.Fiber<unknown, unknown> | undefined
  stopListening = (): void => {}

  /**
   * Closes it once; further calls wait for that. Interrupts the opening first. A driver call under way ends before, so
   * the device that it opens is in the scope.
   */
  readonly close: Effect.Effect<void> = Effect.uninterruptible(Effect.runSync(Effect.cached(Effect.suspend(() => {
    this.isClosing = true
    this.stopListening()
    const stopOpening = this.opening === undefined ? Effect.void : Fiber.interrupt(this.opening)
    return Effect.andThen(stopOpening, Scope.close(this.scope, Exit.void))
  }))))
}

/**
 * The generations of one layer. At most one of them takes new users: the current one. It changes in the step in which
 * the loss is known, so no effect begins on a lost device.
 */
export class Generations<I, E> {
  readonly #plan: Plan<I, E>
  readonly #context: Context.Context<never>
  readonly #scope: Scope.Scope
  /** Generations that are not closed: the current one, and earlier ones that effects still run on. */
  readonly #live = new Set<Generation<I, E>>()
  /** Fibers that close generations and start observers of losses. They do not wait for the observers. */
  readonly #following = new Set<Fiber.Fiber<void>>()
  #current: Generation<I, E> | undefined
  #opened = 0
  #isClosed = false

  /**
   * The context and the scope are those of the layer. The caller must register {@link close} as a finalizer of that
   * scope.
   */
  constructor(plan: Plan<I, E>, context: Context.Context<never>, scope: Scope.Scope) {
    this.#plan = plan
    this.#context = context
    this.#scope = scope
  }

  /** How many generations were opened. */
  get opened(): number {
    return this.#opened
  }

  /** The services of the current generation, or `undefined` where none is open. */
  get current(): Context.Context<I> | undefined {
    return this.#current?.opened
  }

  /**
   * Runs an effect on the current generation. Where there is none, the first effect opens one, and later ones share it.
   */
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
   * The current generation, which then stays open until the scope closes; opens one where there is none. Call it in an
   * uninterruptible region: it waits through `restore`.
   */
  keep(scope: Scope.Scope, restore: Restore): Effect.Effect<Context.Context<I>, E | GpuError> {
    return Effect.suspend(() => this.#isClosed ? this.#closedError : this.#kept(this.#join(), scope, restore))
  }

  /**
   * The same for the open generation that `isRight` accepts, also a lost one that is still used. Opens nothing:
   * `undefined` where there is none. Looks it up and counts the user in one synchronous step.
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

  /** Whether {@link keepOpen} finds a generation. */
  has(isRight: (context: Context.Context<I>) => boolean): boolean {
    return this.#find(isRight) !== undefined
  }

  #find(isRight: (context: Context.Context<I>) => boolean): Generation<I, E> | undefined {
    return Array.from(this.#live).find(({ isClosing, opened }) => opened !== undefined && !isClosing && isRight(opened))
  }

  /** Closes all generations. Running effects find a lost device, and later ones fail. */
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
      // A closed scope has run the finalizer already.
      () => hasLeft ? Effect.interrupt : restore(Deferred.await(generation.context))
    )
  }

  #start(): Generation<I, E> {
    const generation = new Generation<I, E>()
    this.#live.add(generation)
    this.#current = generation
    // On a fiber of its own, since other effects may wait for it when the first one is interrupted.
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
    // The generation was closed meanwhile: its waiters must fail.
    if (generation.isClosing) return Effect.interrupt
    this.#opened++
    const number = this.#opened
    generation.opened = context
    generation.stopListening = onLost((error) => this.#lose(generation, error, number))
    Deferred.doneUnsafe(generation.context, Exit.succeed(context))
    return Effect.void
  }

  /** A retry starts the next generation. */
  #refuse(generation: Generation<I, E>, cause: Cause.Cause<E | GpuError>): void {
    this.#retire(generation)
    Deferred.doneUnsafe(generation.context, this.#isClosed ? this.#closedError : Exit.failCause(cause))
  }

  #lose(generation: Generation<I, E>, error: GpuError, number: number): void {
    this.#retire(generation)
    this.#later(Effect.suspend(() => {
      Fiber.runIn(Effect.runForkWith(this.#context)(this.#plan.onLost(error, number)), this.#scope)
      // Else the last effect that leaves closes it.
      return generation.users === 0 ? this.#close(generation) : Effect.void
    }))
  }

  /** Runs an effect in a later step, since a driver call may be under way and other listeners not called yet. */
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

  /** The last user closes a generation that takes no new ones. */
  #leave(generation: Generation<I, E>): Effect.Effect<void> {
    generation.users--
    if (generation.users > 0 || (generation.opened !== undefined && this.#current === generation)) return Effect.void
    if (generation.opened === undefined) {
      // Its opening failed, or every effect that waited for it was interrupted.
      this.#retire(generation)
      return this.#close(generation)
    }
    // Closing a lost device may take long. The effect that saw the loss need not wait for it.
    return Effect.sync(() => this.#later(this.#close(generation)))
  }

  #close(generation: Generation<I, E>): Effect.Effect<void> {
    return Effect.andThen(generation.close, Effect.sync(() => this.#live.delete(generation)))
  }

  get #closedError(): Exit.Exit<never, GpuError> {
    return Exit.fail(closedError(this.#plan.operation))
  }
}
