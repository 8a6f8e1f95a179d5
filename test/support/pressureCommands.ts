/**
 * Commands that put a real pool under pressure: requests that wait, everything that can happen meanwhile, a slow driver
 * that refuses, and time. Each runs when the pool is idle, or while earlier commands are under way.
 */
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { type GpuError, isGpuError, type Reason } from "../../src/domain/GpuError.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import {
  calmDown,
  type Client,
  isClosed,
  lawsHold,
  type LeasingPlace,
  leasingPlaceOf,
  liveLeases,
  type Place,
  restLawsHold,
  type Watched
} from "./pressureLaws.ts"
import type { SizedLease } from "./sizedPools.ts"

/** What has happened so far, which explains how requests may end. */
export interface History {
  closed: boolean
  lost: boolean
  driverErrors: boolean
  driverRefuses: boolean
  dyingHandlers: boolean
}

export interface Pressed extends Watched {
  readonly run: (command: Effect.Effect<void>) => Promise<void>
  readonly history: History
  /** The multiple to which the device rounds buffers up. */
  readonly granularity: number
  readonly closeAll: Effect.Effect<void>
  /** Pools that can close separately from the others on their memory. */
  readonly closable: ReadonlyArray<{ readonly place: LeasingPlace; readonly close: Effect.Effect<void> }>
  readonly scopes: Array<Scope.Closeable>
  readonly requests: Array<Request>
  readonly handlers: Array<Scope.Closeable>
  /** Fibers that may still run. */
  readonly background: Array<Fiber.Fiber<unknown, GpuError>>
}

export interface Request extends Client {
  readonly fiber: Fiber.Fiber<unknown, GpuError>
  readonly asked: Asked
  readonly scope: Scope.Scope | undefined
  interrupted: boolean
  /** Ends the body of a `use`. */
  readonly finished: Deferred.Deferred<void>
}

interface Asked {
  readonly size: number
  readonly place: number
  readonly isOther: boolean
  /** Bytes besides the block's, for a `use` within a reservation. */
  readonly spare?: number | undefined
  readonly onExhausted: "fail" | "wait"
  readonly waitAtMost: number | undefined
  /** The duration of an `Effect.timeout` around the request. */
  readonly timeout: number | undefined
}

/** The defect of a handler that dies. */
const defect = "a handler's defect"

/** Whether the history has a reason for this error. */
const mayEndWith = ({ _tag }: Reason, history: History): boolean =>
  _tag === "DeviceLost"
    ? history.lost
    : _tag === "DriverError"
    ? history.driverErrors
    : ["OutOfMemory", "LimitExceeded", "Released"].includes(_tag)

const handlerFailed = (error: unknown, history: History): boolean =>
  (error === defect && history.dyingHandlers) ||
  (isGpuError(error) &&
    ((error.reason._tag === "DriverError" && history.driverErrors) ||
      (error.reason._tag === "Released" && error.reason.operation === "Lease.release")))

/** Whether the driver refused, the handlers freed nothing, and no lease is left that could end. */
const ranOut = (error: unknown, history: History): boolean =>
  history.driverRefuses && isGpuError(error) && error.reason._tag === "OutOfMemory" &&
  error.reason.stepsTried.includes("handlers") && error.reason.activeBytes === 0

/** Checks that a request has ended with a lease, or with a typed error for which there is a reason. */
export const endedWell = (request: Request, history: History): void => {
  const exit = request.fiber.pollUnsafe()
  if (exit === undefined || Exit.isSuccess(exit)) return
  if (Cause.hasInterruptsOnly(exit.cause)) return assert(request.interrupted, "interrupted by nobody")
  const error = Cause.squash(exit.cause)
  if (error === defect) return assert(history.dyingHandlers)
  assert(isGpuError(error), String(error))
  assert(mayEndWith(error.reason, history), error.message)
  if (error.reason._tag !== "OutOfMemory" || error.reason.waitedMillis === undefined) return
  assert.include(error.reason.stepsTried, "wait")
  assert.isAtLeast(error.reason.waitedMillis, request.asked.waitAtMost ?? Infinity)
}

// Commands

/** No model: there is nothing to predict. */
type Nothing = Record<string, never>

type Command = fc.AsyncCommand<Nothing, Pressed>

