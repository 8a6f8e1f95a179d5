/** Random programs on one pool of buffers. Each step ends before the next begins. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import type { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"

export type Step =
  | { readonly do: "allocate" | "interrupted"; readonly size: number }
  | { readonly do: "release"; readonly which: number }
  | { readonly do: "trim" | "limit"; readonly bytes: number }
  | { readonly do: "free" | "refuse" }

const size = fc.integer({ min: 1, max: 300 })
export const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("allocate" as const), size }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("interrupted" as const), size }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(50) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom("trim" as const, "limit" as const), bytes: fc.nat(1000) })
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("free" as const, "refuse" as const) }) }
  ),
  { maxLength: 80 }
)

/** Allocations of the scopes live until a step releases them. */
export const run = (step: Step, scopes: Array<Scope.Closeable>, faults: Host.Faults) =>
  Effect.gen(function*() {
    if (step.do === "allocate") {
      const scope = yield* Scope.make()
      yield* Effect.exit(Scope.provide(BufferPool.allocate(step.size), scope))
      scopes.push(scope)
    } else if (step.do === "interrupted") {
      faults.delay({ allocations: "1 second" })
      const fiber = yield* Effect.forkChild(Effect.scoped(BufferPool.allocate(step.size)), { startImmediately: true })
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      faults.delay({ allocations: 0 })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(interrupted)
    } else if (step.do === "release") {
      const [scope] = scopes.splice(step.which % (scopes.length + 1), 1)
      if (scope !== undefined) yield* Scope.close(scope, Exit.void)
    } else if (step.do === "trim") yield* BufferPool.trimTo(step.bytes)
    else if (step.do === "limit") yield* BufferPool.setLimit(step.bytes)
    else if (step.do === "free") yield* BufferPool.freeHeld
    else faults.failAllocations()
  })
