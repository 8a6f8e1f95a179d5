/** Spans around slow operations: their names, their attributes, and that each one ends. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { Schedules } from "effect-schedules"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import * as fc from "fast-check"
import { Host } from "../../src/host.ts"
import {
  BufferPool,
  CallSite,
  CommandQueue,
  GpuError,
  Kernel,
  KernelArgument,
  Reconnecting,
  SizePolicy
} from "../../src/index.ts"
import { runs } from "../support/explore.ts"
import { stepsTaken } from "../support/stepsTaken.ts"

/** The spans that one tracer was called with. */
class Told {
  readonly spans: Array<Tracer.NativeSpan> = []
  readonly tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      this.spans.push(span)
      return span
    }
  })

  /** How each span has ended. */
  get ends(): ReadonlyArray<string> {
    return this.spans.map(({ name, status }) => `${name}: ${status._tag === "Ended" ? status.exit._tag : status._tag}`)
  }

  /** The spans that failed, each with its error. */
  get failures(): ReadonlyArray<{ readonly name: string; readonly error: GpuError.GpuError | undefined }> {
    return this.spans.flatMap(({ name, status }) =>
      status._tag === "Ended" && Exit.isFailure(status.exit)
        ? [{
          name,
          error: Option.getOrUndefined(Option.filter(Cause.findErrorOption(status.exit.cause), GpuError.isGpuError))
        }]
        : []
    )
  }

  /** Runs an effect with spans. */
  readonly around = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withTracer(effect, this.tracer)
}

const gpu = (pool: BufferPool.BufferPoolOptions = {}, host: Host.HostOptions = {}) =>
  BufferPool.layer({ label: "tested", sizePolicy: SizePolicy.exact, ...pool }).pipe(
    Layer.provideMerge(Host.layer(host))
  )

const lease = (size: number) => BufferPool.use(size, () => Effect.void)

const use = (size: number, options: BufferPool.PoolAllocateOptions) => BufferPool.use(size, () => Effect.void, options)

const attributesOf = (span: Tracer.NativeSpan | undefined) => Object.fromEntries(span?.attributes ?? [])

const double = Kernel.make({
  name: "double",
  args: [KernelArgument.VectorArg("f32", "x")],
  body: {
    host: (from, to, { x }) => {
      for (let i = from; i < to; i++) x[i] = 2 * x[i]!
    }
  }
})