/** Whether to wait until the pool is idle before the next command. */
type Rest = boolean

const command = (name: string, rest: Rest, act: (real: Pressed) => Effect.Effect<unknown, GpuError>): Command => ({
  check: () => true,
  toString: () => rest ? name : `${name}, at once`,
  run: (_, real) =>
    real.run(Effect.gen(function*() {
      real.background.push(yield* Effect.forkDetach(act(real), { startImmediately: true }))
      lawsHold(real)
      if (rest) yield* restLawsHold(real)
      for (const request of real.requests) endedWell(request, real.history)
    }))
})

const pick = <A>(all: ReadonlyArray<A>, n: number): A | undefined => all[n % Math.max(all.length, 1)]

const isOpen = (scope: Scope.Scope) => scope.state._tag !== "Closed"

/** Mostly an open one. */
const scopeOf = ({ scopes }: Pressed, n: number): Scope.Closeable =>
  (n % 8 === 7 ? undefined : pick(scopes.filter(isOpen), n)) ?? pick(scopes, n)!

/** The size that a pool counts for a request. */
const exactSize = ({ granularity }: Pressed, { kind }: LeasingPlace, size: number): number =>
  kind === "images" ? size : Math.ceil(size / granularity) * granularity

/** Without a scope, a `use` whose body lasts until the test ends it. */
const ask = (real: Pressed, scope: Scope.Scope | undefined, asked: Asked): Effect.Effect<void> =>
  Effect.gen(function*() {
    const place = pick(real.places, asked.place)!
    const { isOther, onExhausted, spare, timeout, waitAtMost } = asked
    // There is no image without bytes.
    const size = place.kind === "images" ? Math.max(1, asked.size) : asked.size
    // Enough for the block after the device's rounding.
    const reserved = spare === undefined ? undefined : 4 * Math.ceil(size / 4) + spare
    const options = { isOther, label: `request ${real.requests.length}`, onExhausted, waitAtMost }
    const finished = Deferred.makeUnsafe<void>()
    let lease: SizedLease | undefined
    let needed = reserved ?? exactSize(real, place, size)
    const got = (granted: SizedLease) =>
      Effect.sync(() => {
        lease = granted
      })
    const loan = (pool: LeasingPlace["controls"]) =>
      pool.use(size, (granted) => Effect.andThen(got(granted), Deferred.await(finished)), options)
    const request = reserved !== undefined
      ? place.controls.reserve(reserved, (pool) => {
        // The bytes are reserved, so the request does not wait.
        needed = 0
        return loan(pool)
      }, { onExhausted, waitAtMost })
      : scope === undefined
      ? loan(place.controls)
      : Effect.flatMap(Scope.provide(place.controls.allocate(size, options), scope), got)
    const fiber = yield* Effect.forkDetach(
      timeout === undefined ? request : Effect.timeoutOrElse(request, { duration: timeout, orElse: () => Effect.void }),
      { startImmediately: true }
    )
    const made: Request = {
      fiber,
      asked,
      scope,
      finished,
      place,
      interrupted: false,
      isDone: () => lease !== undefined || fiber.pollUnsafe() !== undefined,
      lease: () => lease,
      needed: () => needed
    }
    real.requests.push(made)
    real.clients.push(made)
  })

const shown = (asked: Asked): string =>
  Object.entries(asked).filter(([, value]) => value !== undefined).map(([name, value]) => `${name} ${value}`).join(", ")

const allocate = (rest: Rest, n: number, asked: Asked) =>
  command(`allocate(${n}: ${shown(asked)})`, rest, (real) => ask(real, scopeOf(real, n), asked))

const reserve = (rest: Rest, asked: Asked, spare: number) =>
  command(`reserve(${shown({ ...asked, spare })})`, rest, (real) => ask(real, undefined, { ...asked, spare }))

const use = (rest: Rest, asked: Asked) => command(`use(${shown(asked)})`, rest, (real) => ask(real, undefined, asked))

const live = (real: Pressed) => liveLeases(real, real.root)

/** Accepts that the lease has ended meanwhile. */
const unlessEnded = (effect: Effect.Effect<void, GpuError>): Effect.Effect<void> =>
  Effect.catch(
    effect,
    (error) => Effect.sync(() => assert.include(["Released", "DeviceLost"], error.reason._tag, error.message))
  )

