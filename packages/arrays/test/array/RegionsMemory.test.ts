/** Programs of arrays that share a pool too small for all of them at once. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { hasStats } from "../../../../test/support/hostPool.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import type { Gpu } from "./ArrayBackends.ts"

const elements = 64
const bytes = 4 * elements

/** Two inputs, two intermediates and a result: five arrays, where the pool has room for eight. */
const largest = Effect.gen(function*() {
  const x = yield* DeviceArray.full([elements], 3)
  const y = yield* DeviceArray.full([elements], 4)
  const squares = yield* DeviceArray.add(yield* DeviceArray.square(x), yield* DeviceArray.square(y))
  return yield* DeviceArray.max(yield* DeviceArray.sqrt(squares))
})

const expression = Effect.flatMap(largest, DeviceArray.toNumber)

/** Its inputs are in memory of each run. */
const compiled = DeviceArray.compile(() => largest)

type Program = Effect.Effect<number, GpuError, Gpu | Scope.Scope>

const retried = (program: Program): Program =>
  Effect.scoped(program).pipe(Effect.retry({ while: (error) => error.isRetryable }))

const forms: Record<string, Program> = {
  "eager, retried": retried(expression),
  scoped: DeviceArray.scoped(expression),
  "scoped with a reservation": DeviceArray.scoped(expression, { reserve: 8 * bytes }),
  lazy: DeviceArray.lazy(expression),
  "lazy with a reservation": expression.pipe(DeviceArray.lazy({ reserve: 8 * bytes })),
  compiled: Effect.flatMap(compiled(), DeviceArray.toNumber),
  "scoped within scoped": DeviceArray.scoped(DeviceArray.scoped(expression))
}

const layer = (host: Host.HostOptions) =>
  BufferPool.layer({ maxBytes: 8 * bytes, onExhausted: "wait" }).pipe(
    Layer.provideMerge(Layer.fresh(Host.layer(host)))
  )

const programsAtOnce = 32

/** Code that is loaded at its first use takes real time, in which the test's clock would go on. */
const loaded = Effect.forEach(Object.values(forms), (program) => Effect.scoped(program)).pipe(
  Effect.provide(layer({})),
  Effect.orDie
)

describe("32 programs of arrays in a pool that has no room for two of them", () => {
  for (const [host, options] of Object.entries({ host: {}, "a host with latency": { latency: "1 millis" } } as const)) {
    for (const [name, program] of Object.entries(forms)) {
      it.effect(`all end within five seconds, ${name}, on ${host}`, () =>
        Effect.gen(function*() {
          yield* loaded
          const all = yield* Effect.replicateEffect(Effect.scoped(program), programsAtOnce, {
            concurrency: "unbounded"
          })
            .pipe(Effect.forkChild)
          for (let turn = 0; turn < 500 && all.pollUnsafe() === undefined; turn++) {
            yield* TestClock.adjust("10 millis")
          }
          const exit = all.pollUnsafe()
          assert(exit !== undefined, "a program waits for more than five seconds")
          deepStrictEqual(exit, Exit.succeed(Array.from({ length: programsAtOnce }, () => 5)))
          yield* Fiber.join(all)
          yield* hasStats({ activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
        }).pipe(Effect.provide(layer(options))))
    }
  }

  it.effect("regions that reserve run side by side, and regions that do not one after the other", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const counted = Effect.acquireUseRelease(
        Effect.sync(() => {
          most = Math.max(most, ++running)
        }),
        () => Effect.yieldNow,
        () =>
          Effect.sync(() => {
            running--
          })
      )
      const mostOf = (region: Effect.Effect<void, GpuError, Gpu | Scope.Scope>) =>
        Effect.gen(function*() {
          most = 0
          yield* Effect.replicateEffect(region, 6, { concurrency: "unbounded", discard: true })
          return most
        })
      deepStrictEqual(
        [
          yield* mostOf(DeviceArray.scoped(counted, { reserve: 4 * bytes })),
          yield* mostOf(DeviceArray.scoped(counted)),
          yield* Effect.provide(mostOf(DeviceArray.scoped(counted)), BufferPool.layer())
        ],
        [2, 1, 6]
      )
    }).pipe(Effect.scoped, Effect.provide(layer({}))))
})

describe("array scopes in a small pool, where no request waits", () => {
  for (const name of ["scoped", "lazy", "scoped within scoped"]) {
    it.effect(`run at once, ${name}`, () =>
      Effect.gen(function*() {
        deepStrictEqual(yield* forms[name]!, 5)
      }).pipe(Effect.provide(BufferPool.layerSmall().pipe(Layer.provideMerge(Host.layer())))))
  }
})
