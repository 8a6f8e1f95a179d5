/**
 * Commands on a PoolCore, each run on a real one and on the model, which must agree after every step.
 */
import { assert } from "@effect/vitest"
import * as fc from "fast-check"
import { agree, bigIntegers } from "../../packages/testing/src/properties/ExpectData.ts"
import type { PoolBlock, PoolCore } from "../../src/domain/pool/PoolCore.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { largest, type Model, type ModelBlock } from "./poolCoreModel.ts"

export type Core = PoolCore<number, string>

type Block = PoolBlock<number, string>

export interface Real {
  readonly core: Core
  readonly policy: SizePolicy.SizePolicy
  readonly active: Map<number, Block>
  /** Reservations whose driver allocation is under way. */
  readonly pending: Array<Pending>
  nextId: number
  /** Managed and reserved bytes after the last command. */
  total: number
}

interface Pending {
  readonly family: string
  readonly request: number
  readonly blockSize: number
  readonly exactSize: boolean
}

const deficits = (of: (bytes: number) => bigint) =>
  Object.fromEntries([1, 1000, largest].map((bytes) => [`deficit(${bytes})`, of(bytes)]))

const compare = (model: Model, real: Real): void => {
  const { core } = real
  const stats = core.stats()
  const expected = model.stats()
  agree({
    ...expected,
    largestHeld: model.largest()?.capacity ?? 0n,
    holding: model.holding,
    releases: model.releases,
    maxBytes: model.limit,
    maxHeldBytes: model.maxHeld,
    paddingBytes: model.padding,
    nextPadding: model.nextPadding,
    ...deficits((bytes) => model.deficit(bytes))
  }, {
    ...bigIntegers(stats, Object.keys(expected)),
    largestHeld: BigInt(core.largestHeld),
    holding: core.holding,
    releases: BigInt(core.releases),
    maxBytes: core.maxBytes,
    maxHeldBytes: core.maxHeldBytes,
    paddingBytes: BigInt(core.paddingBytes),
    nextPadding: core.maxBytes < Infinity ? BigInt(core.nextPadding) : undefined,
    ...deficits((bytes) => BigInt(core.deficit(bytes)))
  })
  const total = core.managedBytes + core.pendingBytes
  assert.isTrue(total <= core.maxBytes || total <= real.total, "grows above the limit")
  real.total = total
}

const command = (name: string, body: (model: Model, real: Real) => void): fc.Command<Model, Real> => ({
  check: () => true,
  run: (model, real) => {
    body(model, real)
    compare(model, real)
  },
  toString: () => name
})

/** The owner's loop after a block became held. */
const evictExcess = (model: Model, real: Real): void => {
  while (real.core.excessHeld) {
    const expected = model.oldest()!
    const block = real.core.evictOldest()!
    assert.strictEqual(block.value, expected.id)
    free(real, block)
    model.free(expected)
  }
  assert.isTrue(real.core.heldBytes <= real.core.maxHeldBytes)
}

const free = (real: Real, block: Block): void => {
  assert.strictEqual(block.state, "detached")
  assert.strictEqual(block.request, 0)
  real.core.freed(block)
  assert.strictEqual(block.state, "freed")
  // A reference to an ended lease must keep no other block alive.
  for (const link of ["above", "below", "older", "newer"]) assert.isUndefined(Reflect.get(block, link), link)
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
    const reserved = real.core.addPending(blockSize, request)
    assert.strictEqual(reserved, model.addPending(blockSize, request))
    assert.strictEqual(reserved, fits)
    if (!reserved) return
    evictOutgrown(model, real, family, blockSize, borrowLimit)
    real.pending.push({ family, request, blockSize, exactSize })
  })

/** The owner's step before it calls the driver. */
const evictOutgrown = (model: Model, real: Real, family: string, size: number, most: number): void => {
  model.miss(family, size, most)
  for (const block of real.core.evictOutgrown(family, size, most)) {
    const expected = model.nextOutgrown(family, size)
    assert.strictEqual(block.value, expected?.id)
    free(real, block)
    model.free(expected!)
    model.freedOutgrown(expected!)
  }
  assert.isUndefined(model.nextOutgrown(family, size))
}

const settle = (n: number, outcome: "answered" | "abandoned" | "refused") =>
  command(`settle(${n}, ${outcome})`, (model, real) => {
    const [pending] = real.pending.splice(n % Math.max(real.pending.length, 1), 1)
    if (pending === undefined) return
    const { blockSize, exactSize, family, request } = pending
    if (outcome === "refused" || (outcome === "abandoned" && exactSize)) {
      real.core.removePending(blockSize, request)
      return model.removePending(blockSize, request)
    }
    const id = real.nextId++
    const expected = model.add(id, family, blockSize, !exactSize, request)
    if (outcome === "abandoned") {
      return abandoned(model, real, expected, real.core.addHeld(family, blockSize, id, request))
    }
    model.serve(expected, request)
    const block = exactSize ?
      real.core.addActiveUnbinned(blockSize, id, request) :
      real.core.addActive(family, blockSize, id, request)
    granted(real, block, expected)
  })

