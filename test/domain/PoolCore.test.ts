import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { PoolBlock } from "../../src/domain/PoolCore.ts"
import { PoolCore } from "../../src/domain/PoolCore.ts"
import type { PoolStats } from "../../src/domain/PoolStats.ts"
import { hitRate, wasteBytes } from "../../src/domain/PoolStats.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"

const largest = Number.MAX_SAFE_INTEGER

// The reference model: one array of blocks, linear scans, BigInt bytes.

type State = "active" | "held" | "gone"

interface ModelBlock {
  readonly id: number
  readonly family: string
  readonly binned: boolean
  readonly capacity: bigint
  request: bigint
  state: State
  heldAt: number
  /** When its bin last became non-empty: of two bins of one size, the later is evicted first. */
  binFilledAt: number
}

type BigStats = Record<keyof PoolStats, bigint>

const noStats = (): BigStats => ({
  heldBlocks: 0n,
  activeBlocks: 0n,
  managedBlocks: 0n,
  heldBytes: 0n,
  activeBytes: 0n,
  managedBytes: 0n,
  reservedBytes: 0n,
  peakActiveBytes: 0n,
  peakActiveBlocks: 0n,
  peakManagedBytes: 0n,
  peakManagedBlocks: 0n,
  hits: 0n,
  borrows: 0n,
  misses: 0n,
  driverAllocations: 0n,
  driverFrees: 0n,
  releaseFailures: 0n
})

const bigMax = (a: bigint, b: bigint): bigint => a > b ? a : b

const sum = (blocks: ReadonlyArray<ModelBlock>, bytes: (block: ModelBlock) => bigint): bigint =>
  blocks.reduce((total, block) => total + bytes(block), 0n)

class Model {
  blocks: Array<ModelBlock> = []
  holding = true
  limit: number = Infinity
  private clock = 0
  private readonly totals = noStats()

  held(family?: string): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "held" && (family === undefined || block.family === family))
  }

  active(): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "active")
  }

  available(): bigint {
    const limit = BigInt(Math.min(this.limit, largest))
    return limit - sum(this.blocks, (block) => block.capacity) - this.totals.reservedBytes
  }

  deficit(bytes: number): bigint {
    const missing = bigMax(BigInt(bytes) - this.available(), 0n)
    return missing > BigInt(largest) ? BigInt(largest) : missing
  }

  reserve(bytes: number): boolean {
    const fits = BigInt(bytes) <= this.available()
    if (fits) this.totals.reservedBytes += BigInt(bytes)
    return fits
  }

  unreserve(bytes: number): void {
    this.totals.reservedBytes -= BigInt(bytes)
  }

  add(id: number, family: string, capacity: number, binned: boolean): ModelBlock {
    this.unreserve(capacity)
    const block: ModelBlock = {
      id,
      family,
      binned,
      capacity: BigInt(capacity),
      request: 0n,
      state: "gone",
      heldAt: 0,
      binFilledAt: 0
    }
    this.blocks.push(block)
    this.totals.driverAllocations++
    this.peaks()
    return block
  }

  activate(block: ModelBlock, request: number): void {
    block.state = "active"
    block.request = BigInt(request)
    this.peaks()
  }

  miss(block: ModelBlock, request: number): void {
    this.totals.misses++
    this.activate(block, request)
  }

  acquire(family: string, blockSize: number, request: number, limit: number): ModelBlock | undefined {
    const fitting = this.held(family)
      .filter((block) =>
        block.capacity === BigInt(blockSize) ||
        (block.capacity > BigInt(blockSize) && block.capacity <= BigInt(limit))
      )
      .sort((a, b) => a.capacity === b.capacity ? b.heldAt - a.heldAt : a.capacity < b.capacity ? -1 : 1)
    const block = fitting[0]
    if (block === undefined) return undefined
    this.totals.hits++
    if (block.capacity !== BigInt(blockSize)) this.totals.borrows++
    this.activate(block, request)
    return block
  }

  /** False when the block has to be freed. */
  release(block: ModelBlock): boolean {
    block.state = "gone"
    block.request = 0n
    return this.keep(block)
  }

  keep(block: ModelBlock): boolean {
    if (!this.holding || !block.binned) return false
    const others = this.held(block.family).filter((other) => other.capacity === block.capacity)
    this.clock++
    block.heldAt = this.clock
    block.binFilledAt = others[0]?.binFilledAt ?? this.clock
    block.state = "held"
    return true
  }

  largest(): ModelBlock | undefined {
    return this.held().sort((a, b) =>
      a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity > b.capacity ? -1 : 1
    )[0]
  }

  covering(deficit: number): ModelBlock | undefined {
    const covering = this.held()
      .filter((block) => block.capacity >= BigInt(deficit))
      .sort((a, b) => a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity < b.capacity ? -1 : 1)
    return covering[0] ?? this.largest()
  }

  free(block: ModelBlock): void {
    this.blocks = this.blocks.filter((other) => other !== block)
    this.totals.driverFrees++
  }

  stats(): BigStats {
    const { active, held } = this.sums()
    return {
      ...this.totals,
      heldBlocks: held.blocks,
      activeBlocks: active.blocks,
      managedBlocks: BigInt(this.blocks.length),
      heldBytes: held.bytes,
      activeBytes: active.bytes,
      managedBytes: sum(this.blocks, (block) => block.capacity)
    }
  }

  private sums() {
    const held = this.held()
    const active = this.active()
    return {
      held: { blocks: BigInt(held.length), bytes: sum(held, (block) => block.capacity) },
      active: { blocks: BigInt(active.length), bytes: sum(active, (block) => block.request) }
    }
  }

  private peaks(): void {
    const { active } = this.sums()
    const managed = sum(this.blocks, (block) => block.capacity)
    const totals = this.totals
    totals.peakActiveBytes = bigMax(totals.peakActiveBytes, active.bytes)
    totals.peakActiveBlocks = bigMax(totals.peakActiveBlocks, active.blocks)
    totals.peakManagedBytes = bigMax(totals.peakManagedBytes, managed)
    totals.peakManagedBlocks = bigMax(totals.peakManagedBlocks, BigInt(this.blocks.length))
  }
}

