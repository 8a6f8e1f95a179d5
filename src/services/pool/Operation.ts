/**
 * For whom an operation of the library works, as an upload or a read: the fibers that wait for it. Its requests are theirs where
 * the pool looks for jobs that wait for each other, and so is the memory that it uses.
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
   * Whether it runs on a fiber now. Fibers that the program starts meanwhile inherit the context, and may go on when the operation
   * has ended: they are none of its own.
   */
  readonly runsOn: (fiberId: number) => boolean
  /** The fibers that wait for it now. */
  readonly waiting: () => ReadonlyArray<AnyFiber>
  /** The memory that comes back only when it has ended, by its allocation. */
  readonly using: () => ReadonlyArray<object>
}

/**
 * In the context of what an operation does.
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
 * Runs what uses some memory for as long as it lasts, whoever has a lease of that.
 *
 * @category functions
 * @since 0.1.0
 */
export const using = <A, E, R>(memory: object, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    // A fiber may begin before the operation around it knows that it runs there.
    const around = fiber.getRef(CurrentOperation)
    const outer = (): Operation | undefined => around?.runsOn(fiber.id) === true ? around : undefined
    return Effect.provideService(effect, CurrentOperation, {
      runsOn: (id) => id === fiber.id,
      waiting: () => outer()?.waiting() ?? none,
      using: () => [memory, ...outer()?.using() ?? none]
    })
  })

/**
 * Who waits when a request does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Party {
  readonly fiberIds: ReadonlyArray<number>
  readonly scopes: ReadonlyArray<Scope.Scope>
  readonly uses: ReadonlyArray<object>
}

/** A request, as its party knows it. */
interface Asked {
  readonly maker: AnyFiber
  readonly scope: Scope.Scope | undefined
}

/**
 * The fiber and the scope of a request; and, of one that belongs to an operation, all who wait for that, and what it
 * uses.
 *
 * @category functions
 * @since 0.1.0
 */
export const partyOf = ({ maker, scope }: Asked): Party => {
  const scopes = scope === undefined ? none : [scope]
  if (operationOf(maker) === undefined) return { fiberIds: [maker.id], scopes, uses: none }
  const fibers = new Map([[maker.id, maker]])
  const uses: Array<object> = []
  // A map goes on to what is added meanwhile.
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