describe("a span", () => {
  it.effect("is around a miss, and none around a hit", () =>
    Effect.gen(function*() {
      const told = new Told()
      const job = Effect.suspend(() => BufferPool.use(60, () => Effect.void, { label: "frame" }))
      yield* told.around(Effect.withSpan(CallSite.track(Effect.andThen(job, job)), "request"))
      const [request, miss, ...others] = told.spans
      strictEqual(others.length, 0)
      const { "gpu.request.call_site": callSite, ...attributes } = attributesOf(miss)
      deepStrictEqual(attributes, {
        "gpu.device": "host process memory",
        "gpu.memory.label": "tested",
        "gpu.pool.service": "BufferPool",
        "gpu.operation": "BufferPool.allocate",
        "gpu.request.size": 60,
        "gpu.request.label": "frame",
        "gpu.block.size": 60
      })
      assert.match(String(callSite), /Spans\.test/)
      strictEqual(miss?.name, "gpu.pool.miss")
      strictEqual(Option.getOrUndefined(miss!.parent), request)
    }).pipe(Effect.provide(gpu())))

  it.effect("has a refusal, and what the pool tries then", () => {
    const told = new Told()
    return Effect.gen(function*() {
      yield* lease(200)
      yield* told.around(Effect.withSpan(lease(100), "request"))
      deepStrictEqual(told.ends.slice(1), [
        "gpu.pool.miss: Failure",
        "gpu.pool.miss: Failure",
        "gpu.pool.miss: Success"
      ])
    }).pipe(Effect.provide(gpu({}, { capacityBytes: 256, maxBufferSize: 512 })))
  })

  it.effect("is around each wait, for memory, for a budget and for a reservation", () =>
    Effect.gen(function*() {
      const told = new Told()
      const scope = yield* Scope.make()
      yield* Scope.provide(BufferPool.allocate(64), scope)
      const waiting = yield* Effect.forkChild(told.around(lease(64)), { startImmediately: true })
      const late = yield* Effect.forkChild(
        Effect.exit(told.around(BufferPool.use(32, () => Effect.void, { waitAtMost: "1 second" }))),
        { startImmediately: true }
      )
      const reserving = yield* Effect.forkChild(told.around(BufferPool.reserve(Effect.void, 64)), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      strictEqual(Exit.isFailure(yield* Fiber.join(late)), true)
      deepStrictEqual(told.ends, ["gpu.pool.wait: Started", "gpu.pool.wait: Failure", "gpu.pool.wait: Started"])
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(waiting)
      yield* Fiber.join(reserving)
      deepStrictEqual(told.ends, ["gpu.pool.wait: Success", "gpu.pool.wait: Failure", "gpu.pool.wait: Success"])
      const [first, second, third] = told.spans
      deepStrictEqual([first, second, third].map((span) => attributesOf(span)["gpu.operation"]), [
        "BufferPool.allocate",
        "BufferPool.allocate",
        "BufferPool.reserve"
      ])
      deepStrictEqual(second!.status._tag === "Ended" && second!.status.endTime - second!.startTime, 1_000_000_000n)
      const inBudget = BufferPool.withBudget(
        Effect.gen(function*() {
          const pool = yield* BufferPool.BufferPool
          const one = yield* Scope.make()
          yield* Scope.provide(pool.allocate(8), one)
          const two = yield* Effect.forkChild(told.around(pool.use(8, () => Effect.void)), { startImmediately: true })
          yield* Scope.close(one, Exit.void)
          yield* Fiber.join(two)
        }),
        8,
        { label: "tenant" }
      )
      yield* inBudget
      deepStrictEqual(attributesOf(told.spans.at(-1))["gpu.budget.label"], "tenant")
    }).pipe(Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity }))))

  it.effect("fails with the error of a request that waited too long, or was refused at once", () =>
    Effect.gen(function*() {
      const told = new Told()
      yield* BufferPool.allocate(64)
      const refused = (effect: Effect.Effect<unknown, GpuError.GpuError, BufferPool.BufferPool>) =>
        Effect.forkChild(Effect.flip(told.around(effect)), { startImmediately: true })
      const fibers = [
        yield* refused(use(8, { waitAtMost: "1 second" })),
        yield* refused(use(8, { waitAtMost: 0 })),
        yield* refused(BufferPool.reserve(Effect.void, 8, { waitAtMost: "1 second" })),
        yield* refused(BufferPool.useAll([8, 8], () => Effect.void, { waitAtMost: "1 second" })),
        yield* refused(use(8, { onExhausted: "fail" })),
        yield* refused(BufferPool.withBudget(use(8, {}), 4)),
        yield* refused(use(65, {}))
      ]
      yield* TestClock.adjust("1 second")
      const errors = yield* Effect.forEach(fibers, Fiber.join)
      deepStrictEqual(told.failures.map(({ name }) => name), [
        "gpu.pool.wait",
        "gpu.pool.wait",
        "gpu.pool.wait",
        "gpu.pool.wait",
        "gpu.pool.refused",
        "gpu.pool.refused",
        "gpu.pool.refused"
      ])
      deepStrictEqual(errors.map(({ reason }) => reason._tag), [
        "OutOfMemory",
        "OutOfMemory",
        "OutOfMemory",
        "OutOfMemory",
        "OutOfMemory",
        "LimitExceeded",
        "LimitExceeded"
      ])
      told.failures.forEach(({ error }, at) => strictEqual(error, errors[at]))
    }).pipe(Effect.scoped, Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity }))))

  it.effect("is around compilations and reads", () =>
    Effect.gen(function*() {
      const told = new Told()
      yield* told.around(Effect.scoped(Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        yield* CommandQueue.write(x, new Float32Array(16).fill(3))
        yield* CommandQueue.dispatch(double, { x }, 16)
        yield* CommandQueue.dispatch(double, { x }, 16)
        strictEqual((yield* CommandQueue.read(x, Float32Array, { length: 2 }))[1], 12)
      })))
      deepStrictEqual(told.ends, ["gpu.pool.miss: Success", "gpu.kernel.compile: Success", "gpu.read: Success"])
      const [, compile, read] = told.spans
      deepStrictEqual(attributesOf(compile), { "gpu.device": "host process memory", "gpu.kernel.name": "double" })
      deepStrictEqual(attributesOf(read), { "gpu.operation": "CommandQueue.read", "gpu.read.size": 8 })
    }).pipe(Effect.provide(gpu())))

  it.effect("is around each opening of a device, with its name, and around what opens it again", () => {
    const told = new Told()
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      yield* told.around(Effect.scoped(Effect.flatMap(Layer.build(Host.layer()), () => Effect.void)))
      faults.failOpenings({ why: "unplugged" })
      yield* Effect.flip(told.around(Effect.scoped(Layer.build(Host.layer({ faults })))))
      deepStrictEqual(told.ends, ["Host.open: Success", "Host.open: Failure"])
      strictEqual(attributesOf(told.spans[0])["gpu.device"], "host process memory")
      const again = Reconnecting.layer(Host.layer())
      yield* Effect.provide(Reconnecting.provide(lease(64)), again).pipe(told.around)
      const [opening, host] = told.spans.slice(2)
      strictEqual(opening?.name, "Reconnecting.open")
      strictEqual(Option.getOrUndefined(host!.parent), opening)
    })
  })

  it.effect("is made for no tracer, and where tracing is off", () =>
    Effect.gen(function*() {
      const told = new Told()
      yield* lease(8)
      yield* Effect.withTracerEnabled(told.around(lease(32)), false)
      deepStrictEqual(told.ends, [])
    }).pipe(Effect.provide(gpu())))

  it.effect("ends, wherever a request, a wait or a read is interrupted", () =>
    Effect.gen(function*() {
      const names = new Set<string>()
      const program = Effect.gen(function*() {
        const told = new Told()
        const reading = BufferPool.use(64, (x) => CommandQueue.read(x, Uint8Array))
        const job = Effect.all([reading, lease(64)], { concurrency: 2 })
        const around = Effect.provide(told.around(job), gpu({ maxBytes: 64, onExhausted: "wait" }, { latency: 1 }))
        const fiber = yield* Effect.forkChild(around, { startImmediately: true })
        yield* Effect.sleep(1)
        yield* Fiber.interrupt(fiber)
        for (const { name, status } of told.spans) {
          names.add(name)
          strictEqual(status._tag, "Ended", name)
        }
      })
      const { schedules } = yield* Schedules.explore(program, { deviations: 1 })
      assert.isAbove(schedules, 100)
      deepStrictEqual([...names].sort(), ["gpu.pool.miss", "gpu.pool.wait", "gpu.read"])
    }))
})

