/**
 * Which memory of a list of commands can be the same block, because it is not needed at the same time.
 *
 * @internal
 */

/** Memory that commands use, from the first one to the last. */
export interface Span {
  readonly bytes: number
  readonly first: number
  /** `Infinity` for a result. */
  readonly last: number
}

export interface MemoryPlan {
  /** The bytes of each block; those of the results come first, in order. */
  readonly blocks: ReadonlyArray<number>
  /** The block of each span. */
  readonly blockOf: ReadonlyArray<number>
}

/**
 * A result has a block of its own size, in which earlier memory fits too. For the rest, the largest first, it takes the
 * smallest block that is free while it is needed, or a new one.
 */
export const plan = (spans: ReadonlyArray<Span>): MemoryPlan => {
  const blocks: Array<number> = []
  const tenants: Array<Array<Span>> = []
  const blockOf: Array<number> = []
  const settle = (at: number, block: number): void => {
    blockOf[at] = block
    tenants[block]!.push(spans[at]!)
  }
  const settleAlone = (at: number): void => {
    tenants.push([])
    settle(at, blocks.push(spans[at]!.bytes) - 1)
  }
  const passing: Array<number> = []
  for (const [at, { last }] of spans.entries()) {
    if (last === Infinity) settleAlone(at)
    else passing.push(at)
  }
  for (const at of passing.sort((one, other) => inOrder(spans[one]!, spans[other]!))) {
    const span = spans[at]!
    let best: number | undefined
    for (const [block, bytes] of blocks.entries()) {
      const isSmaller = best === undefined || bytes < blocks[best]!
      if (bytes >= span.bytes && isSmaller && tenants[block]!.every((other) => areApart(span, other))) best = block
    }
    if (best === undefined) settleAlone(at)
    else settle(at, best)
  }
  return { blocks, blockOf }
}

/** Of equal sizes the later first: those at the end have the least choice, since the results are there. */
const inOrder = (one: Span, other: Span): number => other.bytes - one.bytes || other.last - one.last

/** A command may not read memory that it writes, so two spans that share a command are not apart. */
const areApart = (one: Span, other: Span): boolean => one.last < other.first || other.last < one.first
