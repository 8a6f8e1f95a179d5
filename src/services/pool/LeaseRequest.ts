/**
 * A request as its shell knows it: the machine's, with the fiber that made it and the scope that will own the lease.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Key } from "../../domain/pool/machine/Deadlock.ts"
import { type Answer, type Asked, Request } from "../../domain/pool/machine/Request.ts"
import type { Lease } from "../lease/Lease.ts"
import type { LeaseList } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { type HandlerRun, InHandler, isWithin } from "./Handlers.ts"
import { type AnyFiber, type Party, partyOf } from "./Operation.ts"

/**
 * What a call asks for, and who asks.
 *
 * @category models
 * @since 0.1.0
 */
export interface LeaseAsked extends Asked {
  readonly source: PoolSource
  /** The list that will own the lease. */
  readonly owner: LeaseList
  /** What its source needs besides the bytes. */
  readonly wanted: unknown
  readonly maker: AnyFiber
  /** The lease is added to it in the step that grants it, if it is one of several of an `allocateAll`. */
  readonly collect: Array<Lease> | undefined
}

/**
 * A request of the shell. `G` is what its fiber gets: a lease, or `undefined` if it asks for a reservation.
 *
 * @category models
 * @since 0.1.0
 */
export class LeaseRequest<G extends Lease | undefined = Lease | undefined> extends Request {
  declare readonly source: PoolSource
  declare readonly owner: LeaseList
  declare readonly wanted: unknown
  declare readonly maker: AnyFiber
  declare readonly collect: Array<Lease> | undefined
  /** The run of handlers within which it is made. */
  declare readonly handlerRun: HandlerRun | undefined
  declare granted: G | undefined

  constructor(asked: LeaseAsked) {
    super(asked)
    this.wanted = asked.wanted
    this.maker = asked.maker
    this.collect = asked.collect
    this.handlerRun = Context.get(asked.maker.context, InHandler)
  }

  override get inHandler(): boolean {
    // The owner of the list is the memory, by which its handlers are known.
    return isWithin(this.handlerRun, this.owner.owner)
  }

  override get answer(): Answer {
    return this.state === "failed" ? this.failure!() : Exit.void
  }

  override get hasEnded(): boolean {
    const { granted, isOver, state } = this
    return granted === undefined ? isOver || state === "failed" : granted.hasEnded
  }

  /** The job that waits when it does. */
  get party(): Party {
    return partyOf(this)
  }

  /** The same keys as those of its lease (`DeadlockView`). */
  override get memoryKeys(): ReadonlyArray<Key> {
    const { fiberIds } = this.party
    return this.owner.scope === undefined ? fiberIds : [this.owner.scope, ...fiberIds]
  }

  override get jobKeys(): ReadonlyArray<Key> {
    const { fiberIds, scopes } = this.party
    return [...fiberIds, ...scopes]
  }

  /** The scope that will own the lease, or the one around the fiber that asks for a loan. */
  get scope(): Scope.Scope | undefined {
    return this.owner.scope ?? Context.getOrUndefined(this.maker.context, Scope.Scope)
  }
}
