/**
 * The fibers for which an operation of the library, as an upload or a read, works: those that wait for it. In the search for deadlocks
 * its requests are theirs, and so is the memory that it uses.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"

/**
 * A fiber of any program.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyFiber = Pick<Fiber.Fiber<unknown, unknown>, "id" | "context">

const none: ReadonlyArray<never> = []

/**
 * An operation of the library, which may run on fibers of its own.
 *
 * @category models
 * @since 0.1.0
 */
export interface Operation {
  /**
   * Whether it runs on a fiber now. Fibers that the program starts meanwhile inherit the context, and may outlive the operation: they
   * are not its own.
   */
  readonly runsOn: (fiberId: number) => boolean
  /** The fibers that wait for it now. */
  readonly waiting: () => ReadonlyArray<AnyFiber>
  /** The memory that comes back only when it has ended, by its allocation. */
  readonly using: () => ReadonlyArray<object>
}

/**
 * In the context of an operation's effects: the operation.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentOperation = Context.Reference<Operation | undefined>("effect-gpu-pool/CurrentOperation", {
  defaultValue: () => undefined
})

const operationOf = ({ context, id }: AnyFiber): Operation | undefined => {
  const operation = Context.get(context, CurrentOperation)
  return operation?.runsOn(id) === true ? operation : undefined
}

/**
 * Runs an effect that uses some memory until it ends, whoever has the lease.
 *
 * @category functions
 * @since 0.1.0
 */
export const using = <A, E, R>(memory: object, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    // A fiber may start before the operation around it knows that it runs on that fiber.
    const around = fiber.getRef(CurrentOperation)
    const outer = (): Operation | undefined => around?.runsOn(fiber.id) === true ? around : undefined
    return Effect.provideService(effect, CurrentOperation, {
      runsOn: (id) => id === fiber.id,
      waiting: () => outer()?.waiting() ?? none,
      using: () => [memory, ...outer()?.using() ?? none]
    })
  })

/**
 * The job that waits when a request does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Party {
  readonly fiberIds: ReadonlyArray<number>
  readonly scopes: ReadonlyArray<Scope.Scope>
  readonly uses: ReadonlyArray<object>
}

/** The facts of a request from which its party follows. */
interface Asked {
  readonly maker: AnyFiber
  readonly scope: Scope.Scope | undefined
}

/**
 * The fiber and the scope of a request; if it belongs to an operation, also all fibers that wait for that, their scopes, and the
 * memory that it uses.
 *
 * @category functions
 * @since 0.1.0
 */
export const partyOf = ({ maker, scope }: Asked): Party => {
  const scopes = scope === undefined ? none : [scope]
  if (operationOf(maker) === undefined) return { fiberIds: [maker.id], scopes, uses: none }
  const fibers = new Map([[maker.id, maker]])
  const uses: Array<object> = []
  // Iteration of a Map includes what is added meanwhile.
  for (const fiber of fibers.values()) {
    const operation = operationOf(fiber)
    if (operation === undefined) continue
    uses.push(...operation.using())
    for (const other of operation.waiting()) fibers.set(other.id, other)
  }
  const others = Array.from(fibers.values()).slice(1).map(({ context }) => Context.getOrUndefined(context, Scope.Scope))
  return {
    fiberIds: Array.from(fibers.keys()),
    scopes: [...scopes, ...others.filter((one) => one !== undefined)],
    uses
  }
}
