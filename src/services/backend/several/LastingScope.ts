/**
 * The scope of an effect that runs on a device: a part of the scope around it. What the effect leaves in it, as leases that
 * belong to the outer scope, keeps the device open.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

export class LastingScope {
  /** For the effect. It closes before the device can. */
  readonly scope: Scope.Closeable
  readonly #lasting: Scope.Closeable
  readonly #device: Scope.Closeable
  /**
   * The running effect, and the outer scope while something of the effect is in it. The last of them to end releases
   * the device.
   */
  #users = 2

  /** Closing `device` releases the device. */
  constructor(outer: Scope.Scope, device: Scope.Closeable) {
    this.#lasting = Scope.forkUnsafe(outer)
    this.#device = device
    this.scope = Scope.makeUnsafe()
  }

  /** Call it before the effect runs. The outer scope may be closed already, or close at any time. */
  readonly begin: Effect.Effect<void> = Effect.suspend(() =>
    Scope.addFinalizerExit(
      this.#lasting,
      (exit) => Effect.ensuring(Scope.close(this.scope, exit), this.#leave)
    )
  )

  /** Call it when the effect has ended: an effect that left nothing behind is removed from the outer scope. */
  end(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const leftNothing = this.scope.state._tag === "Empty"
      return Effect.andThen(leftNothing ? Scope.close(this.#lasting, exit) : Effect.void, this.#leave)
    })
  }

  readonly #leave: Effect.Effect<void> = Effect.suspend(() => {
    this.#users--
    return this.#users === 0 ? Scope.close(this.#device, Exit.void) : Effect.void
  })
}