const evictionOrder = (a: ModelBlock, b: ModelBlock): number =>
  a.family === b.family ? b.heldAt - a.heldAt : b.binFilledAt - a.binFilledAt

// The commands, each run on both.

type Core = PoolCore<number, string>
type Block = PoolBlock<number, string>

interface Real {
  readonly core: Core
  readonly policy: SizePolicy.SizePolicy
  readonly active: Map<number, Block>
  /** Reservations whose driver allocation is under way. */
  readonly pending: Array<Pending>
  nextId: number
}

interface Pending {
  readonly family: string
  readonly request: number
  readonly blockSize: number
  readonly exactSize: boolean
}

const compare = (model: Model, { core }: Real): void => {
  const stats = core.stats()
  const expected = model.stats()
  for (const [name, value] of Object.entries(expected)) {
    assert.strictEqual(BigInt(stats[name as keyof PoolStats]), value, name)
  }
  assert.strictEqual(BigInt(core.largestHeld), model.largest()?.capacity ?? 0n, "largestHeld")
  assert.strictEqual(core.holding, model.holding, "holding")
  for (const bytes of [1, 1000, largest]) {
    assert.strictEqual(BigInt(core.deficit(bytes)), model.deficit(bytes), `deficit(${bytes})`)
  }
}

const command = (name: string, body: (model: Model, real: Real) => void): fc.Command<Model, Real> => ({
  check: () => true,
  run: (model, real) => {
    body(model, real)
    compare(model, real)
  },
  toString: () => name
})

const free = (real: Real, block: Block): void => {
  assert.strictEqual(block.state, "detached")
  assert.strictEqual(block.request, 0)
  real.core.freed(block)
  assert.strictEqual(block.state, "freed")
}

const granted = (real: Real, block: Block, expected: ModelBlock): void => {
  assert.strictEqual(block.state, "active")
  assert.strictEqual(block.value, expected.id)
  assert.strictEqual(BigInt(block.capacity), expected.capacity)
  assert.strictEqual(BigInt(block.request), expected.request)
  assert.deepStrictEqual(
    block.bin === undefined ? undefined : [block.bin.family, block.bin.size],
    expected.binned ? [expected.family, block.capacity] : undefined
  )
  real.active.set(expected.id, block)
}

