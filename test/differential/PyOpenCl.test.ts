/**
 * Runs the same operations on PyOpenCL's MemoryPool and on our pool with `SizePolicy.leadingBits(4)`, which promises
 * the same behaviour: after every operation all of PyOpenCL's counters and block sizes must be equal.
 *
 * Size 0 is left out: PyOpenCL's pool allocates a block of one byte, ours a lease without memory, on purpose. So are a
 * failing driver (PyOpenCL's residency check ends the process on some drivers) and a second release (an error in both
 * pools, which the conformance suite tests).
 */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { BufferPool, Lease, type PoolStats, SizePolicy } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { describeWith } from "../support/required.ts"
import { type Counters, type Operation, PyOpenClPool } from "./PyOpenClPool.ts"

const largestSize = 4 * 2 ** 20

/** 2^k - 1, 2^k and 2^k + 1 where bins begin and end. */
const around = (largest: number): ReadonlyArray<number> =>
  Array.from({ length: 54 }, (_, k) => [2 ** k - 1, 2 ** k, 2 ** k + 1])
    .flat()
    .filter((size) => size >= 1 && size <= largest)

const logUniform = (largest: number) => {
  const top = Math.log2(largest)
  return fc.double({ min: 0, max: top, noNaN: true }).map((exponent) => Math.floor(2 ** exponent))
}

/** Few bins, so that sequences have hits: with sizes spread over all bins, nearly every request would miss. */
const crowded = fc.tuple(fc.constantFrom(20, 1000, 65_536, 1_000_000), fc.nat(40)).map(([base, more]) => base + more)

const allocations = fc.oneof(
  logUniform(largestSize),
  fc.constantFrom(...around(largestSize)),
  { weight: 4, arbitrary: crowded }
).map((size) => ({ op: "allocate", size }) as const)

/** A release whose target is chosen when it runs: `pick` modulo the number of live allocations. */
interface Release {
  readonly op: "release" | "close"
  readonly pick: number
}

const releases: fc.Arbitrary<Release> = fc.record({ op: fc.constantFrom("release", "close"), pick: fc.nat(1000) })

type Step = Exclude<Operation, { readonly nth: number }> | Release

const steps = (others: ReadonlyArray<fc.WeightedArbitrary<Step>>): fc.Arbitrary<ReadonlyArray<Operation>> =>
  fc.array(
    fc.oneof({ weight: 120, arbitrary: allocations }, { weight: 100, arbitrary: releases }, ...others),
    { minLength: 1, maxLength: 80, size: "max" }
  ).map(operationsOf)

const operationsOf = (steps: ReadonlyArray<Step>): ReadonlyArray<Operation> => {
  let live = 0
  return steps.flatMap((step): ReadonlyArray<Operation> => {
    if (step.op === "allocate") live += 1
    if (!("pick" in step)) return [step]
    if (live === 0) return []
    const nth = step.pick % live
    live -= 1
    return [{ op: step.op, nth }]
  })
}

const onlyLeases = steps([])

const anySequence = steps([
  { weight: 4, arbitrary: fc.constant<Step>({ op: "freeHeld" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ op: "stopHolding" }) }
])

interface Live {
  readonly lease: BufferPool.PooledBuffer
  readonly scope: Scope.Closeable
}

/** Runs the same operations on our pool, on the device in context. */
class OurPool {
  readonly #pool: BufferPool.BufferPool["Service"]
  readonly #live: Array<Live> = []

  static readonly make = Effect.map(BufferPool.BufferPool, (pool) => new OurPool(pool))

  constructor(pool: BufferPool.BufferPool["Service"]) {
    this.#pool = pool
  }

  get stats(): Effect.Effect<PoolStats.PoolStats> {
    return this.#pool.stats
  }

