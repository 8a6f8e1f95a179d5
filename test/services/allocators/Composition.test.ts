/**
 * The decorators stacked in any order, with a pool on top, under random requests, faults and interruptions: in the end
 * everything is freed, and each decorator's counters say so.
 */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as FaultyAllocator from "../../../src/services/buffers/allocators/FaultyAllocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as StatisticsAllocator from "../../../src/services/buffers/allocators/StatisticsAllocator.ts"
import * as TrackingAllocator from "../../../src/services/buffers/allocators/TrackingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { DeviceBuffer } from "../../../src/services/device/DeviceBuffer.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import { runs } from "../../support/explore.ts"
import { type HostServices, logsTo } from "../../support/hostPool.ts"

const names = ["limiting", "statistics", "tracking", "faulty"] as const
type Name = typeof names[number]

/** From the innermost to the outermost; each may come several times. */
type Order = ReadonlyArray<Name>

const limit = 3000

/** The services of the stacked decorators. */
interface Decorated {
  readonly context: Context.Context<HostServices | Allocator.Allocator>
  readonly faults: FaultyAllocator.Faults
  readonly trackers: ReadonlyArray<TrackingAllocator.AllocationTracker["Service"]>
  readonly statistics: ReadonlyArray<StatisticsAllocator.AllocatorStatistics["Service"]>
}

const decorate = Effect.fnUntraced(function*(order: Order) {
  const faults = FaultyAllocator.makeFaults()
  const trackers: Array<TrackingAllocator.AllocationTracker["Service"]> = []
  const statistics: Array<StatisticsAllocator.AllocatorStatistics["Service"]> = []
  const layers = {
    limiting: LimitingAllocator.layer({ maxBytes: limit }),
    statistics: Layer.tap(
      StatisticsAllocator.layer,
      (context) => Effect.sync(() => statistics.push(Context.get(context, StatisticsAllocator.AllocatorStatistics)))
    ),
    tracking: Layer.tap(
      TrackingAllocator.layer,
      (context) => Effect.sync(() => trackers.push(Context.get(context, TrackingAllocator.AllocationTracker)))
    ),
    faulty: FaultyAllocator.layer({ faults })
  } satisfies Record<Name, Layer.Layer<Allocator.Allocator, GpuError, Allocator.Allocator | DeviceContext>>
  const host = Layer.fresh(Host.layer({ capacityBytes: 4000, lateFree: true }))
  let context = yield* Layer.build(Allocator.layerImmediate.pipe(Layer.provideMerge(host)))
  for (const name of order) {
    const layer: Layer.Layer<Allocator.Allocator, GpuError, Allocator.Allocator | DeviceContext> = layers[name]
    const outer = yield* Effect.provide(Layer.build(layer), context)
    context = Context.add(context, Allocator.Allocator, Context.get(outer, Allocator.Allocator))
  }
  return { context, faults, trackers, statistics } satisfies Decorated
})

type Step =
  | { readonly kind: "allocate"; readonly pooled: boolean; readonly bytes: number }
  | { readonly kind: "interrupt"; readonly pooled: boolean; readonly bytes: number; readonly afterMillis: number }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "freeHeld" }
  | { readonly kind: "reclaim" }
  | { readonly kind: "fail"; readonly what: "OutOfMemory" | "LimitExceeded" | "DriverError" | "free" | "reclaim" }
  | { readonly kind: "clear" }

const window = { bytes: fc.integer({ min: 1, max: 1500 }), pooled: fc.boolean() }

const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("allocate" as const), ...window }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat() }) },
    fc.record({ kind: fc.constant("interrupt" as const), ...window, afterMillis: fc.constantFrom(0, 5, 10) }),
    fc.record({ kind: fc.constantFrom("freeHeld" as const, "reclaim" as const, "clear" as const) }),
    fc.record({
      kind: fc.constant("fail" as const),
      what: fc.constantFrom("OutOfMemory", "LimitExceeded", "DriverError", "free", "reclaim")
    })
  ),
  { maxLength: 40 }
)

/** Everything that the program has: an effect that releases each, exactly once. */
type Held = Array<Effect.Effect<unknown>>