const allocate = (family: string, request: number, exactSize: boolean) =>
  command(`allocate(${family}, ${request}${exactSize ? ", exact size" : ""})`, (model, real) => {
    const blockSize = exactSize ? request : real.policy.blockSize(request)
    const borrowLimit = exactSize ? blockSize : SizePolicy.borrowLimit(real.policy, blockSize)
    const expected = model.acquire(family, blockSize, request, borrowLimit)
    const block = real.core.acquire(family, blockSize, request, borrowLimit)
    assert.strictEqual(block?.value, expected?.id)
    if (block !== undefined && expected !== undefined) return granted(real, block, expected)
    const fits = real.core.deficit(blockSize) === 0
    const reserved = real.core.reserve(blockSize)
    assert.strictEqual(reserved, model.reserve(blockSize))
    assert.strictEqual(reserved, fits)
    if (reserved) real.pending.push({ family, request, blockSize, exactSize })
  })

const settle = (n: number, outcome: "answered" | "abandoned" | "refused") =>
  command(`settle(${n}, ${outcome})`, (model, real) => {
    const [pending] = real.pending.splice(n % Math.max(real.pending.length, 1), 1)
    if (pending === undefined) return
    const { blockSize, exactSize, family, request } = pending
    if (outcome === "refused" || (outcome === "abandoned" && exactSize)) {
      real.core.unreserve(blockSize)
      return model.unreserve(blockSize)
    }
    const id = real.nextId++
    const expected = model.add(id, family, blockSize, !exactSize)
    if (outcome === "abandoned") return abandoned(model, real, expected, real.core.addHeld(family, blockSize, id))
    model.miss(expected, request)
    const block = exactSize ?
      real.core.addActiveUnbinned(blockSize, id, request) :
      real.core.addActive(family, blockSize, id, request)
    granted(real, block, expected)
  })

const abandoned = (model: Model, real: Real, expected: ModelBlock, block: Block): void => {
  if (model.keep(expected)) return assert.strictEqual(block.state, "held")
  free(real, block)
  model.free(expected)
}

const endLease = (name: string, n: number, end: (core: Core, block: Block) => boolean, keeps: boolean) =>
  command(`${name}(${n})`, (model, real) => {
    const active = model.active()
    if (active.length === 0) return
    const expected = active[n % active.length]!
    const block = real.active.get(expected.id)!
    real.active.delete(expected.id)
    const held = end(real.core, block)
    if (keeps) assert.strictEqual(held, model.release(expected))
    if (held) return assert.strictEqual(block.state, "held")
    free(real, block)
    model.free(expected)
  })

const evict = (
  name: string,
  take: (core: Core) => Block | undefined,
  expect: (model: Model) => ModelBlock | undefined
) =>
  command(name, (model, real) => {
    const expected = expect(model)
    const block = take(real.core)
    assert.strictEqual(block?.value, expected?.id)
    if (block === undefined || expected === undefined) return
    free(real, block)
    model.free(expected)
  })

const evictAll = command("evictAll", (model, real) => {
  for (const block of real.core.evictAll()) {
    const expected = model.largest()!
    assert.strictEqual(block.value, expected.id)
    free(real, block)
    model.free(expected)
  }
  assert.strictEqual(model.held().length, 0)
})

const setHolding = (holding: boolean) =>
  command(holding ? "resumeHolding" : "stopHolding", (model, { core }) => {
    model.holding = holding
    if (holding) core.resumeHolding()
    else core.stopHolding()
  })

const setLimit = (limit: number) =>
  command(`maxBytes = ${limit}`, (model, { core }) => {
    model.limit = limit
    core.maxBytes = limit
  })

const anyFamily = fc.constantFrom("storage", "uniform", "vertex")

// A few sizes again and again, so that bins fill up, and the whole range now and then.
const anyRequest = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 80 }) },
  { weight: 3, arbitrary: fc.constantFrom(1000, 1024, 1025, 1100, 2000, 2048, 4096) },
  { weight: 1, arbitrary: fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 50 + 1, 2 ** 52, largest) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: largest }) }
)

const anyLimit = fc.oneof(
  fc.constantFrom(0, 100, 5000, 2 ** 32, largest, Infinity),
  fc.integer({ min: 0, max: 10_000 })
)

