/**
 * Commands that run on a model of a pool with waiting requests and on a real pool. Afterwards both must agree on every
 * counter of the pool and of its budgets, and on the outcome of every request.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { agree, bigIntegers, byName } from "../../packages/testing/src/properties/ExpectData.ts"
import { type GpuError, isGpuError } from "../../src/domain/GpuError.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import type { CountingScheduler } from "./CountingScheduler.ts"
import { isConsistent, nextTurn } from "./hostPool.ts"
import type { Kind, OpenPool, SizedLease, SizedPool } from "./sizedPools.ts"
import type { Failure, ModelLease, ModelRequest, Refusal, WaitingModel, WaitPolicy } from "./waitingModel.ts"

/** A request to the real pool. */
interface RealRequest {
  readonly fiber: Fiber.Fiber<"lease" | "too late", GpuError>
  lease: SizedLease | undefined
  /** Ends the body of a `use`. */
  readonly finished: Deferred.Deferred<void>
}

/** The real pool and the test's records of it, in the model's order. */
export interface WaitingReal extends OpenPool {
  readonly kind: Kind
  readonly scheduler: CountingScheduler
  readonly run: (command: Effect.Effect<void>) => Promise<void>
  /** The pool, and then its budgets. */
  readonly places: Array<SizedPool>
  readonly scopes: Array<Scope.Closeable>
  readonly requests: Array<RealRequest>
  /** The handlers by place, in the model's order. */
  readonly handlers: Array<{ readonly place: number; readonly scope: Scope.Closeable }>
}

const failureOf = (error: GpuError): Failure => {
  const { reason } = error
  if (reason._tag === "Released") return { tag: "Released", why: reason.why }
  if (reason._tag === "LimitExceeded") return { tag: "LimitExceeded", limitName: reason.limitName as "budget" }
  if (reason._tag !== "OutOfMemory") return { tag: reason._tag as "DeviceLost" }
  assert.strictEqual(reason.stepsTried.at(-1) === "wait", reason.waitedMillis !== undefined, String(reason.stepsTried))
  const { activeBytes, heldBytes, limit, limitName, managedBytes, requested, pendingBytes, waitedMillis } = reason
  const bytes = Object.entries({ requested, limit, activeBytes, heldBytes, managedBytes, pendingBytes })
  return {
    tag: "OutOfMemory",
    evidence: { limitName, waitedMillis, ...Object.fromEntries(bytes.map(([name, value]) => [name, BigInt(value)])) }
  }
}

const refusalOf = (exit: Exit.Exit<unknown, GpuError> | undefined): Refusal | undefined => {
  if (exit === undefined) return undefined
  if (Exit.isSuccess(exit)) return exit.value === "too late" ? exit.value : undefined
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  const error = Cause.squash(exit.cause)
  assert(isGpuError(error), String(error))
  return failureOf(error)
}

/** The outcome of a request, in the same form for model and pool. */
const seen = (size: bigint, lease: { readonly ended: ModelLease["ended"] } | undefined, refusal: Refusal | undefined) =>
  lease === undefined ? [size, refusal ?? "waits"] : [size, "leased", lease.ended]

/** Waits until nothing happens any more: a request may need several wake-ups. */
const settle = Effect.fnUntraced(function*({ scheduler }: WaitingReal) {
  for (let quiet = 0, turns = 0; quiet < 4; turns++) {
    assert.isBelow(turns, 2000, "it never comes to rest")
    const { tasks } = scheduler
    yield* nextTurn
    quiet = tasks === scheduler.tasks ? quiet + 1 : 0
  }
})

const largest = (sizes: ReadonlyArray<bigint>) => [...sizes].sort((a, b) => Number(b - a)).slice(0, 3)

/** The live leases of each scope, as leases of the model, in the order in which the real pool granted them. */
const grantsOf = (model: WaitingModel, real: WaitingReal): ReadonlyArray<ReadonlyArray<ModelLease>> => {
  const leases = new Map<Lease.Lease, ModelLease>()
  for (const [i, { lease }] of real.requests.entries()) {
    if (lease !== undefined) leases.set(lease, model.requests[i]!.lease!)
  }
  return model.scopes.map((scope) => {
    const [one] = [...leases].find(([{ ended }, lease]) => ended === undefined && lease.list === scope) ?? []
    const order: Array<ModelLease> = []
    for (let lease = one?.list?.last; lease !== undefined; lease = lease.previousInList) {
      order.unshift(leases.get(lease)!)
    }
    return order
  })
}

