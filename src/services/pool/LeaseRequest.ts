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
import { type AnyFiber, partyOf } from "./Operation.ts"

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
  /** What its source has to know besides. */
  readonly wanted: unknown
  readonly maker: AnyFiber
  /** Takes the lease in the step that grants it, when it is one of several that are wanted together. */
  readonly collect: Array<Lease> | undefined
}

/**
 * `G` is what it is granted: a lease, or nothing that its fiber gets when it asks for a reservation.
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
  /** The handlers in whose work it is made. */
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
    // The owner of the list is the memory, as its handlers know it.
    return isWithin(this.handlerRun, this.owner.owner)
  }

  override get answer(): Answer {
    return this.state === "failed" ? this.failure!() : Exit.void
  }

  override get hasEnded(): boolean {
    const { granted, isOver, state } = this
    return granted === undefined ? isOver || state === "failed" : granted.list === undefined
  }

  /** As that of all leases (`DeadlockView`). */
  override get memoryKeys(): ReadonlyArray<Key> {
    const { fiberIds } = partyOf(this)
    return this.owner.scope === undefined ? fiberIds : [this.owner.scope, ...fiberIds]
  }

  override get jobKeys(): ReadonlyArray<Key> {
    const { fiberIds, scopes } = partyOf(this)
    return [...fiberIds, ...scopes]
  }

  /** The scope that will own the lease, or the one around the fiber that asks for a loan. */
  get scope(): Scope.Scope | undefined {
    return this.owner.scope ?? Context.getOrUndefined(this.maker.context, Scope.Scope)
  }
}
