/**
 * What a recording says besides its events.
 *
 * @since 0.1.0
 */
import { mostNested } from "effect-gpu-pool/Budget"
import { mostIdleSteps } from "effect-gpu-pool/PoolOptions"
import * as Schema from "effect/Schema"

const order = Schema.Literals(["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"])
const maybeText = Schema.optional(Schema.String)
/** At least 0; infinite for no limit. */
const amount = Schema.Number.check(Schema.isGreaterThanOrEqualTo(0))
const natural = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const positive = Schema.Int.check(Schema.isGreaterThan(0))
const leaseFields = { size: natural, label: maybeText, callSite: maybeText }
/** The number of a memory, of which a row of an event has 27 bits. */
const memory = natural.check(Schema.isLessThan(2 ** 27))

/**
 * The memory of a pool, or of several that share it, as it was before the first event. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedMemory extends Schema.Schema.Type<typeof RecordedMemory> {}

/** Of {@link RecordedMemory}. */
export const RecordedMemory = Schema.Struct({
  /** The number that events name it by. */
  number: memory,
  label: maybeText,
  /** The device, as errors name it. */
  device: Schema.String,
  /** `"pool"` for a pool's own memory, `"memory"` for a `DeviceMemory` that several share. */
  kind: Schema.Literals(["pool", "memory"]),
  /** Its limit before the first event; `Infinity` for none. */
  maxBytes: amount,
  maxHeldBytes: amount,
  /**
   * How it keeps free memory; undefined for blocks. The options are those of `PoolStrategy.arena`, with the bytes of which parts really
   * are multiples; a strategy of a program's own has a name alone.
   */
  strategy: Schema.optional(Schema.Struct({
    name: Schema.String,
    unitBytes: Schema.optional(positive),
    slabBytes: Schema.optional(positive),
    growth: Schema.optional(amount),
    borrow: Schema.optional(amount),
    /** Of what the bytes of blocks would be multiples on this device. */
    granularity: Schema.optional(positive)
  })),
  /** The options for outgrown blocks, where the pool frees those. */
  outgrown: Schema.optional(Schema.Struct({ mostLeasedBytes: natural, missedBytes: natural })),
  /** The bytes of the device's memory, where it reports them. */
  deviceBytes: Schema.optional(amount),
  /** The bytes of the largest buffer that the device can make, where that is known. */
  maxBufferSize: Schema.optional(amount),
  eviction: Schema.optional(Schema.Struct({ name: Schema.String, whenKnown: order, whenUnknown: order })),
  reuse: Schema.optional(
    Schema.Struct({ name: Schema.String, ofOtherQueues: Schema.Literals(["never", "afterEvents", "whenEnded"]) })
  ),
  /** Idle blocks beyond `keepBytes` are freed after `steps` steps, 1 to 1000, of `stepMillis` milliseconds each, at least 0.001. */
  idle: Schema.optional(Schema.Struct({
    steps: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostIdleSteps })),
    keepBytes: amount,
    // A time to live is 1 ms at least.
    stepMillis: Schema.Number.check(Schema.isGreaterThanOrEqualTo(1 / mostIdleSteps))
  })),
  maxBypasses: amount,
  deadlockTimeoutMillis: amount
})

/**
 * The blocks of one pool that can stand for each other, and the sizes that were requested of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedFamily extends Schema.Schema.Type<typeof RecordedFamily> {}

/** Of {@link RecordedFamily}. */
export const RecordedFamily = Schema.Struct({
  /** The number of the memory. */
  memory,
  /** The service: `"BufferPool"`, `"ImagePool"` or `"StagingPool"`. */
  pool: Schema.String,
  /** The name that events have for it. */
  family: Schema.String,
  /** Whether blocks are cleared before each lease. */
  clears: Schema.Boolean,
  /** Whether a pool that splits slabs splits these. Without it: of every pool but those of images and of staging memory. */
  splits: Schema.optional(Schema.Boolean),
  /**
   * For each requested size, as the pool's size policy has it: the size, the size rounded up to the granularity of the device, the block
   * size, and the largest block that such a request may borrow.
   */
  sizes: Schema.Array(Schema.Tuple([natural, natural, natural, amount]))
})

/** The key that identifies a family. @internal */
export const keyOfFamily = (
  { family, memory, pool }: {
    readonly memory: number
    readonly pool: string | undefined
    readonly family: string | undefined
  }
): string => `${memory} ${pool} ${family}`

/**
 * A budget, or the limit of one of several pools that share a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedBudget extends Schema.Schema.Type<typeof RecordedBudget> {}

/** Of {@link RecordedBudget}. */
export const RecordedBudget = Schema.Struct({
  /** The number that events name it by. */
  number: natural,
  memory,
  kind: Schema.Literals(["budget", "pool"]),
  label: maybeText,
  /** Its limit in bytes when its first event was recorded. */
  maxBytes: amount,
  /** The number of the budget around it. Budgets are nested at most 256 deep. */
  parent: Schema.optional(natural)
})

