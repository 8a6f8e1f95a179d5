import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type PoolBlock, PoolCore } from "../../src/domain/PoolCore.ts"
import type { PoolStats } from "../../src/domain/PoolStats.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { largest, Model, type ModelBlock } from "../support/poolCoreModel.ts"

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
  }, 60_000)
})
