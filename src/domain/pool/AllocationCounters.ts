/**
 * Counts of what an allocator was asked for: now, the peak, and the total.
 *
 * @see rmm::mr::statistics_resource_adaptor
 * @since 0.1.0
 */

/**
 * One quantity, since counting began.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counter {
  /** Allocated and not freed. Negative when more was freed than allocated since counting began. */
  readonly current: number
  /** The most that `current` has been, at least 0. */
  readonly peak: number
  /** Allocated in total, freed or not. */
  readonly total: number
}

/**
 * Requested bytes, and the number of allocations.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counters {
  readonly bytes: Counter
  readonly allocations: Counter
}

class RunningCounter {
  #current = 0
  #peak = 0
  #total = 0

  add(amount: number): void {
    this.#current += amount
    this.#total += amount
    this.#peak = Math.max(this.#peak, this.#current)
  }

  remove(amount: number): void {
    this.#current -= amount
  }

  /** Adds the counts of another one that counted while this one did not. */
  addAll({ current, peak, total }: Counter): void {
    this.#peak = Math.max(this.#peak, this.#current + peak)
    this.#current += current
    this.#total += total
  }

  now(): Counter {
    return { current: this.#current, peak: this.#peak, total: this.#total }
  }
}

/**
 * Counters that change with each call.
 *
 * @internal
 */
export class AllocationCounters {
  readonly #bytes = new RunningCounter()
  readonly #allocations = new RunningCounter()

  allocated(bytes: number): void {
    this.#bytes.add(bytes)
    this.#allocations.add(1)
  }

  freed(bytes: number): void {
    this.#bytes.remove(bytes)
    this.#allocations.remove(1)
  }

  /** Adds the counts of others that counted while these did not. */
  addAll(others: Counters): void {
    this.#bytes.addAll(others.bytes)
    this.#allocations.addAll(others.allocations)
  }

  now(): Counters {
    return { bytes: this.#bytes.now(), allocations: this.#allocations.now() }
  }
}
