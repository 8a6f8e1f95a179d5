/**
 * The active leases of a memory, summed by label and call site.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Largest } from "./Largest.ts"

/**
 * The active leases of one label that were made at one place of the program, as out-of-memory errors and plans list them.
 *
 * @category models
 * @since 0.1.0
 */
export interface HolderGroup extends Schema.Schema.Type<typeof HolderGroup> {}

/**
 * Of {@link HolderGroup}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HolderGroup = Schema.Struct({
  /** The label given at `allocate`, or `undefined`. */
  label: Schema.UndefinedOr(Schema.String),
  /** Where the program requested them, within `CallSite.track`; `undefined` outside of it. */
  callSite: Schema.UndefinedOr(Schema.String),
  /** How many leases. */
  leases: Schema.Number,
  /** The bytes that they asked for, together. */
  bytes: Schema.Number
})

type Text = string | undefined

interface Sum extends HolderGroup {
  leases: number
  bytes: number
  /** The sum of the same label at another call site: a program has few. */
  readonly next: Sum | undefined
}

/** Visits each lease with its label, its call site and its bytes. */
type Leases = (add: (label: Text, callSite: Text, bytes: number) => void) => void

/**
 * The groups with the most bytes, from the most; their sums are exact.
 *
 * @category functions
 * @since 0.1.0
 */
export const holderGroups = (leases: Leases, count: number): ReadonlyArray<HolderGroup> => {
  const sums = new Map<Text, Sum>()
  leases((label, callSite, bytes) => {
    let sum = sums.get(label)
    while (sum !== undefined && sum.callSite !== callSite) sum = sum.next
    if (sum === undefined) {
      sum = { label, callSite, leases: 0, bytes: 0, next: sums.get(label) }
      sums.set(label, sum)
    }
    sum.leases++
    sum.bytes += bytes
  })
  const largest = new Largest<Sum>(count, ({ bytes }) => bytes)
  for (const last of sums.values()) {
    for (let sum: Sum | undefined = last; sum !== undefined; sum = sum.next) largest.add(sum)
  }
  return largest.sorted().map(({ bytes, callSite, label, leases }) => ({ label, callSite, leases, bytes }))
}