const release = (rest: Rest, n: number) =>
  command(`release(${n})`, rest, (real) => {
    const lease = pick(live(real), n)
    return lease === undefined ? Effect.void : unlessEnded(Lease.release(lease))
  })

const releaseAll = (rest: Rest, share: number) =>
  command(`releaseAll(${share})`, rest, (real) =>
    Effect.forEach(
      live(real).filter((_, i) => i % share === 0),
      (lease) => unlessEnded(Lease.release(lease)),
      { discard: true }
    ))

const transfer = (rest: Rest, n: number, to: number) =>
  command(`transfer(${n}, ${to})`, rest, (real) => {
    const lease = pick(live(real), n)
    return lease === undefined ? Effect.void : unlessEnded(Lease.transfer(lease, scopeOf(real, to)))
  })

const finish = (rest: Rest, n: number) =>
  command(`finish(${n})`, rest, (real) => {
    const request = pick(real.requests.filter(({ lease }) => lease() !== undefined), n)
    return request === undefined ? Effect.void : Deferred.succeed(request.finished, undefined)
  })

const interrupt = (rest: Rest, n: number) =>
  command(`interrupt(${n})`, rest, (real) => {
    const request = pick(real.requests.filter(({ fiber }) => fiber.pollUnsafe() === undefined), n)
    if (request === undefined) return Effect.void
    request.interrupted = true
    return Fiber.interrupt(request.fiber)
  })

const openScope = (rest: Rest) =>
  command("openScope", rest, (real) => Effect.sync(() => real.scopes.push(Scope.makeUnsafe())))

const closeScope = (rest: Rest, n: number) =>
  command(`closeScope(${n})`, rest, (real) => Scope.close(scopeOf(real, n), Exit.void))

const advance = (millis: number): Command => ({
  check: () => true,
  toString: () => `advance(${millis})`,
  run: (_, real) =>
    real.run(Effect.gen(function*() {
      yield* TestClock.adjust(millis)
      lawsHold(real)
      yield* restLawsHold(real)
    }))
})

/** The memory, a pool or a budget. */
const anyPlace = ({ places, root }: Pressed, n: number): Place => n === 0 ? root : pick(places, n)!

/** Runs the effect, which may fail only because the device is lost. */
const unlessLost = ({ history }: Pressed, effect: Effect.Effect<void, GpuError>): Effect.Effect<void> =>
  Effect.catch(effect, (error) =>
    Effect.sync(() => {
      assert(error.reason._tag === "DeviceLost" && history.lost, error.message)
    }))

const openBudget = (rest: Rest, limit: number, parent: number) =>
  command(`openBudget(${limit}, ${parent})`, rest, (real) =>
    Effect.gen(function*() {
      if (real.places.length > 7) return
      const around = pick(real.places, parent)!
      const controls = yield* around.controls.budget(limit)
      real.places.push(leasingPlaceOf(around.kind, controls, around))
    }))

const setLimit = (rest: Rest, place: number, maxBytes: number) =>
  command(
    `setLimit(${place}, ${maxBytes})`,
    rest,
    (real) => unlessLost(real, anyPlace(real, place).controls.setLimit({ maxBytes }))
  )

const trimTo = (rest: Rest, place: number, bytes: number) =>
  command(`trimTo(${place}, ${bytes})`, rest, (real) => unlessLost(real, anyPlace(real, place).controls.trimTo(bytes)))

const freeHeld = (rest: Rest) => command("freeHeld", rest, (real) => unlessLost(real, real.root.controls.freeHeld))

const stopHolding = (rest: Rest) =>
  command("stopHolding", rest, (real) => unlessLost(real, real.root.controls.stopHolding))

const resumeHolding = (rest: Rest) => command("resumeHolding", rest, (real) => real.root.controls.resumeHolding)

