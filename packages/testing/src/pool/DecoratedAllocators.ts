/**
 * Pools over decorated allocators: limited, tracked, counted and faulty, on a real device.
 *
 * @internal
 */
import { Allocator, BufferPool, Lease, SizePolicy } from "effect-gpu-pool"
import { FaultyAllocator, LimitingAllocator, StatisticsAllocator, TrackingAllocator } from "effect-gpu-pool/allocators"
import type { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { QueueDriver } from "effect-gpu-pool/QueueDriver"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { fork, ownWork, untilWaiting, writeOwn } from "./Waiters.ts"

const test = inGroup("decorated allocators", { counting: true })

type Decorated =
  | Allocator.Allocator
  | FaultyAllocator.AllocatorFaults
  | StatisticsAllocator.AllocatorStatistics
  | TrackingAllocator.AllocationTracker

type Stack = Layer.Layer<Decorated, GpuError, DeviceContext | QueueDriver>

const limiting = LimitingAllocator.layer({ maxBytes: 4096 })

const faultyOutside: Stack = FaultyAllocator.layer().pipe(
  Layer.provideMerge(StatisticsAllocator.layer),
  Layer.provideMerge(TrackingAllocator.layer),
  Layer.provideMerge(limiting),
  Layer.provide(Allocator.layerImmediate)
)

const limitingOutside: Stack = limiting.pipe(
  Layer.provideMerge(TrackingAllocator.layer),
  Layer.provideMerge(StatisticsAllocator.layer),
  Layer.provideMerge(FaultyAllocator.layer()),
  Layer.provide(Allocator.layerImmediate)
)

/** A request waits if the allocator refuses it, as it does if the driver refuses. */
const poolOver = (stack: Stack) =>
  Effect.gen(function*() {
    const poolScope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const pool = yield* Scope.provide(
      BufferPool.make({ sizePolicy: SizePolicy.exact, onExhausted: "wait" }),
      poolScope
    )
    const faults = yield* FaultyAllocator.AllocatorFaults
    const outstanding = Effect.map(
      TrackingAllocator.outstanding,
      (allocations) => allocations.map(({ bytes, label }) => [label, bytes])
    )
    yield* StatisticsAllocator.push
    const first = yield* pool.allocate(3072, { label: "first" })
    yield* writeOwn(first, 1)
    Expect.same("what is tracked", yield* outstanding, [["first", 3072]])
    const second = yield* fork(pool.use(2048, (lease) => ownWork(lease, 2), { label: "second" }))
    yield* untilWaiting(1, pool.stats)
    yield* Lease.release(first)
    yield* Fiber.join(second)
    Expect.same("what is tracked", yield* outstanding, [["second", 2048]])
    yield* pool.freeHeld
    faults.failAllocations({ times: Infinity })
    yield* Expect.failsWith("no lease is active, so no request waits", pool.allocate(64), "OutOfMemory")
    faults.clear()
    yield* pool.use(64, (lease) => ownWork(lease, 3))
    yield* Scope.close(poolScope, Exit.void)
    const { allocations, bytes } = yield* StatisticsAllocator.pop
    Expect.same("bytes", bytes, { current: 0, peak: 3072, total: 5184 })
    Expect.same("allocations", [allocations.current, allocations.total, faults.frees], [0, 3, 3])
    Expect.same("bytes tracked at the end", yield* outstanding, [])
  }).pipe(Effect.provide(Layer.fresh(stack)))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("requests wait on a pool over a limited, tracked, counted and faulty allocator", poolOver(faultyOutside)),
  test("requests wait on a pool over the same decorators in reverse order", poolOver(limitingOutside))
]
