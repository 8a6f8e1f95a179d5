/**
 * Commands that the model of a pool and a real pool both run, and what both must agree on after each.
 *
 * @since 0.1.0
 */
import { BufferPool, BufferUsage, Lease, LeaseHolder } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DriverObjects } from "effect-gpu-pool/DriverObjects"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Faults } from "effect-gpu-pool/Host"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { type Arbitrary, dual } from "./DualArbitrary.ts"
import { after, agree, bigIntegers, byName, fail, sameData } from "./ExpectData.ts"
import { type Failure, type ModelLease, ModelScope, type Outcome, type Pending, type PoolModel } from "./PoolModel.ts"

// Two usages, with sizes that rarely get the same block size. A run leaves out requests that might.
const usages = [BufferUsage.storage | BufferUsage.copyDst, BufferUsage.defaultUsage]

const sizes: ReadonlyArray<ReadonlyArray<number>> = [[40, 64, 250, 500, 1000, 1500], [7, 100, 280, 700]]

interface Request {
  readonly family: number
  readonly size: number
}

const requests: fc.Arbitrary<Request> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ family: fc.constant(0), size: fc.constantFrom(...sizes[0]!) }) },
  { weight: 4, arbitrary: fc.record({ family: fc.constant(1), size: fc.constantFrom(...sizes[1]!) }) },
  { weight: 1, arbitrary: fc.record({ family: fc.constant(0), size: fc.constantFrom(0, 2000, 3500) }) }
)

/**
 * The real pool and what the run has of it. Its scopes, leases and waiting requests are in the order of the model's.
 *
 * @category models
 * @since 0.1.0
 */
export interface RealPool {
  readonly pool: BufferPool.BufferPool["Service"]
  readonly driverObjects: DriverObjects
  /** The number of the device's buffers that are not the pool's. */
  readonly otherBuffers: number
  readonly closePool: Effect.Effect<void>
  /** Runs a command with the pool as its service. */
  readonly run: (command: Effect.Effect<void, GpuError, BufferPool.BufferPool>) => Promise<void>
  readonly scopes: Array<Scope.Closeable>
  readonly leases: Array<PooledBuffer>
  readonly pending: Array<{ readonly model: Pending; readonly fiber: Fiber.Fiber<PooledBuffer, GpuError> }>
  /** The commands so far, for the messages of mismatches. */
  readonly commands: Array<string>
  /** Undefined on other devices than a host device. */
  readonly host: HostHandles | undefined
}

