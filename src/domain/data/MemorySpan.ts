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
  readonly #spans = new WeakMap<object, ReadonlyArray<S>>()

  add(span: S): void {
    this.#spans.set(span.allocation, [...this.#of(span), span])
  }

  /** Does nothing for a span that is not in the set. */
  delete(span: S): void {
    const rest = this.#of(span).filter((other) => other !== span)
    if (rest.length === 0) this.#spans.delete(span.allocation)
    else this.#spans.set(span.allocation, rest)
  }

  overlapping(span: MemorySpan): ReadonlyArray<S> {
    const spans = this.#of(span)
    return spans.length === 1 && overlaps(spans[0]!, span) ? spans : spans.filter((other) => overlaps(other, span))
  }

  has(span: MemorySpan): boolean {
    return this.#of(span).some((other) => overlaps(other, span))
  }

  #of({ allocation }: MemorySpan): ReadonlyArray<S> {
    return this.#spans.get(allocation) ?? none
  }
}

const none: ReadonlyArray<never> = []
