/**
 * Devices by name: each is opened at its first use, shared by all who use it, and closed when nobody has used it for a
 * while.
 *
 * Effect's RcMap counts the users of a name, and closes its entry when there are none. But it would keep a failed
 * opening, or a lost device, as long as the name has users. So its entry for a name is a series of generations, which
 * opens nothing by itself.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import * as Scope from "effect/Scope"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { DeviceContext } from "../../device/DeviceContext.ts"
import { closedError, Generations, type Plan as GenerationsPlan, type Restore } from "../reconnecting/Generations.ts"

/** How devices are opened, and how long they stay. */
export interface Plan<I> {
  /** The name of the operation in errors. */
  readonly operation: string
  readonly idleTimeToLive: Duration.Duration
  readonly of: (name: string) => GenerationsPlan<I, GpuError>
}

type Opened<I> = Generations<I, GpuError>

/** Lets a caller keep a device open until a scope closes. It cannot be interrupted, and waits through `restore`. */
export type Keep<I> = (scope: Scope.Scope, restore: Restore) => Effect.Effect<Context.Context<I>, GpuError>

export class OpenDevices<I> {
  readonly #plan: Plan<I>
  readonly #map: RcMap.RcMap<string, Opened<I>>
  /** The entries of the map, which cannot be read synchronously. */
  readonly #named: Map<string, Opened<I>>

  private constructor(plan: Plan<I>, map: RcMap.RcMap<string, Opened<I>>, named: Map<string, Opened<I>>) {
    this.#plan = plan
    this.#map = map
    this.#named = named
  }

  static readonly make = <I>(plan: Plan<I>): Effect.Effect<OpenDevices<I>, never, Scope.Scope> =>
    Effect.gen(function*() {
      const context = yield* Effect.context<never>()
      const named = new Map<string, Opened<I>>()
      const map = yield* RcMap.make({
        lookup: (name: string) => entry(plan, name, context, named),
        idleTimeToLive: plan.idleTimeToLive
      })
      return new OpenDevices(plan, map, named)
    })

  /** The devices that are open and not lost, in the order in which they were first used. */
  get open(): ReadonlyMap<string, Context.Context<I>> {
    const found = new Map<string, Context.Context<I>>()
    for (const [name, { current }] of this.#named) {
      if (current !== undefined) found.set(name, current)
    }
    return found
  }

  /** Does something with a device while it is open, and nothing where it is not. */
  whileOpen(
    name: string,
    f: (context: Context.Context<I>) => Effect.Effect<void, GpuError>
  ): Effect.Effect<void, GpuError> {
    return Effect.scopedWith((scope) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(this.#ofMap(name, scope), (found) => {
          const open = found?.keepOpen((context) => context === found.current, scope, restore)
          return open === undefined ? Effect.void : Effect.flatMap(open, (context) => restore(f(context)))
        })
      )
    )
  }

  /** A device by its name. */
  named(name: string): Keep<I> {
    // The lookup does not wait for a driver. Only the closing of the map interrupts it, also that of a later caller.
    return (scope, restore) =>
      Effect.matchCauseEffect(Scope.provide(RcMap.get(this.#map, name), scope), {
        onFailure: () => Exit.fail(closedError(this.#plan.operation)),
        onSuccess: (generations) => generations.keep(scope, restore)
      })
  }

  /** The open device of something that was made there; `isMissing` is the error where none is open. */
  ofOwner(owner: DeviceInfo, isMissing: () => GpuError): Keep<I> {
    const isOwner = (context: Context.Context<I>) => infoOf(context) === owner
    return (scope, restore) =>
      Effect.suspend(() => {
        const named = Array.from(this.#named).find(([, generations]) => generations.has(isOwner))
        if (named === undefined) return isMissing()
        return Effect.flatMap(
          this.#ofMap(named[0], scope),
          (found) => found?.keepOpen(isOwner, scope, restore) ?? isMissing()
        )
      })
  }

  /** The map's entry for a name, kept there until the scope closes. */
  #ofMap(name: string, scope: Scope.Scope): Effect.Effect<Opened<I> | undefined> {
    return Effect.matchCause(Scope.provide(RcMap.getOption(this.#map, name), scope), {
      onFailure: () => undefined,
      onSuccess: Option.getOrUndefined
    })
  }
}

/** The generations of a name, until it is idle. */
const entry = <I>(
  plan: Plan<I>,
  name: string,
  context: Context.Context<never>,
  named: Map<string, Opened<I>>
): Effect.Effect<Opened<I>, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const made = new Generations(plan.of(name), context, scope)
        named.set(name, made)
        return made
      }),
      (made) =>
        Effect.suspend(() => {
          // Its successor may be there already.
          if (named.get(name) === made) named.delete(name)
          return made.close
        })
    ))

const infoOf = <I>(context: Context.Context<I>): DeviceInfo | undefined =>
  Context.getOrUndefined(context as Context.Context<unknown>, DeviceContext)?.info

/**
 * Provides a device. Services that the program has replaced on this same device stay, as a budget or a further queue,
 * like inside an `on` of the same device.
 */
const placed = <I, A, E, R>(
  context: Context.Context<I>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, I>> =>
  Effect.withFiber((fiber) => Effect.provideContext(effect, nearest(context, fiber.context)))

/** The services of a device: those of the ambient context where that is on the same device. */
export const nearest = <I>(context: Context.Context<I>, ambient: Context.Context<never>): Context.Context<I> =>
  infoOf(ambient) === infoOf(context) ? Context.merge(context, ambient) : context

/** Runs an effect on a device. What the effect leaves in the scope around it keeps the device open, too. */
export const run = <I, A, E, R>(
  keep: Keep<I>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, Exclude<R, I>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber): Effect.Effect<A, E | GpuError, Exclude<R, I>> => {
      const device = Scope.makeUnsafe()
      const outer = Context.getOrUndefined(fiber.context as Context.Context<unknown>, Scope.Scope)
      const lasting = outer === undefined ? undefined : new LastingScope(outer, device)
      const running = Effect.flatMap(keep(device, restore), (context) => restore(placed(context, effect)))
      return lasting === undefined
        ? Effect.onExit(running, (exit) => Scope.close(device, exit))
        : Effect.onExit(
          Effect.andThen(lasting.begin, Scope.provide(running, lasting.scope)),
          (exit) => lasting.end(exit)
        )
    })
  )

/** A device, which stays open until the scope closes. */
export const kept = <I>(keep: Keep<I>): Effect.Effect<Context.Context<I>, GpuError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (outer) => {
      const scope = Scope.forkUnsafe(outer)
      return Effect.onError(keep(scope, restore), (cause) => Scope.close(scope, Exit.failCause(cause)))
    })
  )

/**
 * The scope of an effect that runs on a device: a part of the scope around it. What the effect leaves in it, as leases that
 * belong to the outer scope, keeps the device open.
 */
class LastingScope {
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
