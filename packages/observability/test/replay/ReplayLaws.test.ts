/** A replay under the recorded policy repeats the recording, event by event. */
import { assert, describe, it } from "@effect/vitest"
import * as Allocator from "effect-gpu-pool/Allocator"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as DeviceMemory from "effect-gpu-pool/DeviceMemory"
import * as EvictionPolicy from "effect-gpu-pool/EvictionPolicy"
import { Host } from "effect-gpu-pool/host"
import * as ImageFormat from "effect-gpu-pool/ImageFormat"
import * as ImagePool from "effect-gpu-pool/ImagePool"
import * as ImageShape from "effect-gpu-pool/ImageShape"
import * as LimitingAllocator from "effect-gpu-pool/LimitingAllocator"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { exactly } from "./exactly.ts"
import { hosts, pools, programs, recordedFibers, strategies } from "./fibers.ts"

/** How many random programs of each kind. */
const replays = runs(200)

type Step =
  | {
    readonly do: "allocate"
    readonly size: number
    readonly wait: number
    readonly usage: number
    readonly in: number
  }
  | { readonly do: "release"; readonly which: number }
  | { readonly do: "interrupt"; readonly which: number }
  | { readonly do: "trim" | "limit" | "budgetLimit"; readonly bytes: number }
  | { readonly do: "free" | "stop" | "resume" }
  | { readonly do: "refuse"; readonly nth: number }
  | { readonly do: "slow" | "pass"; readonly millis: number }
  | { readonly do: "reserve"; readonly size: number; readonly wait: number; readonly sizes: ReadonlyArray<number> }
  | { readonly do: "all"; readonly sizes: ReadonlyArray<number>; readonly wait: number }

/** Few are larger than a limit of the pool, of a budget or of the device. */
const size = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 301, max: 1500 }) }
)
const wait = fc.constantFrom(0, 0, 70, 1000, Infinity)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("allocate" as const),
      size,
      wait,
      usage: fc.constantFrom(BufferUsage.defaultUsage, BufferUsage.copyDst),
      in: fc.nat(2)
    })
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("interrupt" as const), which: fc.nat(50) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("trim" as const, "limit" as const, "budgetLimit" as const),
      bytes: fc.integer({ min: 1, max: 1200 })
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("free" as const, "stop" as const, "resume" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse" as const), nth: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("slow" as const, "pass" as const),
      millis: fc.constantFrom(0, 7, 31, 113)
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("reserve" as const), size, wait, sizes: fc.array(size, { maxLength: 3 }) })
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("all" as const), wait, sizes: fc.array(size, { maxLength: 3 }) })
  }
)

interface Job {
  readonly scope: Scope.Closeable
  readonly fiber: Fiber.Fiber<unknown, unknown>
}

const interrupted = ({ fiber }: Job) => Effect.forkDetach(Fiber.interrupt(fiber), { startImmediately: true })

/** The jobs of a program, each on a fiber and in a scope of its own. */
class Jobs {
  readonly #all: Array<Job> = []

