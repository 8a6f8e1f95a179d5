/** The policies that are compared. */
import { EvictionPolicy, SizePolicy } from "effect-gpu-pool"

const bits = [2, 3, 4, 5]
const borrows = [0, 0.5, 1, 2, 3]

export const all: ReadonlyArray<SizePolicy.SizePolicy> = [
  SizePolicy.exact,
  SizePolicy.sizeClasses(0),
  SizePolicy.leadingBits(4),
  ...bits.flatMap((bits) => borrows.map((borrow) => SizePolicy.sizeClasses(bits, { borrow })))
]

/** The policies that are timed on a device: along both axes through the default, and those of other libraries. */
export const timed: ReadonlyArray<SizePolicy.SizePolicy> = [
  SizePolicy.defaultPolicy,
  ...borrows.filter((borrow) => borrow !== 1).map((borrow) => SizePolicy.sizeClasses(4, { borrow })),
  ...bits.filter((bits) => bits !== 4).map((bits) => SizePolicy.sizeClasses(bits, { borrow: 1 })),
  SizePolicy.sizeClasses(0),
  SizePolicy.leadingBits(4)
]

/** The orders in which a pool can give back what it holds. */
export const evictions: ReadonlyArray<EvictionPolicy.EvictionPolicy> = [
  EvictionPolicy.byNeed,
  EvictionPolicy.largestFirst,
  EvictionPolicy.oldestFirst,
  EvictionPolicy.leastRecentlyUsed
]

export const named = (name: string): SizePolicy.SizePolicy => {
  const found = all.find((policy) => policy.name === name)
  if (found === undefined) throw new Error(`no policy is called ${name}`)
  return found
}
