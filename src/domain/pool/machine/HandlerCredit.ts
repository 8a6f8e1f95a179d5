/**
 * How far a request believes out-of-memory handlers that say they have freed something: as far as more came back than
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
  /** The bytes of the limit that no lease has; what a handler takes and gives back leaves them as they were. */
  room(): number
  /** How many leases were granted, but for those that handlers took. */
  served(): number
}

/**
 * How often a request believes a handler without evidence, where the driver has no memory: the handler may have freed
 * driver memory outside of the pool. A handler that always says so must not keep the request for ever.
 */
const mostBelieved = 16

/**
 * What one request knows of the help of the handlers of one account.
 *
 * @category models
 * @since 0.1.0
 */
export class HandlerCredit {
  readonly account: Shortage
  /** The handlers did not help: what they released meanwhile is no reason to ask them again. */
  declined = false
  /** The most room that there was since another request was served. */
  #room: number
  #served: number
  #believed = 0

  constructor(account: Shortage) {
    this.account = account
    this.#room = account.room()
    this.#served = account.served()
  }

  /**
   * Whether it is worth while to search again after a handler said so. Another request may have the memory by now: one
   * before this one in the queue, or one that may bypass it. There are only so many of those.
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