const anyCommand = [
  fc.tuple(anyFamily, anyRequest).map(([family, request]) => allocate(family, request, false)),
  fc.tuple(anyFamily, anyRequest, fc.integer({ min: 0, max: 7 })).map(([family, request, n]) =>
    allocate(family, request, n === 0)
  ),
  fc.nat(50).map((n) => settle(n, "answered")),
  fc.nat(50).map((n) => settle(n, "answered")),
  fc.tuple(fc.nat(50), fc.constantFrom("abandoned", "refused")).map(([n, outcome]) => settle(n, outcome)),
  fc.nat(50).map((n) => endLease("release", n, (core, block) => core.release(block), true)),
  fc.nat(50).map((n) => endLease("release", n, (core, block) => core.release(block), true)),
  fc.nat(50).map((n) =>
    endLease("discard", n, (core, block) => {
      core.discard(block)
      return false
    }, false)
  ),
  fc.constant(evict("evictLargest", (core) => core.evictLargest(), (model) => model.largest())),
  anyRequest.map((deficit) =>
    evict(`evictCovering(${deficit})`, (core) => core.evictCovering(deficit), (model) => model.covering(deficit))
  ),
  fc.nat(9).map((n) => n === 0 ? evictAll : setHolding(n !== 1)),
  anyLimit.map(setLimit)
]

const anyPolicy = fc.constantFrom(
  SizePolicy.exact,
  SizePolicy.leadingBits(2),
  SizePolicy.defaultPolicy,
  SizePolicy.sizeClasses(0, { borrow: 3 }),
  SizePolicy.table([16, 33, 64, 1024, 4096], { borrow: 0.5 })
)

const blockOf = (core: PoolCore<string>, family: number, size: number, value: string): PoolBlock<string> => {
  assert.isTrue(core.reserve(size))
  return core.addActive(family, size, value, size)
}

const holdOf = (core: PoolCore<string>, family: number, size: number, value: string): PoolBlock<string> => {
  assert.isTrue(core.reserve(size))
  return core.addHeld(family, size, value)
}

const drain = (core: PoolCore<string>): Array<string> => {
  const values: Array<string> = []
  for (const block of core.evictAll()) {
    values.push(block.value)
    core.freed(block)
  }
  return values
}

