/**
 * Random programs that put pools under pressure, from the opening of the pools to the check that nothing is left of
 * them.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { counted, type CountingScheduler } from "./CountingScheduler.ts"
import { logsTo } from "./hostPool.ts"
import { closeAll, commands, drain, endedWell, type History, type Pressed } from "./pressureCommands.ts"
import { leasingPlaceOf, placeOf, restLawsHold, staysWithinLimit } from "./pressureLaws.ts"
import { type Kind, open, openMemory, type SharedPool, type Watch } from "./sizedPools.ts"

const policies = [
  SizePolicy.defaultPolicy,
  SizePolicy.leadingBits(1),
  SizePolicy.table([64, 128, 256]),
  SizePolicy.table([16, 80, 160, 280], { borrow: 1 })
]

const common = {
  capacityBytes: fc.constantFrom(320, 500, 1_000_000),
  granularity: fc.constantFrom(1, 4),
  lateFree: fc.boolean(),
  maxBytes: fc.constantFrom(300, 400, 600, Infinity),
  maxHeldBytes: fc.constantFrom(undefined, undefined, 0, 150),
  maxBypasses: fc.constantFrom(0, 1, 16, 1000),
  idle: fc.boolean(),
  /** Nested budgets of the first pool. */
  budgets: fc.constantFrom([], [300], [400, 200], [400, 300, 250]),
  /** Whether all waiting requests are served at the end, or fail because the pool closes. */
  drained: fc.boolean()
}

const poolOf = (kind: fc.Arbitrary<Kind>, maxBytes: fc.Arbitrary<number | undefined>) =>
  fc.record({
    kind,
    sizePolicy: fc.constantFrom(...policies),
    clear: fc.constantFrom("never" as const, "never" as const, "acquire" as const),
    maxBytes
  })

/** A pool of this kind with a memory of its own. */
export const alone = (kind: Kind): fc.Arbitrary<Settings> =>
  fc.record({
    ...common,
    shared: fc.constant(false),
    pools: fc.tuple(poolOf(fc.constant(kind), fc.constant(undefined)))
  })

const share = fc.constantFrom(undefined, undefined, 250, 350)

/** A pool of buffers, one of images and perhaps another one on one memory. */
export const together: fc.Arbitrary<Settings> = fc.record({
  ...common,
  shared: fc.constant(true),
  pools: fc.tuple(
    poolOf(fc.constant("buffers"), share),
    poolOf(fc.constant("images"), share),
    fc.option(poolOf(fc.constantFrom("buffers", "images"), share), { nil: undefined })
  ).map((pools) => pools.filter((pool) => pool !== undefined))
})

export interface Settings {
  readonly capacityBytes: number
  readonly granularity: number
  readonly lateFree: boolean
  readonly maxBytes: number
  readonly maxHeldBytes: number | undefined
  readonly maxBypasses: number
  readonly idle: boolean
  readonly shared: boolean
  readonly pools: ReadonlyArray<SharedPool>
  readonly budgets: ReadonlyArray<number>
  readonly drained: boolean
}

type OpenedDevice = Pick<Pressed, "root" | "places" | "closable" | "closeAll" | "faults" | "driverObjects"> & {
  readonly usedBytes: () => number
  readonly closeHost: Effect.Effect<void>
}

const openPools = Effect.fnUntraced(function*(given: Settings, watch: Watch): Effect.fn.Return<OpenedDevice, GpuError> {
  const { capacityBytes, granularity, lateFree } = given
  const host = { capacityBytes, granularity, lateFree }
  const memory = {
    maxBytes: given.maxBytes,
    maxHeldBytes: given.maxHeldBytes,
    maxBypasses: given.maxBypasses,
    idleTimeToLive: given.idle ? "2 seconds" as const : undefined,
    // Deadlocks have a model of their own.
    deadlockTimeout: Infinity
  }
  if (!given.shared) {
    const { kind, maxBytes: _, ...more } = given.pools[0]!
    const opened = yield* open(kind, { host, watch, pool: { ...memory, ...more, onExhausted: "wait" } })
    const root = leasingPlaceOf(kind, opened.pool, undefined)
    return { ...opened, root, places: [root], closable: [], closeAll: opened.closePool }
  }
  const pools = given.pools.map((pool) => ({ ...pool, onExhausted: "wait" as const }))
  const opened = yield* openMemory({ host, watch, memory, pools })
  const root = placeOf(opened.memory, undefined)
  const closable = opened.pools.map(({ close, kind, pool }) => ({ place: leasingPlaceOf(kind, pool, root), close }))
  return { ...opened, root, places: closable.map(({ place }) => place), closable, closeAll: opened.closeMemory }
})