  start(effect: Effect.Effect<unknown, unknown, Scope.Scope>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const scope = yield* Scope.make()
      const fiber = yield* Effect.forkDetach(Scope.provide(effect, scope), { startImmediately: true })
      this.#all.push({ scope, fiber })
    })
  }

  /** Interrupts a job, if there is one of that number. */
  interrupt(which: number): Effect.Effect<void> {
    const job = this.#all[which % (this.#all.length + 1)]
    return job === undefined ? Effect.void : Effect.asVoid(interrupted(job))
  }

  /** Interrupts it, and closes its scope. */
  end(which: number): Effect.Effect<void> {
    const [job] = this.#all.splice(which % (this.#all.length + 1), 1)
    return job === undefined ? Effect.void : Effect.andThen(interrupted(job), Scope.close(job.scope, Exit.void))
  }

  /** Ends all. */
  get endAll(): Effect.Effect<void> {
    return Effect.whileLoop({ while: () => this.#all.length > 0, body: () => this.end(0), step: () => {} })
  }

  /** Closes the scopes of all. */
  get close(): Effect.Effect<void> {
    return Effect.forEach(this.#all, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  }
}

/** What a request does when nothing fits. */
const waiting = (wait: number) =>
  wait === 0 ? { onExhausted: "fail" as const } : wait === Infinity
    ? { onExhausted: "wait" as const }
    : { waitAtMost: wait }

/** What a program does, step by step. */
const perform = (steps: ReadonlyArray<Step>, faults: Host.Faults) =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    const budget = yield* pool.budget(600, { label: "tenant" })
    const inner = yield* budget.budget(400, { label: "part" })
    const pools = [pool, budget, inner]
    const jobs = new Jobs()
    for (const [index, step] of steps.entries()) {
      if (step.do === "allocate") {
        yield* jobs.start(pools[step.in]!.allocate(step.size, {
          usage: step.usage,
          label: `step ${index}`,
          ...waiting(step.wait)
        }))
      } else if (step.do === "release") yield* jobs.end(step.which)
      else if (step.do === "interrupt") yield* jobs.interrupt(step.which)
      else if (step.do === "trim") yield* pool.trimTo(step.bytes)
      else if (step.do === "limit") yield* pool.setLimit(step.bytes)
      else if (step.do === "budgetLimit") yield* budget.setLimit(step.bytes)
      else if (step.do === "free") yield* pool.freeHeld
      else if (step.do === "stop") yield* pool.stopHolding
      else if (step.do === "resume") yield* pool.resumeHolding
      else if (step.do === "refuse") faults.failAllocations({ nth: faults.allocations + step.nth })
      else if (step.do === "slow") faults.delay({ allocations: step.millis })
      else if (step.do === "pass") yield* TestClock.adjust(step.millis)
      else if (step.do === "reserve") {
        yield* jobs.start(
          budget.reserve(
            step.size,
            (reserved) =>
              Effect.andThen(
                Effect.forEach(step.sizes, (size) => Effect.exit(reserved.allocate(size)), { discard: true }),
                Effect.never
              ),
            waiting(step.wait)
          )
        )
      } else if (step.do === "all") {
        const labels = step.sizes.map((size) => size % 2 === 0 ? `of ${size} bytes` : undefined)
        yield* jobs.start(pool.allocateAll(step.sizes, { ...waiting(step.wait), labels }))
      }
      // The events of this step are handled before the next one.
      yield* Effect.yieldNow
    }
    yield* jobs.endAll
    yield* TestClock.adjust(1000)
  })

const options = fc.record({
  maxHeldBytes: fc.constantFrom(undefined, Infinity, 300),
  clear: fc.constantFrom("never" as const, "acquire" as const),
  sizePolicy: fc.constantFrom(SizePolicy.exact, SizePolicy.defaultPolicy, { ...SizePolicy.exact, borrow: 1 }),
  eviction: fc.constantFrom(
    EvictionPolicy.byNeed,
    EvictionPolicy.largestFirst,
    EvictionPolicy.oldestFirst,
    EvictionPolicy.leastRecentlyUsed
  ),
  maxBypasses: fc.constantFrom(0, 1, 16),
  idleTimeToLive: fc.constantFrom(undefined, 400),
  strategy: strategies
})

/** Options of a replay that differ from the recording's. */
const others = fc.record({
  maxBytes: fc.constantFrom(undefined, 1000, 2500, 9000),
  maxHeldBytes: fc.constantFrom(undefined, 2000),
  eviction: fc.constantFrom(undefined, EvictionPolicy.largestFirst, EvictionPolicy.leastRecentlyUsed),
  maxBypasses: fc.constantFrom(undefined, 0, 2),
  idleTimeToLive: fc.constantFrom(undefined, 1),
  strategy: strategies,
  sizePolicy: fc.constantFrom(
    undefined,
    SizePolicy.exact,
    { ...SizePolicy.exact, borrow: 1 },
    SizePolicy.sizeClasses(2)
  )
})

/** Records a program on a clock of its own. */
const recordedOn = <A, E>(program: Effect.Effect<A, E>) =>
  Effect.andThen(program, Recording.snapshot).pipe(
    Effect.provide(Recording.layer({ capacity: 10_000 }).pipe(Layer.provideMerge(PoolEvents.layer))),
    Effect.provide(TestClock.layer())
  )

const recorded = <A, E>(
  program: (faults: Host.Faults) => Effect.Effect<A, E, BufferPool.BufferPool | CommandQueue.CommandQueue>,
  pool: BufferPool.BufferPoolOptions,
  host: Host.HostOptions = {}
) =>
  Effect.suspend(() => {
    const faults = Host.makeFaults()
    const gpu = BufferPool.layer({ label: "tested", deadlockTimeout: Infinity, ...pool }).pipe(
      Layer.provideMerge(Host.layer({ ...host, faults }))
    )
    return recordedOn(Effect.provide(program(faults), gpu))
  })

/** The same for two pools of buffers and one of images that share a memory, or for one of them alone. */
const sharing = (steps: ReadonlyArray<SharedStep>, close: boolean) =>
  Effect.gen(function*() {
    const memory = yield* DeviceMemory.DeviceMemory
    const one = yield* Effect.provide(BufferPool.BufferPool, yield* openPool("one", 500))
    const otherScope = yield* Scope.make()
    const other = yield* Effect.provide(
      BufferPool.BufferPool,
      yield* Scope.provide(openPool("other", undefined), otherScope)
    )
    const images = yield* ImagePool.ImagePool
    const jobs = new Jobs()
    for (const step of steps) {
      if (step.do === "lease") {
        const options = step.wait === 0 ? {} : { waitAtMost: step.wait }
        const leased: Effect.Effect<unknown, unknown, Scope.Scope> = step.of === 2
          ? images.allocate(ImageShape.image2d(step.size % 12 + 1, 4), ImageFormat.rgba8, options)
          : [one, other][step.of]!.allocate(step.size, options)
        yield* jobs.start(leased)
      } else if (step.do === "end") yield* jobs.end(step.which)
      else if (step.do === "trim") yield* memory.trimTo(step.bytes)
      else if (step.do === "limit") yield* [one, other, memory][step.of]!.setLimit(step.bytes)
      else yield* TestClock.adjust(step.millis)
      yield* Effect.yieldNow
    }
    if (close) yield* Scope.close(otherScope, Exit.void)
    yield* jobs.close
    yield* TestClock.adjust(1000)
  })

/**
 * The same for two pools over one limited allocator: each has a memory of its own, which the other's allocations
 * restrict.
 */
const underOneLimit = (
  steps: ReadonlyArray<SharedStep>,
  all: boolean,
  strategy: BufferPool.BufferPoolOptions["strategy"]
) =>
  Effect.gen(function*() {
    const options = { sizePolicy: SizePolicy.exact, deadlockTimeout: Infinity, maxHeldBytes: 400, strategy }
    const pools = [
      yield* BufferPool.make({ label: "one", ...options }),
      yield* BufferPool.make({ label: "other", ...options })
    ]
    const jobs = new Jobs()
    for (const step of steps) {
      const pool = pools["of" in step ? step.of % 2 : 0]!
      if (step.do === "lease") {
        const options = waiting(step.wait)
        const leased: Effect.Effect<unknown, unknown, Scope.Scope> = all && step.of === 2
          ? pool.allocateAll([step.size, 40], options)
          : pool.allocate(step.size, options)
        yield* jobs.start(leased)
      } else if (step.do === "end") yield* jobs.end(step.which)
      else if (step.do === "trim") yield* pools[step.bytes % 2]!.trimTo(step.bytes)
      else if (step.do === "limit") yield* pool.setLimit(step.bytes)
      else yield* TestClock.adjust(step.millis)
      yield* Effect.yieldNow
    }
    yield* jobs.close
    yield* TestClock.adjust(1000)
  })

type QueueStep =
  | { readonly do: "lease"; readonly on: number; readonly size: number; readonly wait: number }
  | { readonly do: "end"; readonly which: number }
  | { readonly do: "open" | "free" }
  | { readonly do: "close"; readonly on: number }

const queueStep: fc.Arbitrary<QueueStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("lease" as const),
      on: fc.nat(3),
      size,
      wait: fc.constantFrom(0, 70, Infinity)
    })
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("end" as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("open" as const, "free" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close" as const), on: fc.nat(3) }) }
)

/** Further queues open and close meanwhile: a block serves only requests that may use it at once. */
const onQueues = (steps: ReadonlyArray<QueueStep>) =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    const queues: Array<{ readonly queue: CommandQueue.CommandQueue["Service"]; readonly scope: Scope.Closeable }> = []
    const jobs = new Jobs()
    for (const step of steps) {
      if (step.do === "lease") {
        const leased = pool.allocate(step.size, waiting(step.wait))
        const on = queues[step.on]
        yield* jobs.start(on === undefined ? leased : CommandQueue.on(leased, on.queue))
      } else if (step.do === "end") yield* jobs.end(step.which)
      else if (step.do === "open") {
        const scope = yield* Scope.make()
        queues.push({ scope, queue: yield* Scope.provide(CommandQueue.make(), scope) })
      } else if (step.do === "close") {
        const [closed] = queues.splice(step.on, 1)
        if (closed !== undefined) yield* Scope.close(closed.scope, Exit.void)
      } else yield* pool.freeHeld
      yield* Effect.yieldNow
    }
    yield* jobs.close
    yield* Effect.forEach(queues, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  })

