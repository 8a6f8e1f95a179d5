/**
 * How far a request believes out-of-memory handlers that say they have freed something: as far as more came back than
 * the handlers themselves took.
 *
 * @internal
 */

/**
 * The memory that handlers are asked about: the pool's, or a budget's.
 *
 * @internal
 */
export interface Shortage {
  /** The bytes of the limit that no lease has; what a handler takes and gives back leaves them as they were. */
  readonly room: () => number
  /** How many leases were granted, but for those that handlers took. */
  readonly served: () => number
}

/**
 * How often a request believes what it cannot see, where it is the driver that has no memory: they may have freed memory
 * of the driver that is none of the pool's; and one that always says so must not keep it for ever.
 */
const mostBelieved = 16

/**
 * What one request knows of the help of one pool's or budget's handlers.
 *
 * @internal
 */
export class Help {
  readonly shortage: Shortage
  /** They were of no help: what they do on the way is no reason to ask them again. */
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
   * Whether it is worth while to look again, now that a handler says so. What came back may be somebody else's by now,
   * who is in line before this one or may pass it: of those there are only so many.
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