describe("PoolCore", () => {
  it("does what the reference model does, counter by counter and block by block", () => {
    fc.assert(
      fc.property(anyPolicy, fc.commands(anyCommand, { size: "+1", maxCommands: 120 }), (policy, commands) => {
        fc.modelRun(() => ({
          model: new Model(),
          real: { core: new PoolCore<number, string>(), policy, active: new Map(), pending: [], nextId: 0 }
        }), commands)
      }),
      { numRuns: 500 }
    )
  })

  it("reuses the block that came back last", () => {
    const core = new PoolCore<string>()
    const [a, b, c] = ["a", "b", "c"].map((value) => blockOf(core, 0, 64, value))
    core.release(b!)
    core.release(c!)
    core.release(a!)
    assert.deepStrictEqual([1, 2, 3, 4].map(() => core.acquire(0, 64, 60, 64)?.value), ["a", "c", "b", undefined])
  })

  it("borrows the smallest block that is large enough, within the limit, of the same family, and returns it home", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 2048, "2048")
    holdOf(core, 0, 1536, "1536")
    holdOf(core, 0, 512, "512")
    holdOf(core, 1, 1025, "other family")
    assert.isUndefined(core.acquire(0, 1024, 1000, 1024))
    assert.isUndefined(core.acquire(0, 1024, 1000, 1535))
    const borrowed = core.acquire(0, 1024, 1000, 1536)
    assert.strictEqual(borrowed?.value, "1536")
    assert.strictEqual(borrowed?.bin?.size, 1536)
    assert.strictEqual(core.acquire(0, 1024, 1000, 4096)?.value, "2048")
    assert.isTrue(core.release(borrowed!))
    assert.strictEqual(core.acquire(0, 1536, 1500, 1536)?.value, "1536")
    assert.deepStrictEqual([core.hits, core.borrows, core.misses], [3, 2, 0])
  })

  it("prefers its own bin to a borrowed block", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 1024, "own")
    holdOf(core, 0, 1025, "larger")
    assert.strictEqual(core.acquire(0, 1024, 1, 4096)?.value, "own")
    assert.strictEqual(core.borrows, 0)
  })

  it("finds neighbours at every edge of the bitmaps", () => {
    const edges = [5, 8, 16, 24, 31, 32, 33, 48, 53].flatMap((k) =>
      [-1, 0, 1].map((d) => d + 2 ** k).filter((size) => size <= largest)
    )
    const core = new PoolCore<string>()
    const lone = (size: number) => {
      const block = holdOf(core, 0, size, String(size))
      assert.strictEqual(core.largestHeld, size)
      if (size > 1) assert.strictEqual(core.acquire(0, size - 1, 1, size)?.value, String(size))
      if (size > 1) core.release(block)
      if (size < largest) assert.isUndefined(core.acquire(0, size + 1, 1, largest))
      assert.deepStrictEqual(drain(core), [String(size)])
    }
    for (const size of [1, 2, 3, ...edges]) lone(size)
  })

  it("tells sizes apart that differ in their last bit only, up to 2^53-1", () => {
    const core = new PoolCore<string>()
    const sizes = [2 ** 51 + 3, 2 ** 51 + 1, 2 ** 51 + 2]
    for (const size of sizes) holdOf(core, 0, size, String(size - 2 ** 51))
    assert.strictEqual(core.acquire(0, 2 ** 51, 1, 2 ** 51 + 1)?.value, "1")
    assert.strictEqual(core.acquire(0, 2 ** 51, 1, largest)?.value, "2")
    assert.strictEqual(core.evictCovering(2 ** 51 + 3)?.value, "3")
  })

  it("keeps the bins of one size in order while they empty and fill in any order", () => {
    const anySteps = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 60 })
    fc.assert(
      fc.property(anySteps, (steps) => {
        const core = new PoolCore<string>()
        const out = new Map(
          Array.from({ length: 6 }, (_, family) => [family, blockOf(core, family, 64, String(family))])
        )
        const filled: Array<number> = []
        for (const [family, give] of steps) {
          const block = out.get(family)
          if (give && block !== undefined) {
            out.delete(family)
            core.release(block)
            filled.unshift(family)
          } else if (!give && block === undefined) {
            out.set(family, core.acquire(family, 64, 64, 64)!)
            filled.splice(filled.indexOf(family), 1)
          }
        }
        assert.deepStrictEqual(drain(core), filled.map(String))
      }),
      { numRuns: 500 }
    )
  })

  it("evicts the smallest block that covers the deficit, over all families, else the largest", () => {
    const core = new PoolCore<string>()
    holdOf(core, 0, 100, "100")
    holdOf(core, 1, 300, "300")
    holdOf(core, 2, 200, "200")
    assert.strictEqual(core.evictCovering(150)?.value, "200")
    assert.strictEqual(core.evictCovering(301)?.value, "300")
    assert.strictEqual(core.evictCovering(2 ** 60)?.value, "100")
    assert.isUndefined(core.evictCovering(1))
    assert.isUndefined(core.evictLargest())
  })

  it("never lets managed and reserved bytes exceed the limit, nor 2^53-1", () => {
    const core = new PoolCore<string>({ maxBytes: 100 })
    blockOf(core, 0, 60, "a")
    assert.isTrue(core.reserve(40))
    assert.isFalse(core.reserve(1))
    assert.strictEqual(core.deficit(1), 1)
    core.unreserve(40)
    assert.strictEqual(core.deficit(40), 0)
    core.maxBytes = Infinity
    assert.isFalse(core.reserve(largest))
    assert.strictEqual(core.deficit(largest), 60)
    assert.isTrue(core.reserve(largest - 60))
    assert.isFalse(core.reserve(1))
  })

  it("counts a block until the driver has it back", () => {
    const core = new PoolCore<string>({ maxBytes: 64 })
    core.stopHolding()
    const block = blockOf(core, 0, 64, "a")
    assert.isFalse(core.release(block))
    assert.deepStrictEqual([core.activeBlocks, core.heldBlocks, core.managedBlocks, core.managedBytes], [0, 0, 1, 64])
    assert.isFalse(core.reserve(1))
    core.freed(block)
    assert.deepStrictEqual([core.managedBlocks, core.managedBytes, core.driverFrees], [0, 0, 1])
    assert.isTrue(core.reserve(64))
  })

  it("keeps what is held when holding stops, and holds again when it resumes", () => {
    const core = new PoolCore<string>()
    const block = blockOf(core, 0, 64, "a")
    holdOf(core, 0, 64, "b")
    core.stopHolding()
    assert.isFalse(core.release(block))
    core.freed(block)
    const late = holdOf(core, 0, 64, "late")
    assert.strictEqual(late.state, "detached")
    core.freed(late)
    core.resumeHolding()
    assert.isTrue(core.release(core.acquire(0, 64, 64, 64)!))
    assert.deepStrictEqual(drain(core), ["b"])
    assert.strictEqual(core.driverAllocations, core.driverFrees)
  })

  it("frees a block without a bin, and a discarded one, at the end of the lease", () => {
    const core = new PoolCore<string>()
    assert.isTrue(core.reserve(1000))
    const unbinned = core.addActiveUnbinned(1000, "unbinned", 1000)
    const discarded = blockOf(core, 0, 1000, "discarded")
    assert.isUndefined(unbinned.bin)
    assert.isFalse(core.release(unbinned))
    core.freed(unbinned)
    core.discard(discarded)
    core.freed(discarded)
    assert.isUndefined(core.acquire(0, 1000, 1000, 1000))
    assert.strictEqual(core.managedBytes, 0)
  })

  it("treats any value as a family, undefined and NaN too", () => {
    for (const family of [undefined, NaN, null, "", 0]) {
      const core = new PoolCore<string, unknown>()
      assert.isUndefined(core.acquire(family, 8, 8, 8))
      assert.isTrue(core.reserve(8))
      assert.isTrue(core.release(core.addActive(family, 8, "a", 8)))
      assert.strictEqual(core.acquire(family, 8, 8, 8)?.value, "a")
      assert.isUndefined(core.acquire("other", 8, 8, 8))
    }
  })

  it("forgets a family with its last block, and knows it again", () => {
    const core = new PoolCore<string>()
    for (const value of ["a", "b"]) {
      assert.isUndefined(core.acquire(7, 64, 64, 128))
      core.release(blockOf(core, 7, 64, value))
      core.release(core.acquire(7, 64, 64, 64)!)
      assert.deepStrictEqual(drain(core), [value])
    }
  })

  it("leaves no bin behind when 100,000 distinct sizes have come and gone", () => {
    const core = new PoolCore<string>()
    for (let size = 1; size <= 100_000; size++) holdOf(core, size % 5, size * 7919, "")
    assert.strictEqual(core.heldBlocks, 100_000)
    assert.strictEqual(drain(core).length, 100_000)
    assert.strictEqual(core["families"].size, 0)
    assert.isTrue(core["rows"].isEmpty)
  })

  it("says which invariant a wrong call breaks, and changes nothing", () => {
    const core = new PoolCore<string>()
    const block = blockOf(core, 0, 64, "a")
    const unchanged = (call: () => unknown, message: RegExp) => {
      const before = core.stats()
      assert.throws(call, message)
      assert.deepStrictEqual(core.stats(), before)
    }
    unchanged(() => core.freed(block), /detached.*active/)
    core.release(block)
    unchanged(() => core.release(block), /active.*held/)
    unchanged(() => core.discard(block), /active.*held/)
    unchanged(() => core.freed(block), /detached.*held/)
    const evicted = core.evictLargest()!
    unchanged(() => core.release(evicted), /active.*detached/)
    core.freed(evicted)
    unchanged(() => core.freed(evicted), /detached.*freed/)
    unchanged(() => core.addActive(0, 64, "b", 64), /64 bytes.*only 0/)
    unchanged(() => core.addHeld(0, 64, "b"), /64 bytes.*only 0/)
    unchanged(() => core.unreserve(1), /1 bytes.*only 0/)
  })
})

describe("PoolStats", () => {
  it("hitRate is the share of leases served from held blocks", () => {
    assert.strictEqual(hitRate({ hits: 3, misses: 1 }), 0.75)
    assert.strictEqual(hitRate({ hits: 0, misses: 0 }), 0)
  })

  it("wasteBytes is what active blocks have beyond their requests", () => {
    const core = new PoolCore<string>()
    assert.isTrue(core.reserve(64))
    core.addActive(0, 64, "a", 50)
    holdOf(core, 0, 128, "b")
    assert.strictEqual(wasteBytes(core.stats()), 14)
  })
})
