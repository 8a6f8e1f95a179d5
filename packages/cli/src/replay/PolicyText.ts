/**
 * Policies as a command line writes them: `sizeClasses:4,borrow=1` or, as tables print it, `sizeClasses(4, borrow 1)`.
 *
 * @internal
 */
import { type BufferPool, EvictionPolicy, SizePolicy } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { line, list } from "effect-gpu-pool/Format"

const names = ["default", "exact", "leadingBits", "sizeClasses", "table"] as const

type Name = typeof names[number]

const isName = (name: string): name is Name => names.some((known) => known === name)

interface Arguments {
  readonly numbers: ReadonlyArray<number>
  readonly borrow: number | undefined
}

/** Parses numbers and at most one `borrow`; returns a text if they are wrong. */
const argumentsOf = (text: string | undefined): Arguments | string => {
  const given = (text ?? "").split(",").map((one) => one.trim()).filter((one) => one !== "")
  const numbers: Array<number> = []
  let borrow: number | undefined
  for (const one of given) {
    const [, name, digits] = /^(borrow[= ]\s*)?(\d+(?:\.\d+)?)$/.exec(one) ?? []
    if (digits === undefined) return `"${line(one)}" is neither a number nor borrow=NUMBER`
    if (name === undefined) numbers.push(Number(digits))
    else borrow = Number(digits)
  }
  return { numbers, borrow }
}

/** How each policy is made from its arguments; a text says what they should be. */
const makers: { readonly [N in Name]: (given: Arguments) => SizePolicy.SizePolicy | string } = {
  default: ({ borrow, numbers }) =>
    numbers.length > 0 || borrow !== undefined ? "default takes no number" : SizePolicy.defaultPolicy,
  exact: ({ borrow, numbers }) =>
    numbers.length > 0 || borrow !== undefined ? "exact takes no number" : SizePolicy.exact,
  leadingBits: ({ borrow, numbers: [bits, ...others] }) =>
    others.length > 0 || borrow !== undefined
      ? "leadingBits takes one number, as leadingBits:4"
      : SizePolicy.leadingBits(bits),
  sizeClasses: ({ borrow, numbers: [bits, ...others] }) =>
    bits === undefined || others.length > 0
      ? "sizeClasses takes one number, as sizeClasses:4 or sizeClasses:4,borrow=1"
      : SizePolicy.sizeClasses(bits, { borrow }),
  table: ({ borrow, numbers }) =>
    numbers.length === 0 ? "table takes sizes in bytes, as table:4096,65536" : SizePolicy.table(numbers, { borrow })
}

/** The size policy that a text names, or a text that says why it names none. */
export const sizePolicyOf = (text: string): SizePolicy.SizePolicy | string => {
  const [, name = "", given] = /^\s*([A-Za-z]+)\s*(?:[:(]([^()]*)\)?)?\s*$/.exec(text) ?? []
  if (!isName(name)) {
    return `"${line(text)}" is no size policy: pass ${list(names)}, with numbers as sizeClasses:4,borrow=1`
  }
  const read = argumentsOf(given)
  if (typeof read === "string") return read
  const policy = makers[name](read)
  return typeof policy === "string" || policy.problem === undefined ? policy : policy.problem.message
}

/** Ways to keep free memory, by the names that the library has for them. */
export const strategies = {
  arena: PoolStrategy.arena(),
  blocks: PoolStrategy.blocks
} satisfies Readonly<Record<string, BufferPool.BufferPoolOptions["strategy"]>>

/** By the names that the library has for them. */
export const evictionPolicies = {
  byNeed: EvictionPolicy.byNeed,
  largestFirst: EvictionPolicy.largestFirst,
  oldestFirst: EvictionPolicy.oldestFirst,
  leastRecentlyUsed: EvictionPolicy.leastRecentlyUsed
} satisfies { readonly [order in EvictionPolicy.EvictionOrder]: EvictionPolicy.EvictionPolicy }