/**
 * What a run needs of a host device.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostHandles {
  readonly faults: Faults
  readonly usedBytes: Effect.Effect<number>
}

const failureOf = (error: GpuError): Failure => {
  const { reason } = error
  if (reason._tag === "Released") return { tag: "Released", why: reason.why }
  if (reason._tag !== "OutOfMemory") return { tag: reason._tag as "DriverError" }
  return {
    tag: "OutOfMemory",
    evidence: {
      requested: BigInt(reason.requested),
      blockSize: BigInt(reason.blockSize),
      limit: reason.limit === Infinity ? undefined : BigInt(reason.limit),
      activeBytes: BigInt(reason.activeBytes),
      heldBytes: BigInt(reason.heldBytes),
      managedBytes: BigInt(reason.managedBytes),
      pendingBytes: BigInt(reason.pendingBytes),
      largestHeldBytes: BigInt(reason.largestHeldBytes),
      stepsTried: reason.stepsTried,
      holders: reason.holders.map(({ size }) => BigInt(size))
    }
  }
}

const failsAs = (exit: Exit.Exit<unknown, GpuError>, expected: Failure | undefined): void => {
  const actual = Effect.runSync(Effect.match(exit, { onFailure: failureOf, onSuccess: () => undefined }))
  agree(membersOf(expected), membersOf(actual))
}

const membersOf = (failure: Failure | undefined): Readonly<Record<string, unknown>> => {
  if (failure === undefined) return { failure: "none" }
  const { tag: is } = failure
  return { failure: is, ..."evidence" in failure ? failure.evidence : "why" in failure ? { why: failure.why } : {} }
}

const leaseIs = (exit: Exit.Exit<PooledBuffer, GpuError>, expected: Outcome, real: RealPool): void => {
  if ("failure" in expected) return failsAs(exit, expected.failure)
  if (Exit.isFailure(exit)) return fail(`the model grants what the pool refuses: ${String(exit)}`)
  sameData("the lease's size", BigInt(exit.value.size), expected.lease.size)
  real.leases.push(exit.value)
}

const agrees = Effect.fnUntraced(function*(model: PoolModel, real: RealPool) {
  const stats = yield* real.pool.stats
  agree(model.stats, bigIntegers(stats, Object.keys(stats)))
  isConsistent(stats, real)
  if (real.host !== undefined) {
    const { faults, usedBytes } = real.host
    agree(
      { "calls to allocate": model.allocations.count, "calls to free": model.frees.count, "bytes in use": model.used },
      {
        "calls to allocate": faults.allocations,
        "calls to free": faults.frees,
        "bytes in use": BigInt(yield* usedBytes)
      }
    )
  }
  agree(
    byName("lease", model.leases.map(({ block, ended }) => [block?.capacity ?? 0n, ended ?? "live"])),
    byName(
      "lease",
      real.leases.map(({ block, capacity, ended }) => [block === undefined ? 0n : BigInt(capacity), ended ?? "live"])
    )
  )
})

/** Checks the rules that counters keep at all times. */
const isConsistent = (stats: PoolStats, { driverObjects, otherBuffers }: RealPool): void => {
  sameData("managed = held + active blocks", stats.managedBlocks, stats.heldBlocks + stats.activeBlocks)
  sameData("managed = allocated - freed", stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
  sameData("buffers of the driver", (driverObjects.liveByKind["buffer"] ?? 0) - otherBuffers, stats.managedBlocks)
  if (stats.managedBytes < stats.heldBytes + stats.activeBytes) fail("more bytes are held and active than managed")
}

/** Lets everything that is ready run. */
const nextTurn = Effect.callback<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

/**
 * One step of a run, on the model and on the pool.
 *
 * @category models
 * @since 0.1.0
 */
export type Command = fc.AsyncCommand<PoolModel, RealPool>

const command = (
  name: string,
  check: (model: Readonly<PoolModel>) => boolean,
  run: (model: PoolModel, real: RealPool) => Effect.Effect<void, GpuError, BufferPool.BufferPool>
): Command => ({
  check,
  toString: () => name,
  run: (model, real) => {
    real.commands.push(name)
    return real.run(after(real.commands, Effect.andThen(Effect.suspend(() => run(model, real)), agrees(model, real))))
  }
})

/** A command that needs a host device. */
const hostCommand = (
  name: string,
  check: (model: Readonly<PoolModel>) => boolean,
  run: (
    model: PoolModel,
    real: RealPool,
    faults: Faults
  ) => Effect.Effect<void, GpuError, BufferPool.BufferPool>
): Command =>
  command(
    name,
    check,
    (model, real) =>
      Effect.suspend(() =>
        real.host === undefined ? fail(`${name} needs a host device`) : run(model, real, real.host.faults)
      )
  )

/** An index, mostly of a good element: a good scope is open, a good lease is active. */
const indexOf = <A>(all: ReadonlyArray<A>, n: number, isGood: (element: A) => boolean): number => {
  const good = [...all.keys()].filter((index) => isGood(all[index]!))
  return n % 8 === 7 || good.length === 0 ? n % all.length : good[n % good.length]!
}

const scopeOf = (model: PoolModel, n: number): number => indexOf(model.scopes, n, (scope) => scope.open)

const leaseOf = (model: PoolModel, n: number): number => indexOf(model.leases, n, (lease) => lease.ended === undefined)

const always = () => true

const isApart = (...requests: ReadonlyArray<Request>) => (model: Readonly<PoolModel>) => !model.mayTie(requests)

const hasLease = (model: Readonly<PoolModel>) => model.leases.length > 0

const openScope = command("openScope", always, (model, real) =>
  Effect.sync(() => {
    model.scopes.push(new ModelScope())
    real.scopes.push(Scope.makeUnsafe())
  }))

const openChild = (parent: number) =>
  command(`openChild(${parent})`, always, (model, real) =>
    Effect.gen(function*() {
      const index = scopeOf(model, parent)
      const scope = new ModelScope()
      scope.open = model.scopes[index]!.open
      model.scopes[index]!.parts.unshift(scope)
      model.scopes.push(scope)
      real.scopes.push(yield* Scope.fork(real.scopes[index]!))
    }))

const closeScope = (n: number) =>
  command(`closeScope(${n})`, always, (model, real) => {
    const index = scopeOf(model, n)
    model.closeScope(model.scopes[index]!)
    return Scope.close(real.scopes[index]!, Exit.void)
  })

const allocate = (n: number, { family, size }: Request) =>
  command(`allocate(${n}, ${size} of ${family})`, isApart({ family, size }), (model, real) =>
    Effect.gen(function*() {
      const index = scopeOf(model, n)
      const expected = model.allocate(size, family, model.scopes[index]!)
      const lease = BufferPool.allocate(size, { usage: usages[family]!, label: `lease ${real.leases.length}` })
      leaseIs(yield* Effect.exit(Scope.provide(lease, real.scopes[index]!)), expected, real)
    }))

/** A lease of `use`, which some commands transfer before it ends. */
const use = ({ family, size }: Request, to: number | undefined) =>
  command(`use(${size} of ${family}, ${to})`, isApart({ family, size }), (model, real) =>
    Effect.gen(function*() {
      const expected = model.allocate(size, family, undefined)
      let moved: Failure | undefined
      const body = (lease: PooledBuffer) =>
        Effect.gen(function*() {
          if ("failure" in expected) return fail("the pool grants what the model refuses")
          real.leases.push(lease)
          yield* agrees(model, real)
          if (to === undefined) return
          const index = scopeOf(model, to)
          moved = model.transfer(expected.lease, model.scopes[index]!)
          yield* Lease.transfer(lease, real.scopes[index]!)
        })
      const exit = yield* Effect.exit(real.pool.use(size, body, { usage: usages[family]! }))
      if ("lease" in expected && expected.lease.scope === undefined) model.end(expected.lease, "scopeClosed")
      failsAs(exit, "failure" in expected ? expected.failure : moved)
    }))

const release = (n: number) =>
  command(`release(${n})`, hasLease, (model, real) =>
    Effect.gen(function*() {
      const index = leaseOf(model, n)
      const lease = model.leases[index]!
      const expected: Failure | undefined = lease.ended && { tag: "Released", why: lease.ended }
      model.end(lease, "released")
      failsAs(yield* Effect.exit(Lease.release(real.leases[index]!)), expected)
    }))

const transfer = (n: number, to: number) =>
  command(`transfer(${n}, ${to})`, hasLease, (model, real) =>
    Effect.gen(function*() {
      const [lease, scope] = [leaseOf(model, n), scopeOf(model, to)]
      const expected = model.transfer(model.leases[lease]!, model.scopes[scope]!)
      failsAs(yield* Effect.exit(Lease.transfer(real.leases[lease]!, real.scopes[scope]!)), expected)
    }))

class Holder implements LeaseHolder.LeaseHolder {
  readonly #leases: ReadonlyArray<PooledBuffer>
  constructor(leases: ReadonlyArray<PooledBuffer>) {
    this.#leases = leases
  }
  [LeaseHolder.LeaseHolder]() {
    return this.#leases
  }
}

/** Shapes of a result. `extract` finds all leases in it, or none. */
const shapes: Readonly<Record<string, (leases: ReadonlyArray<PooledBuffer>) => unknown>> = {
  tuple: (leases) => leases,
  record: (leases) => Object.fromEntries(leases.map((lease, i) => [`x${i}`, lease])),
  holder: (leases) => new Holder(leases),
  nested: (leases) => ({ deep: [{ holders: leases.map((lease) => new Holder([lease, lease])) }], same: leases, n: 1 }),
  cyclic: (leases) => {
    const record: Record<string, unknown> = { leases }
    record["self"] = record
    return record
  },
  map: (leases) => new Map(leases.entries()),
  nothing: (leases) => leases.length
}

const keepsNothing = ["map", "nothing"]

/** Allocates in an inner scope. The result has `kept` of the leases, and one of another scope. */
const extract = (to: number, inner: ReadonlyArray<Request>, kept: number, shape: string, other: number) =>
  command(
    `extract(${to}, [${
      inner.map(({ family, size }) => `${size} of ${family}`).join(", ")
    }], ${kept}, ${shape}, ${other})`,
    isApart(...inner),
    (model, real) =>
      Effect.gen(function*() {
        const index = scopeOf(model, to)
        const scope = new ModelScope()
        const foreign = real.leases.length === 0 ? [] : [real.leases[other % real.leases.length]!]
        const granted: Array<ModelLease> = []
        let expected: Failure | undefined
        const body = Effect.gen(function*() {
          for (const { family, size } of inner) {
            const outcome = model.allocate(size, family, scope)
            if ("lease" in outcome) granted.push(outcome.lease)
            else expected = outcome.failure
            real.leases.push(yield* BufferPool.allocate(size, { usage: usages[family]! }))
          }
          yield* agrees(model, real)
          const mine = inner.length === 0 ? [] : real.leases.slice(-inner.length)
          return shapes[shape]!([...mine.slice(0, kept), ...foreign])
        })
        const exit = yield* Effect.exit(Scope.provide(LeaseHolder.extract(body), real.scopes[index]!))
        if (expected === undefined && !keepsNothing.includes(shape)) {
          for (const lease of granted.slice(0, kept)) expected ??= model.transfer(lease, model.scopes[index]!)
        }
        model.closeScope(scope)
        failsAs(exit, expected)
      })
  )

const start = (n: number | undefined, { family, size }: Request) =>
  hostCommand(
    `start(${n}, ${size} of ${family})`,
    isApart({ family, size }),
    (model, real, faults) =>
      Effect.gen(function*() {
        faults.delay({ allocations: "1 second" })
        const index = n === undefined ? undefined : scopeOf(model, n)
        const expected = model.start(size, family, index === undefined ? undefined : model.scopes[index]!)
        const options = { usage: usages[family]! }
        const lease = index === undefined
          ? real.pool.use(size, Effect.succeed, options)
          : Scope.provide(real.pool.allocate(size, options), real.scopes[index]!)
        const fiber = yield* Effect.forkDetach(lease, { startImmediately: true })
        yield* nextTurn
        faults.delay({})
        if ("asked" in expected) {
          sameData("the end of a request that waits", fiber.pollUnsafe(), undefined)
          real.pending.push({ model: expected, fiber })
        } else {
          leaseIs(yield* Fiber.await(fiber), expected, real)
          if ("lease" in expected && index === undefined) model.end(expected.lease, "scopeClosed")
        }
      })
  )

const hasPending = (model: Readonly<PoolModel>) => model.pending.some((pending) => !pending.abandoned)

const interrupt = (index: number) =>
  command(`interrupt(${index})`, hasPending, (_model, real) =>
    Effect.gen(function*() {
      const [{ fiber, model }] = real.pending.splice(index % real.pending.length, 1) as [RealPool["pending"][number]]
      model.abandoned = true
      yield* Fiber.interrupt(fiber)
    }))

/** Compares the requests that waited with the model, in the order in which they began. */
const settle = Effect.fnUntraced(function*(real: RealPool) {
  for (const pending of real.pending.splice(0)) {
    const { outcome } = pending.model
    if (outcome === undefined) return fail("the model still waits")
    const exit = yield* Fiber.await(pending.fiber)
    leaseIs(exit, outcome, real)
  }
})

const answer = command("answer", (model) => model.pending.length > 0, (model, real) =>
  Effect.gen(function*() {
    model.answer()
    yield* TestClock.adjust("1 second")
    yield* settle(real)
  }))

const freeHeld = command("freeHeld", always, (model) =>
  Effect.gen(function*() {
    const expected = model.freeHeld()
    failsAs(yield* Effect.exit(BufferPool.freeHeld), expected)
  }))

/** Makes a command rare, because later commands do little after it. */
const rarely = (chance: number, rare: Command): Command => ({
  ...rare,
  check: (model) => chance === 0 && rare.check(model)
})

const stopHolding = command("stopHolding", always, (model) =>
  Effect.gen(function*() {
    const expected = model.stopHolding()
    failsAs(yield* Effect.exit(BufferPool.stopHolding), expected)
  }))

const lose = hostCommand("lose", (model) => !model.lost, (model, real, faults) =>
  Effect.gen(function*() {
    model.lose()
    faults.lose()
    yield* settle(real)
  }))

const closePool = command("closePool", (model) => !model.closed, (model, real) =>
  Effect.gen(function*() {
    model.close()
    yield* real.closePool
    yield* settle(real)
  }))

const failAllocations = (nth: number, times: number, error: "OutOfMemory" | "DriverError") =>
  hostCommand(`failAllocations(${nth}, ${times}, ${error})`, always, (model, _, faults) =>
    Effect.sync(() => {
      model.allocations.fail({ nth, times }, error)
      faults.failAllocations({ nth, times, error })
    }))

const failFrees = (nth: number, times: number) =>
  hostCommand(`failFrees(${nth}, ${times})`, always, (model, _, faults) =>
    Effect.sync(() => {
      model.frees.fail({ nth, times }, true)
      faults.failFrees({ nth, times })
    }))

const n = fc.nat(40)

const small = fc.integer({ min: 1, max: 4 })

const maybe = fc.option(n, { nil: undefined })

const requested = (weight: number, make: (n: number, request: Request) => Command) =>
  Array.from({ length: weight }, () => fc.tuple(n, requests).map(([n, request]) => make(n, request)))

type Commands = ReadonlyArray<Arbitrary<Command>>

const dualAll = (commands: ReadonlyArray<fc.Arbitrary<Command>>): Commands => commands.map(dual)

/**
 * The commands for a pool on any device: requests in scopes and by `use`, nested scopes, early releases, `transfer`,
 * `extract`, `freeHeld`, and, seldom, `stopHolding` and the close of the pool.
 *
 * **Example** (Commands to run beside others)
 *
 * ```ts
 * import { PoolCommands } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const steps = fc.commands([...PoolCommands.portable], { maxCommands: 20 })
 * ```
 *
 * @category commands
 * @since 0.1.0
 */
export const portable: Commands = dualAll([
  ...requested(6, allocate),
  ...requested(2, (to, request) => use(request, to)),
  requests.map((request) => use(request, undefined)),
  fc.constant(openScope),
  n.map(openChild),
  n.map(closeScope),
  n.map(release),
  n.map(release),
  n.map(release),
  fc.tuple(n, n).map(([lease, to]) => transfer(lease, to)),
  fc.tuple(n, n).map(([lease, to]) => transfer(lease, to)),
  fc.tuple(n, fc.array(requests, { maxLength: 4 }), fc.nat(4), fc.constantFrom(...Object.keys(shapes)), n)
    .map((parts) => extract(...parts)),
  maybe.map((chance) => rarely(chance ?? 0, freeHeld)),
  n.map((chance) => rarely(chance, stopHolding)),
  n.map((chance) => rarely(chance, closePool))
])

/**
 * More commands, for a pool on the host: requests that wait for the driver and are interrupted, allocations and frees
 * that fail, and, seldom, the loss of the device.
 *
 * **Example** (All commands for a host device)
 *
 * ```ts
 * import { PoolCommands } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const steps = fc.commands([...PoolCommands.portable, ...PoolCommands.onHost], { maxCommands: 80 })
 * ```
 *
 * @category commands
 * @since 0.1.0
 */
export const onHost: Commands = dualAll([
  ...requested(2, start),
  requests.map((request) => start(undefined, request)),
  n.map(interrupt),
  fc.constant(answer),
  fc.constant(answer),
  n.map((chance) => rarely(chance, lose)),
  fc.tuple(small, small, fc.constantFrom("OutOfMemory" as const, "DriverError" as const))
    .map((parts) => failAllocations(...parts)),
  fc.tuple(small, small).map((parts) => failFrees(...parts))
])
