/**
 * A run under the chosen grouping and filter, with the data from which its pictures are made.
 *
 * @internal
 */
import { BlockPictures } from "./BlockPicture.ts"
import { type Filter, type GroupBy, type Grouping, groupingOf, passing } from "./Grouping.ts"
import { Moments } from "./Moment.ts"
import type { Axis, Run } from "./Run.ts"
import { Stack, Totals } from "./Stack.ts"

export interface Choice {
  readonly by: GroupBy
  readonly filter: Filter
}

export class Analysis {
  readonly run: Run
  readonly moments: Moments
  readonly #blocks = new Map<Axis, BlockPictures>()
  passes!: Uint8Array
  grouping!: Grouping
  stack!: Stack
  totals!: Totals

  constructor(run: Run, choice: Choice) {
    this.run = run
    this.moments = new Moments(run)
    this.choose(choice)
  }

  choose({ by, filter }: Choice): void {
    this.passes = passing(this.run, filter)
    this.grouping = groupingOf(this.run, by, this.passes)
    this.stack = new Stack(this.run, this.grouping)
    this.totals = new Totals(this.run, filter.memory)
  }

  blocks(axis: Axis): BlockPictures {
    const known = this.#blocks.get(axis) ?? new BlockPictures(this.run, axis)
    this.#blocks.set(axis, known)
    return known
  }
}
