/**
 * Which held blocks have been idle for too long. The owner counts the ticks of a clock.
 *
 * A time to live is a number of ticks, the steps. The blocks that became idle in one tick make a cohort. When a cohort
 * has been idle for k whole ticks, the share 1 − k / steps of its bytes may stay. The blocks above that are freed, the
 * longest idle first, and only whole blocks. So a cohort has at least that share, and less than one block more. A block
 * that became idle alone is freed when its time to live is over. This is jemalloc's decay, with blocks in place of
 * pages.
 *
 * @since 0.1.0
 */
/**
 * How idle blocks are freed.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleDecayOptions {
  /** The ticks of the time to live, an integer from 1. With 1 everything is freed at once, at its end. */
  readonly steps: number
  /** Held bytes below which nothing goes. */
  readonly keepBytes: number
}

/**
 * The option `idle` of a core, by {@link idleDecay}: the numbers, and the code that follows them, which a pool without idle times
 * does not load.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleRule extends IdleDecayOptions {
  /** Begins to count the idle times of the blocks of one core. */
  readonly decay: <B extends IdleBlock<B>>() => IdleDecay<B>
}

/**
 * A block whose idle time is counted: `heldAt` is the tick in which it became idle. Only the decay writes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdleBlock<B> {
  readonly capacity: number
  /** The block that became held next. */
  readonly newer: B | undefined
  heldAt: number
}

/** What became idle in one tick. */
class Cohort<B> {
  /** The bytes that became idle in the tick. */
  idled = 0
  /** Those of them that are still idle. */
  held = 0
  /** The longest idle block; the others follow it in the order of the held blocks. */
  first: B | undefined = undefined
}

/**
 * The idle times of the held blocks of one core, which calls it.
 *
 * @category models
 * @since 0.1.0
 */
export class IdleDecay<B extends IdleBlock<B>> {
  readonly steps: number
  readonly keepBytes: number
  /** The present tick. It starts at `steps`, so that the ticks before it have numbers from 0. */
  private now: number
  /** The cohorts of the present tick and of the `steps` ticks before it, by tick modulo `steps + 1`. */
  private readonly cohorts: ReadonlyArray<Cohort<B>>

  constructor(options: IdleDecayOptions) {
    this.steps = options.steps
    this.keepBytes = options.keepBytes
    this.now = options.steps
    this.cohorts = Array.from({ length: options.steps + 1 }, () => new Cohort<B>())
  }

  /** A block becomes idle, as the last one in the order of the held blocks. */
  add(block: B): void {
    const cohort = this.cohort(this.now)
    block.heldAt = this.now
    cohort.held += block.capacity
    cohort.first ??= block
  }

  /** A block is no longer idle, and about to leave the order of the held blocks. */
  remove(block: B): void {
    if (this.hasExpired(block)) return
    const cohort = this.cohort(block.heldAt)
    cohort.held -= block.capacity
    if (cohort.first === block) cohort.first = block.newer?.heldAt === block.heldAt ? block.newer : undefined
  }

  /** Ends a tick. A cohort whose time to live is over is no longer counted. */
  tick(): void {
    const ended = this.cohort(this.now)
    ended.idled = ended.held
    this.now++
    this.begin(this.now)
  }

  /**
   * Ends several ticks at once, for an owner whose timer is late. A block that became idle meanwhile may have become so
   * just now, so its idle time begins with the last of these ticks.
   */
  tickLate(ticks: number): void {
    const { first } = this.cohort(this.now)
    // After so many ticks every block that became idle before expires.
    const skipped = Math.min(ticks, this.cohorts.length) - 1
    for (let i = 0; i < skipped; i++) {
      this.begin(this.now)
      this.now++
    }
    this.begin(this.now)
    for (let block = first; block !== undefined; block = block.newer) this.add(block)
    this.tick()
  }

  /** The next block that has to go, where `oldest` is the longest idle one and `heldBytes` are held in all. */
  next(oldest: B | undefined, heldBytes: number): B | undefined {
    const spare = heldBytes - this.keepBytes
    if (oldest !== undefined && this.hasExpired(oldest) && oldest.capacity <= spare) return oldest
    for (let idle = this.steps - 1; idle > 0; idle--) {
      const cohort = this.cohort(this.now - 1 - idle)
      const block = cohort.first
      if (block !== undefined && block.capacity <= Math.min(spare, cohort.held - this.staying(cohort.idled, idle))) {
        return block
      }
    }
    return undefined
  }

  /** Nothing has become idle in a tick yet. */
  private begin(tick: number): void {
    const cohort = this.cohort(tick)
    cohort.held = 0
    cohort.first = undefined
  }

  private cohort(tick: number): Cohort<B> {
    return this.cohorts[tick % this.cohorts.length]!
  }

  private hasExpired(block: B): boolean {
    return this.now - 1 - block.heldAt >= this.steps
  }

  /** The bytes that may stay of those that became idle together, after some whole ticks; exact up to 2^53−1. */
  private staying(bytes: number, idle: number): number {
    const left = this.steps - idle
    const rest = bytes % this.steps
    return (bytes - rest) / this.steps * left + Math.ceil(rest * left / this.steps)
  }
}

/**
 * The rule by which a core gives idle blocks back. Its owner counts the ticks: see `PoolCore.tick`.
 *
 * **Example** (A core whose blocks stay for two ticks)
 *
 * ```ts
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<string>({ idle: PoolCore.idleDecay({ steps: 2, keepBytes: 0 }) })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const idleDecay = ({ keepBytes, steps }: IdleDecayOptions): IdleRule => ({
  steps,
  keepBytes,
  decay: () => new IdleDecay({ steps, keepBytes })
})
