import { it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { agree } from "../../packages/testing/src/properties/ExpectData.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import { deviceImage } from "../../src/services/images/ImageLike.ts"
import * as Images from "../../src/services/images/Images.ts"
import type * as PooledImage from "../../src/services/images/PooledImage.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { nextTurn, tagOf } from "../support/hostPool.ts"
import { isConsistent, open, type OpenPool, r8, row, type Services } from "../support/imagePool.ts"
import { ImagePoolModel, type ModelBlock } from "../support/imagePoolModel.ts"

interface Model {
  readonly pool: ImagePoolModel
  /** The model of each live lease, in the order in which they were granted. */
  readonly leases: Array<{ readonly block: ModelBlock; readonly scope: number }>
}

interface Real extends OpenPool {
  readonly scopes: Array<Scope.Closeable>
  /** The real leases, in the model's order. */
  readonly leases: Array<PooledImage.PooledImage>
  /** Leases that have ended. */
  readonly ended: Array<PooledImage.PooledImage>
}

type Command = fc.AsyncCommand<Model, Real>

const scopeCount = 2

const compare = Effect.fnUntraced(function*({ leases, pool: model }: Model, real: Real) {
  const stats = yield* real.pool.stats
  isConsistent(stats, real)
  agree(
    {
      hits: model.hits,
      misses: model.misses,
      driverAllocations: model.allocations,
      driverFrees: model.frees,
      heldBlocks: model.held.length,
      heldBytes: model.heldBytes,
      activeBlocks: leases.length,
      activeBytes: model.activeBytes
    },
    {
      hits: stats.hits,
      misses: stats.misses,
      driverAllocations: stats.driverAllocations,
      driverFrees: stats.driverFrees,
      heldBlocks: stats.heldBlocks,
      heldBytes: stats.heldBytes,
      activeBlocks: stats.activeBlocks,
      activeBytes: stats.activeBytes
    }
  )
  for (const lease of real.leases) strictEqual(Lease.isLive(lease), true)
})

const command = (
  text: string,
  run: (model: Model, real: Real) => Effect.Effect<void, GpuError, Services>,
  check: (model: Readonly<Model>) => boolean = () => true
): Command => ({
  check,
  toString: () => text,
  run: (model, real) =>
    Effect.runPromise(
      Effect.provide(Effect.andThen(Effect.suspend(() => run(model, real)), compare(model, real)), real.context)
    )
})

const sizes = fc.constantFrom(3, 10, 25, 64, 90)
const scopes = fc.nat(scopeCount - 1)

const allocate = fc.tuple(sizes, scopes).map(([size, scope]) =>
  command(`allocate(${size}, ${scope})`, (model, real) =>
    Effect.gen(function*() {
      const expected = model.pool.allocate(size)
      const result = yield* Effect.result(Scope.provide(real.pool.allocate(row(size), r8), real.scopes[scope]!))
      if (typeof expected === "string") {
        strictEqual(Result.isFailure(result) ? result.failure.reason._tag : "a lease", expected)
      } else if (Result.isSuccess(result)) {
        model.leases.push({ block: expected, scope })
        real.leases.push(result.success)
        // Nobody else writes it, however often it is leased.
        yield* Images.fill(result.success, model.leases.length % 256)
      } else {
        throw result.failure
      }
    }))
)

const use = sizes.map((size) =>
  command(`use(${size})`, ({ pool }, real) =>
    Effect.gen(function*() {
      const expected = pool.allocate(size)
      const used = real.pool.use(row(size), r8, (image) => Effect.succeed(image.size))
      if (typeof expected === "string") {
        strictEqual(yield* Effect.orDie(tagOf(used)), expected)
        return
      }
      strictEqual(yield* used, size)
      pool.release(expected)
    }))
)

const end = (model: Model, real: Real, at: number) => {
  const [{ block }] = model.leases.splice(at, 1) as [Model["leases"][number]]
  real.ended.push(...real.leases.splice(at, 1))
  model.pool.release(block)
}

const release = fc.nat().map((pick) =>
  command(
    `release(${pick})`,
    (model, real) => {
      const at = pick % model.leases.length
      return Effect.andThen(Lease.release(real.leases[at]!), Effect.sync(() => end(model, real, at)))
    },
    ({ leases }) => leases.length > 0
  )
)

const closeScope = scopes.map((scope) =>
  command(`closeScope(${scope})`, (model, real) =>
    Effect.gen(function*() {
      yield* Scope.close(real.scopes[scope]!, Exit.void)
      real.scopes[scope] = yield* Scope.make()
      for (let at = model.leases.length - 1; at >= 0; at--) {
        if (model.leases[at]!.scope === scope) end(model, real, at)
      }
    }))
)

const transfer = fc.tuple(fc.nat(), scopes).map(([pick, scope]) =>
  command(
    `transfer(${pick}, ${scope})`,
    (model, real) => {
      const at = pick % model.leases.length
      // It is the last lease of its new scope, so it is the last here too.
      const [moved] = model.leases.splice(at, 1)
      const [lease] = real.leases.splice(at, 1)
      model.leases.push({ ...moved!, scope })
      real.leases.push(lease!)
      return Lease.transfer(lease!, real.scopes[scope]!)
    },
    ({ leases }) => leases.length > 0
  )
)

const useAfterwards = fc.nat().map((pick) =>
  command(`useAfterwards(${pick})`, (_, { ended }) => {
    const lease = ended[pick % Math.max(1, ended.length)]
    if (lease === undefined) return Effect.void
    return Effect.andThen(
      Effect.map(Effect.orDie(tagOf(Images.fill(lease, 1))), (tag) => strictEqual(tag, "Released")),
      Effect.map(Effect.orDie(tagOf(Lease.release(lease))), (tag) => strictEqual(tag, "Released"))
    )
  })
)

const trimTo = fc.nat(200).map((bytes) =>
  command(`trimTo(${bytes})`, ({ pool }, real) => {
    pool.trim(bytes)
    return real.pool.trimTo(bytes)
  })
)

const freeHeld = fc.constant(command("freeHeld", ({ pool }, real) => {
  pool.trim(0)
  return real.pool.freeHeld
}))

const stopHolding = fc.constant(command("stopHolding", ({ pool }, real) => {
  pool.holding = false
  pool.trim(0)
  return real.pool.stopHolding
}))

const resumeHolding = fc.constant(command("resumeHolding", ({ pool }, real) => {
  pool.holding = true
  return real.pool.resumeHolding
}))

/** Interrupts the fiber before its k-th step. */
class InterruptAt extends Scheduler.MixedScheduler {
  constructor(k: number) {
    super()
    this.shouldYield = (fiber) => {
      if (k-- !== 0) return false
      fiber.interruptUnsafe()
      return true
    }
  }
}

const interrupted = fc.tuple(sizes, fc.nat(40), fc.boolean()).map(([size, k, scoped]) =>
  command(`interrupted(${size}, ${k}, ${scoped})`, ({ pool }, real) =>
    Effect.gen(function*() {
      const request = scoped
        ? Effect.scoped(Effect.asVoid(real.pool.allocate(row(size), r8)))
        : real.pool.use(row(size), r8, () => Effect.yieldNow)
      const fiber = Effect.runFork(Effect.provideService(request, Scheduler.Scheduler, new InterruptAt(k)))
      yield* Fiber.await(fiber)
      // A slow driver may still answer.
      yield* Effect.andThen(nextTurn, nextTurn)
      const leased = new Set(real.leases.map(deviceImage))
      const held = [...real.live].filter((image) => !leased.has(image))
      pool.adopt(yield* real.pool.stats, held.map(({ format, shape }) => ImageFormat.imageBytes(format, shape)))
    }))
)

const settings = fc.record({
  maxBytes: fc.constantFrom(80, 150, 300, Infinity),
  capacity: fc.constantFrom(85, 160, 1000),
  lateFree: fc.boolean(),
  slow: fc.boolean(),
  clear: fc.constantFrom<"never" | "acquire">("never", "acquire")
})

const commands = fc.commands(
  [
    allocate,
    allocate,
    allocate,
    release,
    use,
    closeScope,
    transfer,
    useAfterwards,
    trimTo,
    freeHeld,
    stopHolding,
    resumeHolding,
    interrupted
  ],
  { maxCommands: 60, size: "max" }
)

/** Closes everything, however the run ended, and checks that no driver object is left. */
const close = Effect.fnUntraced(function*(real: Real) {
  yield* real.closePool
  for (const scope of real.scopes) yield* Scope.close(scope, Exit.void)
  const stats = yield* real.pool.stats
  isConsistent(stats, real)
  strictEqual(stats.managedBlocks, 0)
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

it(
  "agrees with a naive model in every counter, after every command, also where requests are interrupted",
  () =>
    fc.assert(
      fc.asyncProperty(settings, commands, ({ capacity, clear, lateFree, maxBytes, slow }, run) =>
        Effect.runPromise(Effect.gen(function*() {
          const opened = yield* open({
            host: { capacityBytes: capacity, lateFree },
            pool: { clear, ...(maxBytes === Infinity ? {} : { maxBytes }) },
            slow
          })
          const scopes = Array.from({ length: scopeCount }, () =>
            Scope.makeUnsafe())
          const real: Real = { ...opened, scopes, leases: [], ended: [] }
          const model: Model = { pool: new ImagePoolModel(maxBytes, capacity), leases: [] }
          yield* Effect.promise(() =>
            fc.asyncModelRun(() => ({ model, real }), run)
          )
          yield* close(real)
        }))),
      { numRuns: runs(200) }
    ),
  60_000
)
