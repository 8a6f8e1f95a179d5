/** Random programs of several fibers, which yield between their requests as often as they like. */
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CallSite from "effect-gpu-pool/CallSite"
import { Host } from "effect-gpu-pool/host"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as fc from "fast-check"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as Recording from "../../src/recording/Recording.ts"

/** The steps of a fiber: it allocates, yields a number of times, and continues. Sizes are bytes. */
export type FiberStep =
  | { readonly do: "use" | "scoped"; readonly size: number; readonly wait: number; readonly yields: number }
  | {
    readonly do: "nested" | "reserve" | "exclusively" | "budget" | "interrupted" | "handler" | "failing"
    readonly size: number
    readonly wait: number
    readonly yields: number
    readonly steps: ReadonlyArray<FiberStep>
  }
  | { readonly do: "all"; readonly sizes: ReadonlyArray<number>; readonly wait: number; readonly yields: number }
  | { readonly do: "limit" | "trim"; readonly bytes: number }
  | { readonly do: "refuse"; readonly nth: number }
  | { readonly do: "sleep"; readonly millis: number }
  | { readonly do: "lose" | "stop" | "resume" | "free" }

/** Few are larger than a limit that a pool or a host may have. */
const size = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 3000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3001, max: 12_000 }) }
)
const yields = fc.nat(3)
const wait = fc.constantFrom(0, 2, Infinity)

/** What programs may do besides taking memory. */
const others = {
  all: fc.record({ do: fc.constant("all" as const), sizes: fc.array(size, { maxLength: 3 }), wait, yields }),
  limit: fc.record({
    do: fc.constantFrom("limit" as const, "trim" as const),
    bytes: fc.integer({ min: 500, max: 9000 })
  }),
  refuse: fc.record({ do: fc.constant("refuse" as const), nth: fc.integer({ min: 1, max: 3 }) }),
  sleep: fc.record({ do: fc.constant("sleep" as const), millis: fc.nat(2) }),
  lose: fc.record({ do: fc.constant("lose" as const) }),
  hold: fc.record({ do: fc.constantFrom("stop" as const, "resume" as const, "free" as const) })
}

/** What programs may do around other steps. */
type Around = Extract<FiberStep, { readonly steps: unknown }>["do"]

/** Programs of up to four fibers. */
export const programs = (
  around: ReadonlyArray<Around>,
  besides: ReadonlyArray<keyof typeof others>
): fc.Arbitrary<ReadonlyArray<ReadonlyArray<FiberStep>>> => {
  const { steps } = fc.letrec<{ step: FiberStep; inner: ReadonlyArray<FiberStep>; steps: ReadonlyArray<FiberStep> }>(
    (tie) => ({
      step: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        {
          weight: 6,
          arbitrary: fc.record({ do: fc.constantFrom("use" as const, "scoped" as const), size, wait, yields })
        },
        ...around.map((kind) => ({
          weight: 1,
          arbitrary: fc.record({ do: fc.constant(kind), size, wait, yields, steps: tie("inner") })
        })),
        ...besides.map((kind) => ({ weight: 1, arbitrary: others[kind] as fc.Arbitrary<FiberStep> }))
      ),
      inner: fc.array(tie("step"), { maxLength: 3 }),
      steps: fc.array(tie("step"), { maxLength: 10 })
    })
  )
  return fc.array(steps, { minLength: 1, maxLength: 4 })
}

/**
 * Programs whose requests are up to 3,000 bytes each: nearly every one evicts, and many are interrupted while freed
 * memory is not available yet.
 */
export const crowds: fc.Arbitrary<ReadonlyArray<ReadonlyArray<FiberStep>>> = (() => {
  const use = fc.record({
    do: fc.constantFrom("use" as const, "scoped" as const),
    size: fc.integer({ min: 1000, max: 3000 }),
    wait: fc.constantFrom(0, 2, Infinity, Infinity),
    yields
  })
  const interrupted = fc.record({
    do: fc.constant("interrupted" as const),
    size: fc.constant(0),
    wait: fc.constant(0),
    yields,
    steps: fc.array(use, { minLength: 1, maxLength: 2 })
  })
  const step = fc.oneof<Array<fc.MaybeWeightedArbitrary<FiberStep>>>(
    { weight: 2, arbitrary: use },
    { weight: 3, arbitrary: interrupted },
    { weight: 1, arbitrary: fc.constant({ do: "free" }) }
  )
  return fc.array(fc.array(step, { minLength: 2, maxLength: 8 }), { minLength: 2, maxLength: 4 })
})()

/**
 * The number of steps after which a fiber yields, 2,048 by default: most here are so few that it yields in the middle
 * of a request.
 */
export const paces = fc.constantFrom(2048, 3, 4, 5, 7, 9, 13)

/** Blocks, and slabs of few units, so that the leases of a program share some. */
export const strategies = fc.constantFrom(
  undefined,
  PoolStrategy.arena({ unitBytes: 16, slabBytes: 64 }),
  PoolStrategy.arena({ unitBytes: 16, slabBytes: 256, growth: 0.5 })
)

export const pools = fc.record({
  strategy: strategies,
  maxBytes: fc.integer({ min: 3000, max: 9000 }),
  maxBypasses: fc.constantFrom(0, 1, 16),
  idleTimeToLive: fc.constantFrom(undefined, 2),
  maxHeldBytes: fc.constantFrom(undefined, Infinity, 3000)
})

