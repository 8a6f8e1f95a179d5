/**
 * The race on blocks that are reused by another queue: in many random operations each owner reads only what it wrote.
 * Without the waits the same operations must fail, or the test would not see the race.
 *
 * @see https://github.com/inducer/pyopencl/issues/447
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ReuseRace from "../../packages/testing/src/commands/ReuseRace.ts"
import { Random } from "../../packages/testing/src/Random.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ReusePolicy from "../../src/domain/pool/ReusePolicy.ts"
import * as Host from "../../src/layers/Host/Host.ts"
import * as OpenCl from "../../src/layers/OpenCl/OpenCl.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import { DeviceQueues } from "../../src/services/device/queues/QueueOrder.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

interface Backend {
  readonly layer: Layer.Layer<Device.Services, GpuError>
  /** Items of the longest work: some milliseconds. */
  readonly busyItems: number
}

/** The first queue and two others; `unordered` leaves out their waits for each other. */
const threeQueues = (unordered: boolean) =>
  Effect.gen(function*() {
    const first = yield* CommandQueue.CommandQueue
    const further = yield* Effect.replicateEffect(CommandQueue.make(), 2)
    const queues = (yield* QueueDriver).order?.queues
    assert.instanceOf(queues, DeviceQueues)
    if (unordered) { for (const { queue } of queues.open) Object.assign(queue, { waitForUnsafe: () => Exit.void }) }
    return [first, ...further]
  })

const race = (
  { busyItems, layer }: Backend,
  seed: number,
  operations: number,
  { reuse, unordered = false }: { readonly reuse?: ReusePolicy.ReusePolicy; readonly unordered?: boolean } = {}
) =>
  Effect.gen(function*() {
    const queues = yield* threeQueues(unordered)
    yield* ReuseRace.run(new Random(seed), { operations, busyItems, queues })
    return yield* Effect.forEach(queues, (queue) => BufferPool.statsOf(queue))
  }).pipe(
    Effect.scoped,
    Effect.provide(
      // The limit is little more than the owners need, so that blocks are also freed while commands run.
      BufferPool.layer({ reuse, maxBytes: 3 * 4 * 2 ** Math.ceil(Math.log2(busyItems)) + 16_384 }).pipe(
        Layer.provideMerge(Allocator.layerImmediate),
        Layer.provideMerge(layer)
      )
    ),
    Effect.tapError((error) => Effect.logError(`seed ${seed}: ${error.message}`))
  )

const raceOn = (backend: Backend) => {
  const seeds = runs(10, 1)

  it.live(`lets each owner read what it wrote, in ${seeds * 10_000} operations`, () =>
    Effect.gen(function*() {
      let waits = 0
      for (let seed = 1; seed <= seeds; seed++) {
        for (const stats of yield* race(backend, seed, 10_000)) waits += stats.waits
      }
      // Otherwise nothing was tested. On a fast device there is less to wait for.
      assert.isAbove(waits, 10 * seeds)
    }))

  it.live("is seen when the waits are left out", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(race(backend, 1, 20_000, { unordered: true }))
      assert.isTrue(Exit.isFailure(exit) && /what the owner reads/.test(Cause.pretty(exit.cause)))
    }))

  it.live("lets each owner read what it wrote under the policy never", () =>
    race(backend, 1, 5000, { reuse: ReusePolicy.ownQueue }))

  it.live("lets no queue wait for a block under the policy whenEnded", () =>
    Effect.gen(function*() {
      const stats = yield* race(backend, 1, 5000, { reuse: ReusePolicy.whenEnded })
      assert.deepStrictEqual(stats.map(({ waits }) => waits), [0, 0, 0])
    }))
}

describe("the race for blocks on the host", () => {
  raceOn({ layer: Host.layer({ rangeItems: 1 }), busyItems: 8 })
})

describeWith(["opencl"], "the race for blocks on OpenCL", () => {
  raceOn({ layer: OpenCl.layer(), busyItems: 20_000 })
})
