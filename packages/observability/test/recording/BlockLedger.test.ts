/** The ledger of blocks that all readers of events use. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { freed, leased, released } from "../../../../test/support/anyRecording.ts"
import { runs } from "../../../../test/support/explore.ts"
import { run, steps } from "../../../../test/support/poolPrograms.ts"
import { stepsTaken } from "../../../../test/support/stepsTaken.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import { BlockLedger } from "../../src/recording/BlockLedger.ts"
import type * as Recording from "../../src/recording/Recording.ts"

const closed: PoolEvent = { _tag: "Closed", at: 0, memory: undefined, memoryNumber: 1, device: "" }

const x = { size: 60, label: "x" }

/** The calls of a ledger's callbacks for events, consistent or not. */
const callsOf = (events: ReadonlyArray<PoolEvent>, blocks: ReadonlyArray<Recording.RecordedBlock> = []) => {
  const calls: Array<string> = []
  const ledger = new BlockLedger({ blocks }, {
    begins: ({ block, capacity, place }) => void calls.push(`${place}: ${block} begins, ${capacity} B`),
    leased: ({ label, lease, place, size }) => void calls.push(`${place}: lease ${lease} of ${label}, ${size} B`),
    released: ({ label, lease, place }) => void calls.push(`${place}: lease ${lease} of ${label} ends`),
    ends: ({ block, lease, place }) => void calls.push(`${place}: ${block} ends${lease === -1 ? "" : ", leased"}`)
  })
  const known = events.map((event) => ledger.take(event))
  return { calls, known, ledger }
}

const bytes = (
  { activeBytes, heldBytes, managedBytes }: BlockLedger["bytes"]
) => [activeBytes, heldBytes, managedBytes]

/** The steps that some events take with `count` blocks. */
const taken = (count: number) => {
  const ledger = new BlockLedger({ blocks: [] })
  for (let block = 0; block < count; block++) ledger.take(leased(x, block, "driver"))
  return stepsTaken("/recording/BlockLedger", () => {
    ledger.take(released(0, 0))
    ledger.take(leased(x, 0, "held"))
    ledger.take(leased(x, 0, "driver"))
    ledger.take(freed(0, 0))
  })
}

describe("a ledger", () => {
  it("agrees with the pool after every step of any program", () =>
    fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(Infinity, 300), (steps, maxHeldBytes) => {
        const faults = Host.makeFaults()
        const program = Effect.gen(function*() {
          const ledger = new BlockLedger({ blocks: [] })
          yield* Effect.forkScoped(PoolEvents.listen((event) => void ledger.take(event)), { startImmediately: true })
          const scopes: Array<Scope.Closeable> = []
          for (const step of steps) {
            yield* run(step, scopes, faults)
            const { activeBytes, heldBytes, managedBytes, peakManagedBytes } = yield* BufferPool.stats
            deepStrictEqual({ ...ledger.bytes }, { activeBytes, heldBytes, managedBytes, peakManagedBytes })
          }
          yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
        })
        const gpu = BufferPool.layer({ maxBytes: 1000, maxHeldBytes, sizePolicy: SizePolicy.exact }).pipe(
          Layer.provideMerge(Host.layer({ faults })),
          Layer.provideMerge(PoolEvents.layer)
        )
        return Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(gpu), Effect.provide(TestClock.layer())))
      }),
      { numRuns: runs(100) }
    ))

  it("begins with what was there before the first event", () => {
    const common = { memory: 1, capacity: 64, pool: "BufferPool", family: undefined }
    const { ledger, calls } = callsOf([released(0, 7, 60, 64)], [
      { ...common, block: 7, lease: x },
      { ...common, block: 9 },
      { ...common, memory: 2, block: 7, lease: { size: 10 } }
    ])
    deepStrictEqual(calls, [
      "0: 7 begins, 64 B",
      "0: lease 0 of x, 60 B",
      "1: 9 begins, 64 B",
      "2: 7 begins, 64 B",
      "2: lease 1 of undefined, 10 B",
      "0: lease 0 of x ends"
    ])
    deepStrictEqual([ledger.bytes, ledger.bytesOf(1), ledger.bytesOf(2), ledger.bytesOf(3)].map(bytes), [
      [10, 128, 192],
      [0, 128, 128],
      [10, 0, 64],
      [0, 0, 0]
    ])
    deepStrictEqual(Array.from(ledger.blocks(), ({ block, memory }) => [memory, block]), [[1, 7], [1, 9], [2, 7]])
  })

  const odd: ReadonlyArray<readonly [what: string, events: ReadonlyArray<PoolEvent>, calls: ReadonlyArray<string>]> = [
    ["ends a block whose number the driver gives again", [leased(x, 1, "driver"), leased(x, 1, "driver")], [
      "0: 1 begins, 60 B",
      "0: lease 0 of x, 60 B",
      "0: lease 0 of x ends",
      "0: 1 ends",
      "1: 1 begins, 60 B",
      "1: lease 1 of x, 60 B"
    ]],
    ["begins a block that is said to have been held", [leased(x, 1, "held")], [
      "0: 1 begins, 60 B",
      "0: lease 0 of x, 60 B"
    ]],
    ["ends the lease of a block that is leased again", [leased(x, 1, "driver"), leased(x, 1, "held")], [
      "0: 1 begins, 60 B",
      "0: lease 0 of x, 60 B",
      "0: lease 0 of x ends",
      "0: lease 1 of x, 60 B"
    ]],
    ["ends the lease of a block that is freed", [leased(x, 1, "driver"), freed(0, 1)], [
      "0: 1 begins, 60 B",
      "0: lease 0 of x, 60 B",
      "0: lease 0 of x ends",
      "0: 1 ends"
    ]],
    ["ends all blocks of a memory that closes", [leased(x, 1, "driver"), leased(x, 2, "driver"), closed], [
      "0: 1 begins, 60 B",
      "0: lease 0 of x, 60 B",
      "1: 2 begins, 60 B",
      "1: lease 1 of x, 60 B",
      "0: lease 0 of x ends",
      "0: 1 ends",
      "1: lease 1 of x ends",
      "1: 2 ends"
    ]]
  ]
  it.each(odd)("%s", (_, events, expected) => {
    const { ledger, calls } = callsOf(events)
    deepStrictEqual(calls, [...expected])
    const blocks = [...ledger.blocks()]
    const sum = (of: (block: typeof blocks[number]) => number) => blocks.reduce((total, block) => total + of(block), 0)
    strictEqual(ledger.bytes.managedBytes, sum(({ capacity }) => capacity))
    strictEqual(ledger.bytes.heldBytes, sum(({ capacity, lease }) => lease === -1 ? capacity : 0))
    strictEqual(ledger.bytes.activeBytes, sum(({ lease, size }) => lease === -1 ? 0 : size))
  })

  it("distinguishes events of unknown blocks and leases, and changes nothing for them", () => {
    const events = [released(0, 5), freed(0, 6), leased(x, 1, "driver"), released(0, 1), released(0, 1), freed(0, 1)]
    const { known, ledger, calls } = callsOf(events)
    deepStrictEqual(known, [false, false, true, true, false, true])
    strictEqual(calls.length, 4)
    deepStrictEqual([...ledger.blocks()], [])
  })

  it("takes as many steps for an event whatever the number of blocks", () => {
    const few = taken(1)
    assert.isAbove(few, 0)
    strictEqual(taken(10_000), few)
  })
})