const openPool = (label: string, maxBytes: number | undefined) =>
  Layer.build(Layer.fresh(BufferPool.layerShared({ label, maxBytes, sizePolicy: SizePolicy.exact })))

type SharedStep =
  | { readonly do: "lease"; readonly of: number; readonly size: number; readonly wait: number }
  | { readonly do: "end"; readonly which: number }
  | { readonly do: "trim"; readonly bytes: number }
  | { readonly do: "limit"; readonly of: number; readonly bytes: number }
  | { readonly do: "pass"; readonly millis: number }

const capacities = fc.constantFrom(undefined, 500, 300)

const sharedStep: fc.Arbitrary<SharedStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("lease" as const), of: fc.nat(2), size, wait: fc.constantFrom(0, 70, 1000) })
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("end" as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("trim" as const), bytes: fc.nat(1000) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("limit" as const), of: fc.nat(2), bytes: fc.integer({ min: 1, max: 1200 }) })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pass" as const), millis: fc.constantFrom(7, 113) }) }
)

/** The last request waits for a block that is evicted for it, and its scope closes before the memory is free. */
const closedAsMemoryIsBack: ReadonlyArray<SharedStep> = [
  { do: "lease", of: 0, size: 17, wait: 0 },
  { do: "lease", of: 1, size: 294, wait: 0 },
  { do: "lease", of: 0, size: 16, wait: 0 },
  { do: "lease", of: 1, size: 225, wait: 0 },
  { do: "lease", of: 0, size: 270, wait: 0 },
  { do: "lease", of: 0, size: 179, wait: 70 }
]