const take = (
  held: Held,
  pooled: boolean,
  bytes: number
): Effect.Effect<void, GpuError, BufferPool.BufferPool | Allocator.Allocator> =>
  pooled
    ? Effect.gen(function*() {
      const scope = yield* Scope.make()
      held.push(Scope.close(scope, Exit.void))
      yield* Scope.provide(BufferPool.allocate(bytes), scope)
    })
    : Effect.flatMap(Allocator.Allocator, (allocator) =>
      Effect.map(allocator.allocate(bytes), (buffer: DeviceBuffer) => {
        held.push(Effect.exit(Effect.suspend(() => allocator.freeUnsafe(buffer))))
      }))

const interrupted = Effect.fnUntraced(function*(faults: FaultyAllocator.Faults, held: Held, step: Step) {
  if (step.kind !== "interrupt") return
  faults.delayAllocations("10 millis")
  const running = yield* Effect.forkChild(Effect.exit(take(held, step.pooled, step.bytes)), { startImmediately: true })
  yield* TestClock.adjust(step.afterMillis)
  yield* Fiber.interrupt(running)
  yield* TestClock.adjust("10 millis")
  faults.delayAllocations(undefined)
})

const plan = (faults: FaultyAllocator.Faults, what: Extract<Step, { readonly kind: "fail" }>["what"]): void => {
  if (what === "free") faults.failFrees()
  else if (what === "reclaim") faults.failReclaims()
  else faults.failAllocations({ error: what })
}

const perform = (
  { faults }: Decorated,
  held: Held,
  step: Step
): Effect.Effect<unknown, GpuError, BufferPool.BufferPool | Allocator.Allocator> => {
  switch (step.kind) {
    case "allocate":
      return take(held, step.pooled, step.bytes)
    case "interrupt":
      return interrupted(faults, held, step)
    case "release":
      return held.splice(step.which % held.length, 1)[0] ?? Effect.void
    case "freeHeld":
      return BufferPool.freeHeld
    case "reclaim":
      return Allocator.reclaim
    case "fail":
      return Effect.sync(() => plan(faults, step.what))
    case "clear":
      return Effect.sync(() => faults.clear())
  }
}

const bytesAtDriver = (decorated: Decorated): number =>
  Context.get(decorated.context, DeviceContext).driverObjects.liveByKind["buffer"] ?? 0

/** Checks every decorator's counters between two steps. */
const agree = Effect.fnUntraced(function*(decorated: Decorated) {
  const atDriver = bytesAtDriver(decorated)
  for (const tracker of decorated.trackers) strictEqual((yield* tracker.outstanding).length, atDriver)
  for (const { counters } of decorated.statistics) strictEqual((yield* counters).allocations.current, atDriver)
})

const run = (order: Order, program: ReadonlyArray<Step>) =>
  Effect.gen(function*() {
    const decorated = yield* decorate(order)
    const held: Held = []
    yield* Effect.gen(function*() {
      for (const step of program) {
        yield* Effect.exit(perform(decorated, held, step))
        yield* agree(decorated)
      }
      for (const giveBack of held) yield* giveBack
    }).pipe(Effect.provide(BufferPool.layerNoDeps()), Effect.provide(decorated.context))
    yield* agree(decorated)
    strictEqual(bytesAtDriver(decorated), 0)
    decorated.faults.clear()
    const all = Effect.andThen(Allocator.reclaim, Effect.scoped(Allocator.allocate(limit)))
    strictEqual((yield* Effect.provide(all, decorated.context)).size, limit)
  })

/** The logs of a program, including those of the trackers when they close. */
const logged = (order: Order, program: ReadonlyArray<Step>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    return Effect.as(Effect.provide(Effect.scoped(run(order, program)), logsTo(lines)), lines)
  })

describe("the decorators in any order", () => {
  it("give everything back to the driver, whatever fails", () =>
    fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...names, ...names], { minLength: 1 }), steps, (order, program) =>
        Effect.runPromise(Effect.provide(
          Effect.map(logged(order, program), (lines) => {
            deepStrictEqual(
              lines.filter((line) =>
                line.includes("not freed")
              ),
              []
            )
          }),
          TestClock.layer()
        ))),
      { numRuns: runs(300) }
    ))
})