/** Host devices with a largest buffer size that some requests exceed. */
export const hosts: fc.Arbitrary<Host.HostOptions> = fc.record({
  maxBufferSize: fc.constantFrom(undefined, undefined, undefined, undefined, 1200, 2500),
  granularity: fc.constantFrom(undefined, undefined, 256)
})

const waiting = (wait: number) =>
  wait === 0 ? { onExhausted: "fail" as const } : wait === Infinity
    ? { onExhausted: "wait" as const }
    : { waitAtMost: wait }

const yieldTimes = (times: number) => Effect.replicateEffect(Effect.yieldNow, times, { discard: true })

/** While other steps run, a handler ends leases one by one, until none is left: then it frees nothing, or dies. */
const withHandler = (
  { size, yields }: Extract<FiberStep, { readonly steps: unknown }>,
  pool: BufferPool.BufferPool["Service"],
  steps: Effect.Effect<unknown, unknown>,
  last: Effect.Effect<boolean>
): Effect.Effect<unknown, unknown> =>
  Effect.scoped(Effect.gen(function*() {
    const leases: Array<Lease.Lease> = []
    for (const part of [2, 3]) {
      const exit = yield* Effect.exit(pool.allocate(Math.ceil(size / part)))
      if (Exit.isSuccess(exit)) leases.push(exit.value)
    }
    yield* pool.onOutOfMemory(() => {
      const lease = leases.shift()
      return Effect.andThen(yieldTimes(yields), lease === undefined ? last : Effect.as(Lease.release(lease), true))
    })
    yield* yieldTimes(yields)
    yield* steps
  }))

const perform = (
  step: FiberStep,
  pool: BufferPool.BufferPool["Service"],
  faults: Host.Faults
): Effect.Effect<unknown, unknown> => {
  const all = (steps: ReadonlyArray<FiberStep>, within = pool) =>
    Effect.forEach(steps, (inner) => Effect.exit(perform(inner, within, faults)), { discard: true })
  switch (step.do) {
    case "use":
      return pool.use(step.size, () => yieldTimes(step.yields), waiting(step.wait))
    case "scoped":
      return Effect.scoped(Effect.andThen(pool.allocate(step.size, waiting(step.wait)), yieldTimes(step.yields)))
    case "nested":
      return pool.use(step.size, () => Effect.andThen(yieldTimes(step.yields), all(step.steps)), waiting(step.wait))
    case "reserve":
      return pool.reserve(
        step.size,
        (inner) => Effect.andThen(yieldTimes(step.yields), all(step.steps, inner)),
        waiting(step.wait)
      )
    case "exclusively":
      return pool.exclusively(Effect.andThen(yieldTimes(step.yields), all(step.steps)))
    case "budget":
      return Effect.flatMap(
        pool.budget(step.size, { ...waiting(step.wait), label: "part" }),
        (inner) => all(step.steps, inner)
      )
    case "all":
      return pool.useAll(step.sizes, () => yieldTimes(step.yields), waiting(step.wait))
    case "interrupted":
      return Effect.flatMap(
        Effect.forkChild(all(step.steps), { startImmediately: true }),
        (fiber) => Effect.andThen(yieldTimes(step.yields), Fiber.interrupt(fiber))
      )
    case "handler":
      return withHandler(step, pool, all(step.steps), Effect.succeed(false))
    case "failing":
      return withHandler(step, pool, all(step.steps), Effect.die("failed"))
    case "limit":
      return pool.setLimit(step.bytes)
    case "trim":
      return pool.trimTo(step.bytes)
    case "refuse":
      return Effect.sync(() => faults.failAllocations({ nth: faults.allocations + step.nth }))
    case "sleep":
      return Effect.sleep(step.millis)
    case "lose":
      return Effect.sync(() => faults.lose())
    case "stop":
      return pool.stopHolding
    case "resume":
      return pool.resumeHolding
    case "free":
      return pool.freeHeld
  }
}

/** Records a program of several fibers, whose pool may close after so many yields, whatever they do then. */
export const recordedFibers = (
  fibers: ReadonlyArray<ReadonlyArray<FiberStep>>,
  options: BufferPool.BufferPoolOptions,
  host: Host.HostOptions = {},
  pace: number = 2048,
  closesAfter?: number
): Effect.Effect<Recording.Recording, unknown> =>
  Effect.suspend(() => {
    const faults = Host.makeFaults()
    const program = Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const run = (steps: ReadonlyArray<FiberStep>) =>
        Effect.forEach(steps, (step) => Effect.exit(perform(step, pool, faults)), { discard: true })
      const all = Effect.forEach(fibers, run, { concurrency: "unbounded", discard: true })
      if (closesAfter === undefined) return yield* all
      yield* Effect.forkDetach(all, { startImmediately: true })
      yield* yieldTimes(closesAfter)
    }).pipe(CallSite.track)
    const gpu = BufferPool.layer(options).pipe(Layer.provideMerge(Host.layer({ ...host, faults })))
    return Effect.andThen(Effect.exit(Effect.provide(program, gpu, { local: true })), Recording.snapshot).pipe(
      Effect.provide(Recording.layer({ capacity: 20_000 }).pipe(Layer.provideMerge(PoolEvents.layer)), { local: true }),
      Effect.provideService(Scheduler.MaxOpsBeforeYield, pace)
    )
  })