const anyProgram = programs(
  ["nested", "reserve", "budget", "exclusively", "interrupted"],
  ["all", "limit", "refuse", "sleep", "hold", "lose"]
)

const handlerPrograms = programs(
  ["nested", "reserve", "budget", "exclusively", "interrupted", "handler", "failing"],
  ["sleep", "refuse", "limit", "all"]
)

describe("a replay under the recorded policy", () => {
  it("does what was recorded, event by event", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), options, hosts, async (steps, pool, host) => {
        const recording = await Effect.runPromise(
          recorded((faults) => perform(steps, faults), { maxBytes: 1000, ...pool }, host)
        )
        exactly(recording)
      }),
      { numRuns: replays }
    ))

  it("does so for pools that share a memory", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(sharedStep, { maxLength: 30 }),
        fc.boolean(),
        strategies,
        async (steps, close, strategy) => {
          const shared = ImagePool.layerShared().pipe(
            Layer.provideMerge(DeviceMemory.layer({ maxBytes: 1000, deadlockTimeout: Infinity, strategy })),
            Layer.provideMerge(Host.layer())
          )
          const recording = await Effect.runPromise(
            recordedOn(Effect.provide(Effect.scoped(sharing(steps, close)), shared))
          )
          exactly(recording)
        }
      ),
      { numRuns: replays, examples: [[[...closedAsMemoryIsBack], false, undefined]] }
    ))

  it("does so for pools under the limit of an allocator", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(sharedStep, { maxLength: 30 }),
        fc.boolean(),
        capacities,
        strategies,
        async (steps, all, capacityBytes, strategy) => {
          const limited = LimitingAllocator.layer({ maxBytes: 700 }).pipe(
            Layer.provide(Allocator.layerImmediate),
            Layer.provideMerge(Host.layer({ capacityBytes }))
          )
          const recording = await Effect.runPromise(
            recordedOn(Effect.provide(Effect.scoped(underOneLimit(steps, all, strategy)), limited))
          )
          exactly(recording)
        }
      ),
      { numRuns: replays }
    ))

  it("does so on a device with several queues, which come and go", () =>
    fc.assert(
      fc.asyncProperty(fc.array(queueStep, { maxLength: 30 }), options, async (steps, pool) => {
        const recording = await Effect.runPromise(recorded(() => onQueues(steps), { maxBytes: 1000, ...pool }))
        exactly(recording)
      }),
      { numRuns: replays }
    ))

  it("does so for fibers that act in one step of the event loop, on the clock of the machine", () =>
    fc.assert(
      fc.asyncProperty(anyProgram, pools, hosts, async (fibers, pool, host) => {
        const recording = await Effect.runPromise(recordedFibers(fibers, { ...pool, deadlockTimeout: 3 }, host))
        exactly(recording)
      }),
      { numRuns: replays }
    ))

  it("does so for handlers of pools and budgets, which come and go, and fail", () =>
    fc.assert(
      fc.asyncProperty(handlerPrograms, pools, async (fibers, pool) => {
        const recording = await Effect.runPromise(recordedFibers(fibers, { ...pool, deadlockTimeout: 3 }))
        exactly(recording)
      }),
      { numRuns: replays }
    ))

  it("does so for them on a clock that stands still meanwhile", () =>
    fc.assert(
      fc.asyncProperty(anyProgram, pools, async (fibers, pool) => {
        const recording = await Effect.runPromise(Effect.provide(
          Effect.gen(function*() {
            const program = yield* Effect.forkChild(recordedFibers(fibers, { ...pool, deadlockTimeout: 3 }))
            while (program.pollUnsafe() === undefined) {
              for (let yields = 0; yields < 20; yields++) yield* Effect.yieldNow
              yield* TestClock.adjust(1)
            }
            return yield* Fiber.join(program)
          }),
          TestClock.layer()
        ))
        exactly(recording)
      }),
      { numRuns: replays }
    ))
})