const agrees = Effect.fnUntraced(function*(model: WaitingModel, real: WaitingReal) {
  yield* settle(real)
  agree(
    byName("request", model.requests.map(({ lease, refusal, size }) => seen(size, lease, refusal))),
    byName(
      "request",
      real.requests.map(({ fiber, lease }, i) => seen(model.requests[i]!.size, lease, refusalOf(fiber.pollUnsafe())))
    )
  )
  for (const [i, order] of grantsOf(model, real).entries()) model.orderGrants(model.scopes[i]!, order)
  for (const [i, place] of model.places.entries()) {
    const stats = yield* real.places[i]!.stats
    const expected = place === model.pool ? model.stats : model.statsOf(place)
    agree(expected, bigIntegers(stats, Object.keys(expected)))
    if (place === model.pool) isConsistent(stats, real.driverObjects)
    deepStrictEqual(
      (yield* real.places[i]!.holders()).map(({ size }) => BigInt(size)),
      largest(model.leasesUnder(place).filter(({ block }) => block !== undefined).map(({ size }) => size))
    )
  }
})

const failsAs = (exit: Exit.Exit<unknown, GpuError>, expected: Failure | undefined): void => {
  deepStrictEqual(refusalOf(exit), expected)
}

// Commands

type Command = fc.AsyncCommand<WaitingModel, WaitingReal>

const always = () => true

const command = (
  name: string,
  check: (model: Readonly<WaitingModel>) => boolean,
  run: (model: WaitingModel, real: WaitingReal) => Effect.Effect<void>
): Command => ({
  check,
  toString: () => name,
  run: (model, real) => real.run(Effect.andThen(Effect.suspend(() => run(model, real)), agrees(model, real)))
})

/** An index among all, or mostly among the good ones. */
const indexOf = <A>(all: ReadonlyArray<A>, n: number, isGood: (element: A) => boolean): number => {
  const good = [...all.keys()].filter((index) => isGood(all[index]!))
  return n % 8 === 7 || good.length === 0 ? n % all.length : good[n % good.length]!
}

const scopeOf = (model: WaitingModel, n: number): number => indexOf(model.scopes, n, ({ closed }) => !closed)

const leased = ({ lease }: ModelRequest) => lease !== undefined

const leaseOf = (model: WaitingModel, n: number): number => {
  const all = [...model.requests.keys()].filter((i) => leased(model.requests[i]!))
  return all[indexOf(all, n, (i) => model.requests[i]!.lease!.ended === undefined)]!
}

const hasLease = (model: Readonly<WaitingModel>) => model.requests.some(leased)

interface Asked extends WaitPolicy {
  readonly size: number
  readonly place: number
}

const shown = ({ onExhausted, place, size, timeout, waitAtMost }: Asked): string =>
  `${size} in ${place}, ${onExhausted}${waitAtMost === undefined ? "" : ` ${waitAtMost}`}${
    timeout === undefined ? "" : `, timeout ${timeout}`
  }`

/** Without a scope, a `use` whose body lasts until the test ends it. */
const ask = (model: WaitingModel, real: WaitingReal, scope: number | undefined, asked: Asked): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { onExhausted } = asked
    // There is no image without bytes.
    const size = real.kind === "images" ? Math.max(1, asked.size) : asked.size
    const place = asked.place % model.places.length
    // No two alarms are due at the same time: commands come at multiples of ten seconds.
    const own = 2 * model.requests.length
    const waitAtMost = asked.waitAtMost && asked.waitAtMost + own + 1
    const timeout = scope === undefined ? undefined : asked.timeout && asked.timeout + own + 2
    const list = scope === undefined ? model.uses : model.scopes[scope]!
    model.start(size, model.places[place]!, list, { onExhausted, waitAtMost, timeout })
    const label = `request ${real.requests.length}`
    const options = { label, onExhausted, waitAtMost }
    const finished = Deferred.makeUnsafe<void>()
    let lease: SizedLease | undefined
    const got = (granted: SizedLease) => {
      lease = granted
      return "lease" as const
    }
    const pool = real.places[place]!
    const request = scope === undefined
      ? pool.use(size, (granted) => Effect.as(Deferred.await(finished), got(granted)), options)
      : Scope.provide(pool.allocate(size, options), real.scopes[scope]!).pipe(Effect.map(got))
    const fiber = yield* Effect.forkDetach(
      timeout === undefined
        ? request
        : Effect.timeoutOrElse(request, { duration: timeout, orElse: () => Effect.succeed("too late" as const) }),
      { startImmediately: true }
    )
    real.requests.push({
      fiber,
      get lease() {
        return lease
      },
      finished
    })
  })

const allocate = (n: number, asked: Asked) =>
  command(`allocate(${n}: ${shown(asked)})`, always, (model, real) => ask(model, real, scopeOf(model, n), asked))

const use = (asked: Asked) =>
  command(`use(${shown(asked)})`, always, (model, real) => ask(model, real, undefined, asked))

