/**
 * What an image pool should do, in plain arrays: without bins, without running counters, and with only the orders that
 * the documentation specifies.
 */

export interface ModelBlock {
  readonly size: number
  /** Identifies the image: images of one size are all alike here. */
  readonly id: number
}

export class ImagePoolModel {
  readonly maxBytes: number
  readonly capacity: number
  /** The last one released comes last. */
  held: Array<ModelBlock> = []
  readonly active = new Set<ModelBlock>()
  holding = true
  hits = 0
  misses = 0
  allocations = 0
  frees = 0
  #ids = 0

  constructor(maxBytes: number, capacity: number) {
    this.maxBytes = maxBytes
    this.capacity = capacity
  }

  get heldBytes(): number {
    return sum(this.held)
  }

  get activeBytes(): number {
    return sum([...this.active])
  }

  get managedBytes(): number {
    return this.heldBytes + this.activeBytes
  }

  /** The block of a lease, or the tag of the error. */
  allocate(size: number): ModelBlock | "LimitExceeded" | "OutOfMemory" {
    if (size > this.maxBytes || size > this.capacity) return "LimitExceeded"
    const known = this.#take(size)
    if (known !== undefined) {
      this.hits++
      this.active.add(known)
      return known
    }
    if (this.activeBytes + size > this.maxBytes) return "OutOfMemory"
    this.trim(this.maxBytes - size)
    // The driver refuses until enough is evicted, the largest first; nothing is evicted where that cannot help.
    if (this.activeBytes + size > this.capacity) return "OutOfMemory"
    while (this.managedBytes + size > this.capacity) this.#evict(this.#largest())
    const made = { size, id: this.#ids++ }
    this.misses++
    this.allocations++
    this.active.add(made)
    return made
  }

  release(block: ModelBlock): void {
    this.active.delete(block)
    if (this.holding) this.held.push(block)
    else this.frees++
  }

  /** The smallest held block that covers the rest, else the largest, again and again. */
  trim(target: number): void {
    while (this.managedBytes > target && this.held.length > 0) {
      const rest = this.managedBytes - target
      const covering = this.held.filter(({ size }) => size >= rest).map(({ size }) => size)
      this.#evict(covering.length > 0 ? Math.min(...covering) : this.#largest())
    }
  }

  /**
   * After an interrupted request the model takes over the pool's counters, and looks up only the kinds of the held
   * images.
   */
  adopt(
    stats: { readonly hits: number; readonly misses: number; readonly driverFrees: number },
    held: ReadonlyArray<number>
  ) {
    this.hits = stats.hits
    this.misses = stats.misses
    this.frees = stats.driverFrees
    this.held = held.map((size) => ({ size, id: this.#ids++ }))
    this.allocations = stats.driverFrees + held.length + this.active.size
  }

  #largest(): number {
    return Math.max(...this.held.map(({ size }) => size))
  }

  #evict(size: number): void {
    this.#take(size)
    this.frees++
  }

  /** The held block of a size that was released last. */
  #take(size: number): ModelBlock | undefined {
    const at = this.held.map((block) => block.size).lastIndexOf(size)
    return at < 0 ? undefined : this.held.splice(at, 1)[0]
  }
}

const sum = (blocks: ReadonlyArray<ModelBlock>): number => blocks.reduce((total, { size }) => total + size, 0)