/** Each of 16 fibers leases two of four blocks, one after the other, and starts again after a deadlock. */
const deadlocked = Effect.gen(function*() {
  const pool = yield* BufferPool.BufferPool
  const job = Effect.scoped(Effect.gen(function*() {
    yield* pool.allocate(256)
    yield* Effect.yieldNow
    yield* pool.allocate(256)
    yield* Effect.yieldNow
  }))
  const jobs = yield* Effect.forkChild(Effect.replicateEffect(Effect.retry(job, { times: 100 }), 16, {
    concurrency: "unbounded",
    discard: true
  }))
  while (jobs.pollUnsafe() === undefined) {
    for (let yields = 0; yields < 100; yields++) yield* Effect.yieldNow
    yield* TestClock.adjust(100)
  }
  yield* Fiber.join(jobs)
})

describe("a replay of jobs that have waited for each other", () => {
  for (const sizePolicy of [SizePolicy.exact, SizePolicy.defaultPolicy]) {
    it(`does what was recorded: ${sizePolicy.borrow > 0 ? "borrowing" : "exact"}`, async () => {
      const options = { maxBytes: 1024, onExhausted: "wait" as const, deadlockTimeout: 100, sizePolicy }
      const recording = await Effect.runPromise(recorded(() => deadlocked, options))
      assert.isAbove(recording.length, 100)
      exactly(recording)
    })
  }
})

describe("the recording of a replay under another policy", () => {
  it("is replayed event by event under the policy that it states", () =>
    fc.assert(
      fc.asyncProperty(anyProgram, pools, hosts, others, async (fibers, pool, host, other) => {
        const recording = await Effect.runPromise(recordedFibers(fibers, { ...pool, deadlockTimeout: 3 }, host))
        const { recording: first } = await Effect.runPromise(Replay.run(recording, other))
        exactly(first)
      }),
      { numRuns: replays }
    ))
})
