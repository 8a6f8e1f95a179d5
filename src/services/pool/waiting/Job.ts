/**
 * For whom an operation of the library works: the fibers that wait for it, and who has the memory that it uses. Its
 * requests are theirs where the pool looks for jobs that wait for each other.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"

export type AnyFiber = Pick<Fiber.Fiber<unknown, unknown>, "id" | "context">

const none: ReadonlyArray<never> = []

/** An operation of the library, which may run on fibers of its own. */
export interface Job {
  /** The fibers that wait for it now. */
  readonly waiting: () => ReadonlyArray<AnyFiber>
  /** The memory that comes back only when it has ended, as `Leasable.wholeMemory` stands for it. */
  readonly uses: ReadonlyArray<object>
}

/** In the context of what an operation does. */
export const CurrentJob = Context.Reference<Job | undefined>("effect-gpu-pool/CurrentJob", {
  defaultValue: () => undefined
})

const nobody = (): ReadonlyArray<never> => none

/** Runs what uses some memory for as long as it lasts, whoever has a lease of that. */
export const using = <A, E, R>(memory: object, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const { uses = none, waiting = nobody } = fiber.getRef(CurrentJob) ?? {}
    return Effect.provideService(effect, CurrentJob, { waiting, uses: [memory, ...uses] })
  })

/** Who waits when a request does. */
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

/** The fiber and the scope of a request; and, of one that belongs to an operation, all who wait for that, and what it uses. */
export const partyOf = ({ maker, scope }: Asked): Party => {
  const scopes = scope === undefined ? none : [scope]
  if (Context.get(maker.context, CurrentJob) === undefined) return { fiberIds: [maker.id], scopes, uses: none }
  const fibers = new Map([[maker.id, maker]])
  const uses: Array<object> = []
  // A map goes on to what is added meanwhile.
  for (const { context } of fibers.values()) {
    const job = Context.get(context, CurrentJob)
    if (job === undefined) continue
    uses.push(...job.uses)
    for (const other of job.waiting()) fibers.set(other.id, other)
  }
  const others = Array.from(fibers.values()).slice(1).map(({ context }) => Context.getOrUndefined(context, Scope.Scope))
  return {
    fiberIds: Array.from(fibers.keys()),
    scopes: [...scopes, ...others.filter((one) => one !== undefined)],
    uses
  }
}
