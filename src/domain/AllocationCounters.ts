/**
 * What an allocator was asked for, counted: now, at most, and in all.
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
  /** Allocated in all, whatever was freed. */
  readonly total: number
}

/**
 * Requested bytes, and how many allocations they came in.
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

  /** What another one has counted while this one stood still. */
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
 * Counters that count on.
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

  /** Takes over what others have counted since these stood still. */
  addAll(others: Counters): void {
    this.#bytes.addAll(others.bytes)
    this.#allocations.addAll(others.allocations)
  }

  now(): Counters {
    return { bytes: this.#bytes.now(), allocations: this.#allocations.now() }
  }
}