/**
 * Checks the limits at every driver call, also within a step. The driver's used bytes are within the limit too, unless
 * it frees late: then the limit is on the bytes not yet passed to free. A lowered limit takes no bytes from requests
 * that have them.
 */
const boundary = (lateFree: boolean, opened: () => OpenedDevice | undefined): Watch => {
  const look = (bytes: number) => {
    const parts = opened()
    if (parts === undefined) return
    for (const place of [parts.root, ...parts.places]) staysWithinLimit(place)
    const used = parts.usedBytes() + bytes
    const { mostBytes } = parts.root
    assert(lateFree || used <= mostBytes, `the driver is to give ${used} bytes, of ${mostBytes}`)
  }
  return {
    creating: (bytes, create) =>
      Effect.suspend(() => {
        look(bytes)
        return create
      }),
    destroying: () => look(0)
  }
}

const underPressure = Effect.fnUntraced(function*(given: Settings, scheduler: CountingScheduler) {
  let parts: OpenedDevice | undefined
  const opened = yield* openPools(given, boundary(given.lateFree, () => parts))
  parts = opened
  for (const limit of given.budgets) {
    const parent = opened.places.at(-1)!
    const controls = yield* parent.controls.budget(limit)
    opened.places.push(leasingPlaceOf(parent.kind, controls, parent))
  }
  const history: History = {
    closed: false,
    lost: false,
    driverErrors: false,
    driverRefuses: false,
    dyingHandlers: false
  }
  const context = yield* Effect.context<never>()
  const requests: Pressed["requests"] = []
  const real: Pressed & OpenedDevice = {
    ...opened,
    scheduler,
    handlersAtWork: 0,
    maxBypasses: given.maxBypasses,
    granularity: given.granularity,
    driverIsRich: () => given.capacityBytes >= 1_000_000 && !history.driverRefuses && !history.lost,
    run: (command) => Effect.runPromiseWith(context)(command),
    history,
    clients: [],
    scopes: [Scope.makeUnsafe(), Scope.makeUnsafe(), Scope.makeUnsafe()],
    requests,
    hasReserved: () => requests.some(({ asked }) => asked.spare !== undefined),
    handlers: [],
    background: []
  }
  return real
})

/** Checks that no request hangs, that all failures are typed errors, and that no driver object is left. */
const close = Effect.fnUntraced(function*(real: Pressed & OpenedDevice) {
  yield* closeAll(real)
  yield* restLawsHold(real)
  // A running handler belongs to the program and is no waiting request.
  yield* TestClock.adjust("1 second")
  for (const { finished } of real.requests) yield* Deferred.succeed(finished, undefined)
  for (const request of real.requests) {
    yield* Fiber.await(request.fiber)
    endedWell(request, real.history)
  }
  for (const fiber of real.background) yield* Fiber.join(fiber)
  for (const pool of real.closable) yield* pool.close
  for (const scope of real.scopes) yield* Scope.close(scope, Exit.void)
  for (const { controls } of [real.root, ...real.places]) {
    const { activeBytes, activeBlocks, managedBytes, pendingBytes, reservedBytes, waiters } = yield* controls.stats
    deepStrictEqual(
      [activeBlocks, activeBytes, managedBytes, pendingBytes, reservedBytes, waiters],
      [0, 0, 0, 0, 0, 0]
    )
  }
  yield* real.closeHost
  strictEqual(real.driverObjects.live, 0)
})

/** Every program has pools of its own. */
export const programsOn = (settings: fc.Arbitrary<Settings>) =>
  fc.asyncProperty(
    settings,
    fc.commands(commands, { maxCommands: 60, size: "max" }),
    (given, run) =>
      counted((scheduler) =>
        Effect.gen(function*() {
          const real = yield* underPressure(given, scheduler)
          yield* Effect.promise(() => fc.asyncModelRun(() => ({ model: {}, real }), run))
          if (given.drained) yield* drain(real)
          yield* close(real)
        })
      ).pipe(Effect.provide([TestClock.layer(), logsTo([])]), Effect.runPromise)
  )