type Tested = Effect.Effect<unknown, GpuError.GpuError, BufferPool.BufferPool>

/** What one fiber of a random program does. */
interface Job {
  readonly kind: "use" | "useAll" | "reserve" | "budget"
  readonly size: number
  readonly startsAt: number
  readonly lasts: number
  readonly onExhausted: "fail" | "wait"
  readonly waitAtMost: number
  readonly isInterrupted: boolean
}

const job = fc.record<Job>({
  kind: fc.constantFrom("use", "use", "useAll", "reserve", "budget"),
  size: fc.integer({ min: 1, max: 80 }),
  startsAt: fc.integer({ min: 0, max: 20 }),
  lasts: fc.integer({ min: 0, max: 20 }),
  onExhausted: fc.constantFrom("fail", "wait", "wait"),
  waitAtMost: fc.integer({ min: 0, max: 20 }),
  isInterrupted: fc.boolean()
})

const requestOf = ({ kind, lasts, onExhausted, size, waitAtMost }: Job): Tested => {
  const options = { onExhausted, waitAtMost }
  const body = Effect.sleep(lasts)
  switch (kind) {
    case "use":
      return BufferPool.use(size, () => body, options)
    case "useAll":
      return BufferPool.useAll([size, 8], () => body, options)
    case "reserve":
      return BufferPool.reserve(body, size, options)
    case "budget":
      return BufferPool.withBudget(
        Effect.all([BufferPool.use(size, () => body, options), BufferPool.use(8, () => body, options)], {
          concurrency: 2,
          discard: true
        }),
        40
      )
  }
}

const isRefusal = (error: GpuError.GpuError): boolean => ["OutOfMemory", "LimitExceeded"].includes(error.reason._tag)

describe("the spans of a random program", () => {
  it.effect("have, for each request that got no memory, one that failed with its error", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(job, { minLength: 1, maxLength: 12 }), fc.boolean(), async (jobs, isLate) => {
          const told = new Told()
          const errors: Array<GpuError.GpuError> = []
          const program = Effect.gen(function*() {
            const fibers = jobs.map((one) =>
              told.around(requestOf(one)).pipe(
                Effect.catch((error) => Effect.sync(() => void errors.push(error))),
                Effect.delay(one.startsAt),
                one.isInterrupted ? Effect.timeoutOption(30) : (effect) => effect
              )
            )
            const all = yield* Effect.forkChild(Effect.all(fibers, { concurrency: "unbounded" }))
            yield* TestClock.adjust(1000)
            yield* Fiber.join(all)
          })
          const host = isLate ? { capacityBytes: 100, lateFree: true } : {}
          await program.pipe(
            Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait", deadlockTimeout: 5 }, host)),
            Effect.provide(TestClock.layer()),
            Effect.runPromise
          )
          const refusals = errors.filter(isRefusal)
          const failed = told.failures.filter(({ name }) => name !== "gpu.pool.miss")
          for (const error of refusals) {
            strictEqual(failed.filter((span) => span.error === error).length, 1, error.message)
          }
          // If one effect makes several requests, the others may have failed too.
          if (jobs.every(({ kind }) => kind === "use" || kind === "reserve")) {
            strictEqual(failed.filter(({ error }) => error !== undefined).length, refusals.length)
          }
        }),
        { numRuns: runs(300) }
      )
    ))
})

describe("a hit", () => {
  it("takes exactly as many steps in a program with spans as in others", async () => {
    const steps = await Effect.runPromise(
      Effect.gen(function*() {
        const told = new Told()
        const context = yield* Effect.context<BufferPool.BufferPool>()
        const hits = (around: Told["around"]): number =>
          stepsTaken("/src/services/", () => Effect.runSync(Effect.provide(around(lease(64)), context)))
        yield* lease(64)
        // The engine may count an earlier call, more often on a busy machine.
        const least = (around: Told["around"]): number => Math.min(...Array.from({ length: 8 }, () => hits(around)))
        return { with: least(told.around), without: least((effect) => effect), spans: told.ends }
      }).pipe(Effect.provide(gpu()))
    )
    assert.isAbove(steps.without, 0)
    strictEqual(steps.with, steps.without)
    deepStrictEqual(steps.spans, [])
  })
})
