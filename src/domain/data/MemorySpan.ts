/**
 * The identity of memory: bytes of an allocation. What the driver frees is the allocation; whether two commands, mappings or
 * arguments use the same memory is a question to {@link overlaps} alone. So several buffers may share an allocation.
 *
 * @since 0.1.0
 */

/**
 * Bytes from `begin` to before `end` of one allocation.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemorySpan {
  /** The object that identifies the allocation. */
  readonly allocation: object
  readonly begin: number
  readonly end: number
  /** The elements of an image among these bytes; all of them without it. */
  readonly box?: Box | undefined
}

/**
 * Elements from an origin on, along each axis.
 *
 * @category models
 * @since 0.1.0
 */
export interface Box {
  readonly origin: ReadonlyArray<number>
  readonly extent: ReadonlyArray<number>
}

/**
 * Whether a write to the one may show in the other. Spans of no bytes overlap nothing.
 *
 * @category functions
 * @since 0.1.0
 */
export const overlaps = (one: MemorySpan, other: MemorySpan): boolean =>
  one.allocation === other.allocation && meet(one.begin, one.end, other.begin, other.end) &&
  (one.box === undefined || other.box === undefined || boxesOverlap(one.box, other.box))

/**
 * Whether two boxes of one image have an element in common.
 *
 * @category functions
 * @since 0.1.0
 */
export const boxesOverlap = (one: Box, other: Box): boolean =>
  one.extent.every((length, axis) => {
    const [begin, otherBegin] = [one.origin[axis]!, other.origin[axis]!]
    return meet(begin, begin + length, otherBegin, otherBegin + other.extent[axis]!)
  })

const meet = (begin: number, end: number, otherBegin: number, otherEnd: number): boolean =>
  Math.max(begin, otherBegin) < Math.min(end, otherEnd)

/**
 * A part of a span: `bytes` bytes from `offset` on.
 *
 * @category functions
 * @since 0.1.0
 */
export const part = ({ allocation, begin }: MemorySpan, offset: number, bytes: number): MemorySpan => ({
  allocation,
  begin: begin + offset,
  end: begin + offset + bytes
})

/**
 * Elements of an image.
 *
 * @category functions
 * @since 0.1.0
 */
export const boxOf = ({ allocation, begin, end }: MemorySpan, box: Box): MemorySpan => ({ allocation, begin, end, box })

/**
 * A set of spans, searched by overlap. It holds allocations weakly.
 *
 * @category models
 * @since 0.1.0
 */
export class SpanSet<S extends MemorySpan> {
  /** By allocation. None of the sets is empty. */
  readonly #spans = new WeakMap<object, Set<S>>()

  add(span: S): void {
    const spans = this.#spans.get(span.allocation)
    if (spans === undefined) this.#spans.set(span.allocation, new Set([span]))
    else spans.add(span)
  }

  /** Does nothing for a span that is not in the set. */
  delete(span: S): void {
    const spans = this.#spans.get(span.allocation)
    if (spans?.delete(span) === true && spans.size === 0) this.#spans.delete(span.allocation)
  }

  overlapping(span: MemorySpan): ReadonlyArray<S> {
    const spans = this.#spans.get(span.allocation)
    if (spans === undefined) return none
    const found: Array<S> = []
    for (const other of spans) if (overlaps(other, span)) found.push(other)
    return found
  }

  has(span: MemorySpan): boolean {
    const spans = this.#spans.get(span.allocation)
    if (spans === undefined) return false
    for (const other of spans) if (overlaps(other, span)) return true
    return false
  }
}

const none: ReadonlyArray<never> = []