/**
 * A block that existed before the first event.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordedBlock extends Schema.Schema.Type<typeof RecordedBlock> {}

/** Of {@link RecordedBlock}. */
export const RecordedBlock = Schema.Struct({
  memory,
  /** The number that events name it by. */
  block: natural,
  /** Bytes. */
  capacity: natural,
  pool: Schema.String,
  /** Undefined where no event names it. */
  family: maybeText,
  /** The lease of all its bytes before the first event, with the bytes that were requested. */
  lease: Schema.optional(Schema.Struct(leaseFields)),
  /** The leases of parts of it before the first event, as events have them; a block without any lease is held. */
  parts: Schema.optional(Schema.Array(Schema.Struct({ offset: natural, partBytes: positive, ...leaseFields })))
})

/**
 * What a recording says besides its events.
 *
 * @category models
 * @since 0.1.0
 */
export interface RecordingFacts extends Schema.Schema.Type<typeof RecordingFacts> {}

/** Of {@link RecordingFacts}. */
export const RecordingFacts = Schema.Struct({
  /** What made it: this package, or the program whose file was imported. */
  source: Schema.String,
  /** The host of the program, by which a page of several hosts names its lane. */
  host: maybeText,
  /** Why it was taken. */
  reason: Schema.Literals(["asked", "outOfMemory", "signal", "imported", "planned"]),
  /** When it was taken, in milliseconds since 1970. */
  takenAt: Schema.Finite,
  /** How many events before the first one the recorder has dropped. */
  dropped: natural,
  memories: Schema.Array(RecordedMemory),
  families: Schema.Array(RecordedFamily),
  budgets: Schema.Array(RecordedBudget),
  /** The blocks before the first event. */
  blocks: Schema.Array(RecordedBlock)
})

/** The index of the first element whose key has occurred before. */
const again = <A>(all: ReadonlyArray<A>, keyOf: (one: A) => string): number => {
  const known = new Set<string>()
  return all.findIndex((one) => known.size === known.add(keyOf(one)).size)
}

/** Whether leases of a block have the same bytes, or bytes that it does not have. */
const overlaps = ({ capacity, lease, parts = [] }: RecordedBlock): boolean => {
  if (lease !== undefined) return parts.length > 0
  let end = 0
  for (const { offset, partBytes } of Array.from(parts).sort((one, other) => one.offset - other.offset)) {
    if (offset < end) return true
    end = offset + partBytes
  }
  return end > capacity
}

/** The first budget whose parent is missing, that is within itself, or that is nested too deep. */
const nestingProblem = (budgets: RecordingFacts["budgets"]): Schema.FilterIssue | undefined => {
  const parents = new Map(budgets.map(({ number, parent }) => [number, parent]))
  /** The nesting depth of each budget, 1 for the outermost. */
  const depths = new Map<number, number>()
  for (const [at, budget] of budgets.entries()) {
    const path = ["budgets", at]
    const passed = new Set<number>()
    let number: number | undefined = budget.number
    for (; number !== undefined && !depths.has(number); number = parents.get(number)) {
      if (!parents.has(number)) return { path, issue: `there is no budget ${number}` }
      if (passed.has(number)) return { path, issue: "it is within itself" }
      passed.add(number)
    }
    const around = number === undefined ? 0 : depths.get(number)!
    const depth = around + passed.size
    for (const [inward, inner] of Array.from(passed).entries()) depths.set(inner, depth - inward)
    if (depth > mostNested) {
      return { path, issue: `it is within ${depth - 1} budgets, and ${mostNested - 1} are the most` }
    }
  }
  return undefined
}

/** Duplicates, and references to what the facts do not have. */
const contradictions = ({ blocks, budgets, families, memories }: RecordingFacts): ReadonlyArray<Schema.FilterIssue> => {
  const issues: Array<Schema.FilterIssue> = []
  const once = <A>(name: string, all: ReadonlyArray<A>, keyOf: (one: A) => string): void => {
    const at = again(all, keyOf)
    if (at >= 0) issues.push({ path: [name, at], issue: "it is there twice" })
  }
  once("memories", memories, ({ number }) => `${number}`)
  once("families", families, keyOfFamily)
  once("budgets", budgets, ({ number }) => `${number}`)
  once("blocks", blocks, ({ block, memory }) => `${memory} ${block}`)
  blocks.forEach((block, at) => {
    if (overlaps(block)) issues.push({ path: ["blocks", at], issue: "its leases overlap, or are beyond its end" })
  })
  const known = new Set(memories.map(({ number }) => number))
  for (const [name, all] of Object.entries({ families, budgets, blocks })) {
    const at = all.findIndex(({ memory }) => !known.has(memory))
    if (at >= 0) issues.push({ path: [name, at], issue: `there is no memory ${all[at]!.memory}` })
  }
  const problem = nestingProblem(budgets)
  if (problem !== undefined) issues.push(problem)
  return issues
}

/** Facts without duplicates and contradictions. @internal */
export const Facts = RecordingFacts.check(Schema.makeFilter(contradictions))