/** Handlers of programs, good and bad. */
const handlers: Readonly<Record<string, (real: Pressed, place: LeasingPlace) => Effect.Effect<boolean, GpuError>>> = {
  "frees nothing": () => Effect.succeed(false),
  "releases a lease": (real) => {
    const [lease] = live(real)
    return lease === undefined ? Effect.succeed(false) : Effect.as(Lease.release(lease), true)
  },
  "releases a lease after a while": (real) =>
    Effect.andThen(
      Effect.sleep(50),
      Effect.suspend(() => {
        const [lease] = live(real)
        return lease === undefined ? Effect.succeed(false) : Effect.as(unlessEnded(Lease.release(lease)), true)
      })
    ),
  "asks for memory itself": (_real, { controls }) =>
    Effect.match(controls.use(7, () => Effect.void), { onFailure: () => false, onSuccess: () => false }),
  "fails": (real) => {
    const ended = real.requests.map(({ lease }) => lease()).find((lease) => lease?.ended !== undefined)
    return ended === undefined ? Effect.succeed(false) : Effect.as(Lease.release(ended), true)
  },
  "dies": () => Effect.die(defect)
}

const addHandler = (rest: Rest, place: number, kind: string) =>
  command(`addHandler(${place}, ${kind})`, rest, (real) =>
    Effect.gen(function*() {
      const scope = Scope.makeUnsafe()
      const where = pick(real.places, place)!
      if (kind === "dies") real.history.dyingHandlers = true
      const handler = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => real.handlersAtWork++),
          () => handlers[kind]!(real, where),
          () => Effect.sync(() => real.handlersAtWork--)
        )
      yield* Scope.provide(where.controls.onOutOfMemory(handler), scope)
      real.handlers.push(scope)
    }))

const dropHandlers = (rest: Rest) =>
  command(
    "dropHandlers",
    rest,
    (real) => Effect.forEach(real.handlers.splice(0), (scope) => Scope.close(scope, Exit.void), { discard: true })
  )

const failAllocations = (rest: Rest, nth: number, times: number, error: "OutOfMemory" | "DriverError") =>
  command(`failAllocations(${nth}, ${times}, ${error})`, rest, (real) =>
    Effect.sync(() => {
      if (error === "DriverError") real.history.driverErrors = true
      real.history.driverRefuses = true
      real.faults.failAllocations({ nth, times, error })
    }))

const failFrees = (rest: Rest, nth: number) =>
  command(`failFrees(${nth})`, rest, (real) => Effect.sync(() => real.faults.failFrees({ nth })))

const slow = (rest: Rest, millis: number) =>
  command(
    `slow(${millis})`,
    rest,
    (real) => Effect.sync(() => real.faults.delay(millis === 0 ? {} : { allocations: millis }))
  )

const lose = (rest: Rest, nth: number) =>
  command(`lose(${nth})`, rest, (real) =>
    Effect.sync(() => {
      real.history.lost = true
      if (nth === 0) real.faults.lose()
      else real.faults.loseAt(nth)
    }))

export const closeAll = (real: Pressed): Effect.Effect<void> =>
  Effect.suspend(() => {
    real.history.closed = true
    real.root.closed = true
    return real.closeAll
  })

const close = (rest: Rest) => command("closeAll", rest, closeAll)

/** Closes one of several pools on a memory. */
const closePool = (rest: Rest, n: number) =>
  command(`closePool(${n})`, rest, ({ closable }) =>
    Effect.suspend(() => {
      const pool = pick(closable, n)
      if (pool === undefined) return Effect.void
      pool.place.closed = true
      return pool.close
    }))

/** Makes a command rare, because later commands do little after it. */
const rarely = (chance: number, rare: Command): Command => ({
  check: () => chance === 1,
  run: (model, real) => rare.run(model, real),
  toString: () => String(rare)
})

const n = fc.nat(40)
const rest = fc.boolean()
const place = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(7) })
const limit = fc.constantFrom(100, 200, 300, 400, 600, 800, Infinity)

const asked: fc.Arbitrary<Asked> = fc.record({
  size: fc.constantFrom(7, 40, 64, 70, 100, 100, 130, 200, 250, 300, 0),
  place,
  isOther: fc.constantFrom(false, false, true),
  onExhausted: fc.constantFrom("wait", "wait", "wait", "fail"),
  waitAtMost: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 300, 1000),
  timeout: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 500, 1000)
})

const spare = fc.constantFrom(0, 0, 30, 100)

const requested = fc.tuple(rest, n, asked).map((parts) => allocate(...parts))