const abandoned = (model: Model, real: Real, expected: ModelBlock, block: Block): void => {
  if (model.keep(expected)) {
    assert.strictEqual(block.state, "held")
    return evictExcess(model, real)
  }
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
    else model.end(expected)
    if (held) {
      assert.strictEqual(block.state, "held")
      return evictExcess(model, real)
    }
    free(real, block)
    model.free(expected)
  })

const evictOne = (model: Model, real: Real, block: Block | undefined, expected: ModelBlock | undefined): boolean => {
  assert.strictEqual(block?.value, expected?.id)
  if (block === undefined || expected === undefined) return false
  free(real, block)
  model.free(expected)
  return true
}

const evict = (
  name: string,
  take: (core: Core) => Block | undefined,
  expect: (model: Model) => ModelBlock | undefined
) =>
  command(name, (model, real) => {
    const expected = expect(model)
    evictOne(model, real, take(real.core), expected)
  })

const evictNext = (missing: number | undefined) =>
  evict(`evictNext(${missing})`, (core) => core.evictNext(missing), (model) => model.next(missing))

const evictOldest = command("evictOldest", (model, real) => {
  if (!model.ordered) return assert.throws(() => real.core.evictOldest(), /recency/)
  const expected = model.oldest()
  evictOne(model, real, real.core.evictOldest(), expected)
})

const tick = (late: number) =>
  command(`tick(${late})`, (model, { core }) => {
    model.tick(late)
    core.tick(late)
  })

/** The owner's tick of the time to live, or several at once if it is late. */
const step = (late: number) =>
  command(`step(${late})`, (model, real) => {
    model.tick(late)
    real.core.tick(late)
    let expected = model.nextIdle()
    while (evictOne(model, real, real.core.evictIdle(), expected)) expected = model.nextIdle()
  })

const anyTicks = fc.constantFrom(1, 1, 1, 2, 3, 5, 40)

const trim = (target: number) =>
  command(`trim(${target})`, (model, real) => {
    const { core } = real
    const need = core.managedBytes - target
    let freed = 0
    let last = 0
    for (const block of core.trim(target)) {
      evictOne(model, real, block, model.next(core.managedBytes - target))
      freed += block.capacity
      last = block.capacity
    }
    assert.isTrue(freed === 0 || freed - last < need, "frees too much")
    assert.isTrue(core.managedBytes <= target || core.heldBlocks === 0, "frees too little")
  })

const evictAll = command("evictAll", (model, real) => {
  for (const block of real.core.evictAll()) {
    evictOne(model, real, block, model.next(undefined))
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
  command(`setMaxBytes(${limit})`, (model, { core }) => {
    model.limit = limit
    core.setMaxBytes(limit)
  })

const setMaxHeld = (limit: number) =>
  command(`setMaxHeldBytes(${limit})`, (model, real) => {
    model.setMaxHeld(limit)
    real.core.setMaxHeldBytes(limit)
    evictExcess(model, real)
  })

const release = (n: number) => endLease("release", n, (core, block) => core.release(block) === undefined, true)

/** Leases that come and go together. */
const burst = (family: string, requests: ReadonlyArray<number>) => {
  const commands = [
    ...requests.map((request) => allocate(family, request, false)),
    ...requests.map(() => settle(0, "answered")),
    ...requests.map((_, n) => release(n))
  ]
  return command(`burst(${family}, [${requests.join()}])`, (model, real) => {
    for (const { run } of commands) void run(model, real)
  })
}

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

export const anyCommand = [
  fc.tuple(anyFamily, anyRequest).map(([family, request]) => allocate(family, request, false)),
  fc.tuple(anyFamily, anyRequest, fc.integer({ min: 0, max: 7 })).map(([family, request, n]) =>
    allocate(family, request, n === 0)
  ),
  fc.nat(50).map((n) => settle(n, "answered")),
  fc.nat(50).map((n) => settle(n, "answered")),
  fc.tuple(fc.nat(50), fc.constantFrom("abandoned", "refused")).map(([n, outcome]) => settle(n, outcome)),
  fc.nat(50).map(release),
  fc.nat(50).map(release),
  fc.nat(50).map((n) =>
    endLease("discard", n, (core, block) => {
      core.discard(block)
      return false
    }, false)
  ),
  fc.option(anyRequest, { nil: undefined }).map(evictNext),
  fc.nat(9).map((n) => n === 0 ? evictAll : setHolding(n !== 1)),
  anyLimit.map(setLimit),
  anyLimit.map(setMaxHeld),
  fc.constant(evictOldest),
  fc.constant(evict("evictIdle", (core) => core.evictIdle(), (model) => model.nextIdle())),
  anyTicks.map(tick),
  anyTicks.map(step),
  fc.oneof(anyLimit, anyRequest).map(trim)
]

/** Blocks that come, go and grow old, and little else. */
export const anyHeldCommand = [
  fc.tuple(anyFamily, fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 })).map((args) => burst(...args)),
  fc.tuple(anyFamily, fc.integer({ min: 1, max: 40 })).map(([family, request]) => allocate(family, request, false)),
  fc.constant(settle(0, "answered")),
  fc.nat(50).map(release),
  fc.constant(evictOldest),
  fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }).map(evictNext),
  anyTicks.map(step),
  anyTicks.map(step),
  fc.nat(400).map(trim)
]