  /** The lease, when the operation makes one. */
  run(operation: Operation): Effect.Effect<BufferPool.PooledBuffer | undefined, unknown, Scope.Scope> {
    switch (operation.op) {
      case "allocate":
        return this.#allocate(operation.size)
      case "release":
        return Effect.as(Lease.release(this.#take(operation.nth).lease), undefined)
      case "close":
        return Effect.as(Scope.close(this.#take(operation.nth).scope, Exit.void), undefined)
      case "freeHeld":
        return Effect.as(this.#pool.freeHeld, undefined)
      case "stopHolding":
        return Effect.as(this.#pool.stopHolding, undefined)
    }
  }

  #allocate(size: number) {
    return Effect.gen({ self: this }, function*() {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const lease = yield* Scope.provide(this.#pool.allocate(size), scope)
      this.#live.push({ lease, scope })
      return lease
    })
  }

  #take(nth: number): Live {
    const [live] = this.#live.splice(nth, 1)
    assert(live !== undefined, `there is no live lease ${nth}`)
    return live
  }
}

const freshPool = Layer.fresh(BufferPool.layer({ sizePolicy: SizePolicy.leadingBits(4) }))

const onFreshPool = <A, R>(test: (ours: OurPool) => Effect.Effect<A, unknown, R | Scope.Scope>) =>
  Effect.flatMap(OurPool.make, test).pipe(Effect.scoped, Effect.provide(freshPool))

/** One line per operation, so that a failure shows the first difference. */
const story = (operations: ReadonlyArray<Operation>, counters: ReadonlyArray<Counters>): ReadonlyArray<string> =>
  operations.map((operation, at) => `${at} ${JSON.stringify(operation)}: ${show(counters[at])}`)

const show = (counters: Counters | undefined): string =>
  counters === undefined
    ? "nothing"
    : `${counters.heldBlocks} held, ${counters.activeBlocks} active, ${counters.managedBytes} B managed, ` +
      `${counters.activeBytes} B active`

/** How often the sequences hit, missed and borrowed in all, so that equal counters mean something. */
type Coverage = Pick<PoolStats.PoolStats, "hits" | "misses" | "borrows" | "driverFrees">

const add = (total: Coverage, stats: Coverage): Coverage => ({
  hits: total.hits + stats.hits,
  misses: total.misses + stats.misses,
  borrows: total.borrows + stats.borrows,
  driverFrees: total.driverFrees + stats.driverFrees
})

/** Runs a property on the services in context; fast-check shrinks a failure, and prints its seed and path. */
const check = <A, R>(
  arbitrary: fc.Arbitrary<A>,
  parameters: fc.Parameters<[A]>,
  test: (value: A) => Effect.Effect<void, unknown, R>
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.context<R>(), (context) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => Effect.runPromiseWith(context)(test(value))),
        parameters
      )
    ))

const sameCounters = Effect.fnUntraced(function*([, parameters]: typeof seeds[number]) {
  const reference = yield* PyOpenClPool
  let coverage: Coverage = { hits: 0, misses: 0, borrows: 0, driverFrees: 0 }
  yield* check(
    anySequence,
    { ...parameters, numRuns: 150 },
    (operations) =>
      onFreshPool((ours) =>
        Effect.gen(function*() {
          const expected = yield* Effect.promise(() => reference.run(operations))
          const counters: Array<Counters> = []
          for (const operation of operations) {
            yield* ours.run(operation)
            counters.push(yield* ours.stats)
          }
          deepStrictEqual(story(operations, counters), story(operations, expected.counters))
          coverage = add(coverage, yield* ours.stats)
        })
      )
  )
  assert.isAbove(coverage.hits, 100)
  assert.isAbove(coverage.misses, 100)
  assert.isAbove(coverage.driverFrees, 100)
  assert.strictEqual(coverage.borrows, 0)
})

/** Each address as the number of its first appearance: the driver gives different ones to every process. */
const ordinals = (addresses: ReadonlyArray<string>): ReadonlyArray<number> => {
  const known = new Map<string, number>()
  return addresses.map((address) => {
    const ordinal = known.get(address) ?? known.size
    known.set(address, ordinal)
    return ordinal
  })
}

const sameBlocks = Effect.fnUntraced(function*([, parameters]: typeof seeds[number]) {
  const reference = yield* PyOpenClPool
  let reused = 0
  yield* check(
    onlyLeases,
    { ...parameters, numRuns: 100 },
    (operations) =>
      onFreshPool((ours) =>
        Effect.gen(function*() {
          const expected = yield* Effect.promise(() => reference.run(operations))
          const addresses: Array<string> = []
          for (const operation of operations) {
            const lease = yield* ours.run(operation)
            if (lease !== undefined) addresses.push(String(yield* OpenCl.handle(lease)))
          }
          deepStrictEqual(ordinals(addresses), ordinals(expected.addresses))
          reused += addresses.length - new Set(addresses).size
        })
      )
  )
  assert.isAbove(reused, 100)
})

const sameSizes = Effect.fnUntraced(function*(leadingBits: number) {
  const reference = yield* PyOpenClPool
  const policy = SizePolicy.leadingBits(leadingBits)
  const random = fc.sample(logUniform(Number.MAX_SAFE_INTEGER), { seed: leadingBits, numRuns: 2000 })
  const small = Array.from({ length: 5000 }, (_, size) => size + 1)
  const sizes = [...around(Number.MAX_SAFE_INTEGER), ...small, ...random]
  const expected = yield* Effect.promise(() => reference.blockSizes(leadingBits, sizes))
  const pairs = (blocks: ReadonlyArray<number>) => sizes.map((size, at) => `${size} -> ${blocks[at]}`)
  deepStrictEqual(pairs(sizes.map((size) => policy.blockSize(size))), pairs(expected))
})

/** Starting an interpreter and a driver takes seconds on a busy machine. */
const startup = { timeout: "2 minutes" } as const
/** Fixed seeds, and a new one in every run, which fast-check prints on a failure. */
const seeds: ReadonlyArray<readonly [title: string, parameters: { readonly seed?: number }]> = [
  ["seed 1", { seed: 1 }],
  ["seed 20221", { seed: 20_221 }],
  ["seed 314159", { seed: 314_159 }],
  ["a new seed", {}]
]

describeWith(["pyopencl"], "PyOpenCL and the size policies", () => {
  layer(PyOpenClPool.layer, startup)((it) => {
    it.effect.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 12])("make the same blocks with %i leading bits", sameSizes)
  })
})

const agree = (name: string, device: Layer.Layer<Device.Services, unknown>) => {
  layer(Layer.merge(PyOpenClPool.layer, Layer.orDie(device)), startup)((it) => {
    it.effect.each(seeds)(`${name}: equal counters after every operation, %s`, sameCounters)
  })
}

describeWith(["pyopencl"], "PyOpenCL's pool and ours on the host", () => {
  agree("host", Host.layer({ granularity: 1 }))
})

describeWith(["pyopencl", "opencl"], "PyOpenCL's pool and ours on OpenCL", () => {
  const opencl = OpenCl.layer()
  agree("OpenCL", opencl)
  layer(Layer.merge(PyOpenClPool.layer, Layer.orDie(opencl)), startup)((it) => {
    it.effect.each(seeds)("the same blocks are reused, %s", sameBlocks)
  })
})