export const commands = [
  ...Array.from({ length: 12 }, () => requested),
  ...Array.from({ length: 3 }, () => fc.tuple(rest, asked).map((parts) => use(...parts))),
  ...Array.from({ length: 2 }, () => fc.tuple(rest, asked, spare).map((parts) => reserve(...parts))),
  ...Array.from({ length: 4 }, () => fc.tuple(rest, n).map((parts) => release(...parts))),
  fc.tuple(rest, fc.integer({ min: 1, max: 3 })).map((parts) => releaseAll(...parts)),
  fc.tuple(rest, n, n).map((parts) => transfer(...parts)),
  ...Array.from({ length: 2 }, () => fc.tuple(rest, n).map((parts) => finish(...parts))),
  ...Array.from({ length: 3 }, () => fc.tuple(rest, n).map((parts) => interrupt(...parts))),
  rest.map(openScope),
  fc.tuple(rest, n).map((parts) => closeScope(...parts)),
  ...Array.from({ length: 3 }, () => fc.constantFrom(25, 100, 500, 1000, 3000).map(advance)),
  fc.tuple(rest, limit, n).map((parts) => openBudget(...parts)),
  ...Array.from({ length: 2 }, () => fc.tuple(rest, place, limit).map((parts) => setLimit(...parts))),
  fc.tuple(rest, place, fc.constantFrom(0, 100, 300)).map((parts) => trimTo(...parts)),
  rest.map(freeHeld),
  fc.tuple(rest, n).map(([rest, chance]) => rarely(chance % 3, stopHolding(rest))),
  rest.map(resumeHolding),
  fc.tuple(rest, place, fc.constantFrom(...Object.keys(handlers).slice(0, -1))).map((parts) => addHandler(...parts)),
  fc.tuple(rest, place, n).map(([rest, place, chance]) => rarely(chance % 5, addHandler(rest, place, "dies"))),
  rest.map(dropHandlers),
  fc.tuple(rest, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 })).map(([rest, nth, times]) =>
    failAllocations(rest, nth, times, "OutOfMemory")
  ),
  fc.tuple(rest, fc.integer({ min: 1, max: 3 })).map(([rest, nth]) => failAllocations(rest, nth, 1, "DriverError")),
  fc.tuple(rest, fc.integer({ min: 1, max: 3 })).map((parts) => failFrees(...parts)),
  ...Array.from({ length: 2 }, () => fc.tuple(rest, fc.constantFrom(0, 50, 400)).map((parts) => slow(...parts))),
  fc.tuple(rest, fc.nat(5), n).map(([rest, nth, chance]) => rarely(chance, lose(rest, nth))),
  fc.tuple(rest, n, n).map(([rest, pool, chance]) => rarely(chance % 9, closePool(rest, pool))),
  fc.tuple(rest, n).map(([rest, chance]) => rarely(chance, close(rest)))
]

// Ends

/** Releases all leases again and again, until all waiting requests are served. */
export const drain = Effect.fnUntraced(function*(real: Pressed) {
  for (const scope of real.handlers.splice(0)) yield* Scope.close(scope, Exit.void)
  real.faults.clear()
  yield* calmDown(real)
  const patient = real.requests.filter(({ asked, fiber, place, scope }) =>
    fiber.pollUnsafe() === undefined && !isClosed(place) && asked.onExhausted === "wait" &&
    asked.waitAtMost === undefined &&
    asked.timeout === undefined && (scope === undefined || isOpen(scope))
  )
  for (const { finished } of real.requests) yield* Deferred.succeed(finished, undefined)
  for (let rounds = 0; real.requests.some(({ fiber }) => fiber.pollUnsafe() === undefined); rounds++) {
    assert.isBelow(rounds, real.requests.length + 10, "somebody waits for ever")
    yield* TestClock.adjust("1 second")
    yield* Effect.forEach(live(real), (lease) => unlessEnded(Lease.release(lease)))
    yield* restLawsHold(real)
  }
  for (const request of real.requests) endedWell(request, real.history)
  for (const { asked, fiber, lease } of patient) {
    const exit = fiber.pollUnsafe()!
    // A limit may have been lowered during the request's driver call, and a running handler may have failed.
    const isTooLarge = Exit.isFailure(exit) && String(exit.cause).includes("can never fit")
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    if (!real.history.lost && !isTooLarge && !handlerFailed(error, real.history) && !ranOut(error, real.history)) {
      assert(lease() !== undefined, `${shown(asked)}: ${String(exit)}`)
    }
  }
})