/** More requests than the wait queue examines at a time. */
const crowd = (n: number, count: number, size: number, place: number) =>
  command(
    `crowd(${n}, ${count} of ${size} in ${place})`,
    (model) => model.waiting.length < 100,
    (model, real) =>
      Effect.forEach(
        Array.from({ length: count }, () => scopeOf(model, n)),
        (scope) =>
          Effect.andThen(
            ask(model, real, scope, { size, place, onExhausted: "wait", waitAtMost: undefined, timeout: undefined }),
            nextTurn
          ),
        { discard: true }
      )
  )

const finish = (n: number) =>
  command(`finish(${n})`, (model) => model.requests.length > 0, (model, real) => {
    const index = indexOf(model.requests, n, ({ lease }) => lease !== undefined && lease.list === model.uses)
    return Effect.andThen(
      Effect.sync(() => {
        // The body of a waiting request must not be ended before it begins.
        if (leased(model.requests[index]!)) model.finish(model.requests[index]!)
      }),
      leased(model.requests[index]!) ? Deferred.succeed(real.requests[index]!.finished, undefined) : Effect.void
    )
  })

const release = (n: number) =>
  command(`release(${n})`, hasLease, (model, real) =>
    Effect.gen(function*() {
      const index = leaseOf(model, n)
      const expected = model.release(model.requests[index]!.lease!)
      failsAs(yield* Effect.exit(Lease.release(real.requests[index]!.lease!)), expected)
    }))

const transfer = (n: number, to: number) =>
  command(`transfer(${n}, ${to})`, hasLease, (model, real) =>
    Effect.gen(function*() {
      const [index, scope] = [leaseOf(model, n), scopeOf(model, to)]
      const expected = model.transfer(model.requests[index]!.lease!, model.scopes[scope]!)
      failsAs(
        yield* Effect.exit(Lease.transfer(real.requests[index]!.lease!, real.scopes[scope]!)),
        expected
      )
    }))

const openScope = command("openScope", always, (model, real) =>
  Effect.sync(() => {
    model.openScope()
    real.scopes.push(Scope.makeUnsafe())
  }))

const closeScope = (n: number) =>
  command(`closeScope(${n})`, always, (model, real) => {
    const index = scopeOf(model, n)
    model.closeScope(model.scopes[index]!)
    return Scope.close(real.scopes[index]!, Exit.void)
  })

const interrupt = (n: number) =>
  command(`interrupt(${n})`, (model) => model.waiting.length > 0, (model, real) => {
    const request = model.waiting[n % model.waiting.length]!
    const { fiber } = real.requests[model.requests.indexOf(request)]!
    model.interrupt(request)
    return Fiber.interrupt(fiber)
  })

/** Everything that happens in that time, one after the other. */
const advance = (millis: number) =>
  command(`advance(${millis})`, always, (model, real) =>
    Effect.gen(function*() {
      const latest = model.now + millis
      while (model.now < latest) {
        const next = model.nextTime(latest)
        yield* TestClock.adjust(next - model.now)
        model.advance(next)
        yield* agrees(model, real)
      }
    }))

const openBudget = (limit: number, parent: number) =>
  command(
    `openBudget(${limit}, ${parent})`,
    (model) => model.places.length < 7 && !model.trimsIdle,
    (model, real) =>
      Effect.gen(function*() {
        const index = parent % model.places.length
        model.openBudget(BigInt(limit), model.places[index]!)
        real.places.push(yield* Effect.orDie(real.places[index]!.budget(limit)))
      })
  )

const setLimit = (place: number, bytes: number) =>
  command(`setLimit(${place}, ${bytes})`, always, (model, real) =>
    Effect.gen(function*() {
      const index = place % model.places.length
      const expected = model.setLimit(model.places[index]!, BigInt(bytes))
      failsAs(yield* Effect.exit(real.places[index]!.setLimit({ maxBytes: bytes })), expected)
    }))

const trimTo = (place: number, bytes: number) =>
  command(`trimTo(${place}, ${bytes})`, always, (model, real) =>
    Effect.gen(function*() {
      const expected = model.trimTo(BigInt(bytes))
      failsAs(yield* Effect.exit(real.places[place % model.places.length]!.trimTo(bytes)), expected)
    }))

const freeHeld = command("freeHeld", always, (model, real) =>
  Effect.gen(function*() {
    const expected = model.freeHeld()
    failsAs(yield* Effect.exit(real.pool.freeHeld), expected)
  }))

const stopHolding = command("stopHolding", always, (model, real) =>
  Effect.gen(function*() {
    const expected = model.stopHolding()
    failsAs(yield* Effect.exit(real.pool.stopHolding), expected)
  }))

const resumeHolding = command("resumeHolding", always, (model, real) => {
  model.resumeHolding()
  return real.pool.resumeHolding
})

