/**
 * How far a request believes out-of-memory handlers that say they have freed something: only if more memory came back than
 * the handlers themselves took.
 *
 * @since 0.1.0
 */
/**
 * The memory that handlers are asked about: the pool's, or a budget's.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shortage {
  /** The bytes of the limit that no lease uses. A handler that takes memory and gives it back does not change them. */
  room(): number
  /** How many leases were granted, except to handlers. */
  served(): number
}

/**
 * How often a request believes a handler without evidence, where the driver has no memory: the handler may have freed
 * driver memory outside of the pool. A handler that always says so must not make the request try for ever.
 */
const mostBelieved = 16

/**
 * What one request knows about the handlers of one account.
 *
 * @category models
 * @since 0.1.0
 */
export class HandlerCredit {
  readonly account: Shortage
  /** Whether the handlers have answered that they freed nothing: they are not asked again for this request. */
  declined = false
  /** The most room since another request was last served. */
  #room: number
  #served: number
  #believed = 0

  constructor(account: Shortage) {
    this.account = account
    this.#room = account.room()
    this.#served = account.served()
  }

  /**
   * Whether the request searches again after a handler said that it freed something. Another request may have the memory by now: one
   * before it in the queue, or one that bypassed it. The number of those is bounded.
   */
  accepts(wasRefused: boolean): boolean {
    const room = this.account.room()
    const served = this.account.served()
    if (served !== this.#served) {
      this.#served = served
      this.#room = room
      return true
    }
    if (room > this.#room) {
      this.#room = room
      return true
    }
    return wasRefused && this.#believed++ < mostBelieved
  }
}
