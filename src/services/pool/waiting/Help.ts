/**
 * How far a request believes out-of-memory handlers that say they have freed something: as far as more came back than
 * the handlers themselves took.
 *
 * @internal
 */

/** The memory that handlers are asked about: the pool's, or a budget's. */
export interface Shortage {
  /** The bytes of the limit that no lease has; what a handler takes and gives back leaves them as they were. */
  readonly room: () => number
  /** How many leases were granted, but for those that handlers took. */
  readonly served: () => number
}

/**
 * How often a request believes a handler without evidence, where the driver has no memory: the handler may have freed
 * driver memory outside of the pool. A handler that always says so must not keep the request for ever.
 */
const mostBelieved = 16

/** What one request knows of the help of one pool's or budget's handlers. */
export class Help {
  readonly shortage: Shortage
  /** The handlers did not help: what they released meanwhile is no reason to ask them again. */
  declined = false
  /** The most room that there was since another request was served. */
  #room: number
  #served: number
  #believed = 0

  constructor(shortage: Shortage) {
    this.shortage = shortage
    this.#room = shortage.room()
    this.#served = shortage.served()
  }

  /**
   * Whether it is worth while to search again after a handler said so. Another request may have the memory by now: one
   * before this one in line, or one that may overtake it. There are only so many of those.
   */
  came(refused: boolean): boolean {
    const { shortage } = this
    const room = shortage.room()
    if (shortage.served() !== this.#served) {
      this.#served = shortage.served()
      this.#room = room
      return true
    }
    if (room > this.#room) {
      this.#room = room
      return true
    }
    return refused && this.#believed++ < mostBelieved
  }
}