/** Adds a handler that releases leases of the test, one at each call. */
const addHandler = (n: number, some: number) =>
  command(
    `addHandler(${n}, ${some})`,
    (model) => hasLease(model) && !model.trimsIdle,
    (model, real) =>
      Effect.gen(function*() {
        const place = n % model.places.length
        const victims = [...model.requests.keys()].filter((i) =>
          model.requests[i]!.lease?.ended === undefined && leased(model.requests[i]!)
        ).slice(0, some)
        model.places[place]!.handlers.push({ victims: victims.map((i) => model.requests[i]!) })
        const scope = Scope.makeUnsafe()
        const handler = () =>
          Effect.suspend(() => {
            const live = victims.map((i) => real.requests[i]!.lease!).find(Lease.isLive)
            return live === undefined ? Effect.succeed(false) : Effect.as(Lease.release(live), true)
          })
        yield* Effect.orDie(Scope.provide(real.places[place]!.onOutOfMemory(handler), scope))
        real.handlers.push({ place, scope })
      })
  )

const dropHandler = (n: number) =>
  command(
    `dropHandler(${n})`,
    (model) => model.places.some(({ handlers }) => handlers.length > 0),
    (model, real) =>
      Effect.gen(function*() {
        const [dropped] = real.handlers.splice(n % real.handlers.length, 1) as [WaitingReal["handlers"][number]]
        const before = real.handlers.slice(0, n % (real.handlers.length + 1))
        const index = before.filter(({ place }) => place === dropped.place).length
        model.places[dropped.place]!.handlers.splice(index, 1)
        yield* Scope.close(dropped.scope, Exit.void)
      })
  )

const lose = command("lose", (model) => !model.lost, (model, real) =>
  Effect.sync(() => {
    model.lose()
    real.faults.lose()
  }))

const closePool = command("closePool", (model) => !model.closed, (model, real) => {
  model.close()
  return real.closePool
})

/** Makes a command rare, because later commands do little after it. */
const rarely = (chance: number, rare: Command): Command => ({
  check: (model) => chance === 1 && rare.check(model),
  run: (model, real) => rare.run(model, real),
  toString: () => String(rare)
})

// Few sizes, so that blocks are reused, in a unit in which all numbers are small.

const sizes = [5, 10, 10, 20, 20, 30, 30, 40, 60]
const limits = [40, 60, 60, 80, 80, 100, 100, 120]

const n = fc.nat(40)
const place = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(6) })

const asked: fc.Arbitrary<Asked> = fc.record({
  size: fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...sizes) }, {
    weight: 1,
    arbitrary: fc.constantFrom(0, 130)
  }),
  place,
  onExhausted: fc.constantFrom("wait", "wait", "wait", "fail"),
  waitAtMost: fc.constantFrom(undefined, undefined, undefined, 30_000, 110_000),
  timeout: fc.constantFrom(undefined, undefined, undefined, 50_000, 150_000)
})

const requested = fc.tuple(n, asked).map((parts) => allocate(...parts))

export const commands = [
  ...Array.from({ length: 10 }, () => requested),
  asked.map(use),
  asked.map(use),
  asked.map(use),
  fc.tuple(n, fc.integer({ min: 62, max: 66 }), fc.constantFrom(...sizes), place, n)
    .map(([scope, count, size, place, chance]) => rarely(chance % 8, crowd(scope, count, size, place))),
  n.map(finish),
  n.map(finish),
  n.map(release),
  n.map(release),
  n.map(release),
  n.map(release),
  fc.tuple(n, n).map((parts) => transfer(...parts)),
  fc.constant(openScope),
  n.map(closeScope),
  n.map(interrupt),
  n.map(interrupt),
  fc.constantFrom(10_000, 20_000, 50_000, 100_000, 300_000).map(advance),
  fc.constantFrom(10_000, 20_000, 50_000, 100_000, 300_000).map(advance),
  fc.tuple(fc.constantFrom(...limits), n).map((parts) => openBudget(...parts)),
  fc.tuple(fc.constantFrom(...limits), n).map((parts) => openBudget(...parts)),
  fc.tuple(place, fc.constantFrom(0, 30, ...limits, 200)).map((parts) => setLimit(...parts)),
  fc.tuple(place, fc.constantFrom(0, 20, 50, 80)).map((parts) => trimTo(...parts)),
  fc.constant(freeHeld),
  n.map((chance) => rarely(chance % 4, stopHolding)),
  fc.constant(resumeHolding),
  fc.tuple(place, fc.integer({ min: 1, max: 3 })).map((parts) => addHandler(...parts)),
  n.map(dropHandler),
  n.map((chance) => rarely(chance, lose)),
  n.map((chance) => rarely(chance, closePool))
]
