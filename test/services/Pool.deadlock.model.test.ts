/**
 * The search for deadlocks against its definition, over all sets of waiting requests: programs with leases, waiting
 * requests, `use`, children that share a scope, budgets, and operations that request memory on fibers of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Pull from "effect/Pull"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import type { MemoryOptions } from "../../src/domain/pool/PoolOptions.ts"
import * as LazyModule from "../../src/services/calls/LazyModule.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { InOrder } from "../../src/services/staging/InOrder.ts"
import { runs } from "../support/explore.ts"
import { nextTurn } from "../support/hostPool.ts"
import { type Kind, modelled, open, openMemory, type SizedLease, type SizedPool } from "../support/sizedPools.ts"

/** Agents 0 to 3: 0 and 1 have scopes of their own, 2 and 3 share one, as children of one fiber do. */
const scopeOfAgent = [0, 1, 2, 2]

type Command =
  | {
    readonly kind: "allocate" | "lend"
    readonly agent: number
    readonly place: number
    readonly size: number
    /** Set if an operation makes the request, while it uses one of the leases. */
    readonly operation: { readonly uses: number } | undefined
  }
  | { readonly kind: "endLoan"; readonly agent: number }
  | { readonly kind: "release"; readonly nth: number }
  | { readonly kind: "pass"; readonly millis: number }

const agent = fc.nat(scopeOfAgent.length - 1)

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom("allocate" as const, "allocate" as const, "lend" as const),
      agent,
      place: fc.nat(1),
      size: fc.integer({ min: 10, max: 60 }),
      operation: fc.option(fc.record({ uses: fc.nat(10) }), { nil: undefined, freq: 2 })
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("endLoan" as const), agent }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), nth: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), millis: fc.integer({ min: 1, max: 900 }) }) }
)

interface Request {
  readonly agent: number
  readonly scope: number
  readonly place: number
  readonly size: number
  /** The memory that an operation uses, whoever leases it. */
  readonly uses: object | undefined
  readonly arrival: number
}

interface Lease {
  readonly lease: SizedLease
  readonly place: number
  /** The scope that owns it, or the agent whose `use` has it. */
  readonly owner: { readonly scope: number; readonly firstAgent: number | undefined } | { readonly borrower: number }
}

interface Agent {
  readonly inbox: Queue.Queue<Command>
  waits: Request | undefined
  failed: { readonly request: Request; readonly error: GpuError } | undefined
}

/** The test's own record of a running program. */
class World {
  readonly places: ReadonlyArray<SizedPool>
  /** Bytes. */
  readonly limits: ReadonlyArray<number>
  readonly isOneLine: boolean
  readonly scopes: ReadonlyArray<Scope.Closeable>
  readonly agents: ReadonlyArray<Agent>
  readonly leases: Array<Lease> = []
  /** The agent that first asked for a lease in a scope; `undefined` if that was an operation. */
  readonly firstAgents = new Map<number, number | undefined>()
  #arrivals = 0

  constructor({ isOneLine, limits, places }: Ground, agents: ReadonlyArray<Agent>) {
    this.places = places
    this.limits = limits
    this.isOneLine = isOneLine
    this.agents = agents
    this.scopes = [0, 1, 2].map(() => Scope.makeUnsafe())
  }

  get live(): ReadonlyArray<Lease> {
    return this.leases.filter(({ lease }) => Lease.isLive(lease))
  }

  get waiting(): ReadonlyArray<Request> {
    return this.agents.flatMap(({ waits }) => waits ?? [])
  }

  /** Whether a wait queue waits for a lease. */
  isOfLine(lease: Lease, place: number): boolean {
    return this.isOneLine || lease.place === place
  }

  ask(agent: number, place: number, size: number, uses: object | undefined): Request {
    const request = { agent, scope: scopeOfAgent[agent]!, place, size, uses, arrival: this.#arrivals++ }
    this.agents[agent]!.waits = request
    return request
  }
}

const memoryOf = ({ block }: SizedLease): object | undefined => block?.value.wholeMemory.allocation

const isHeldBy = (requests: ReadonlyArray<Request>, { lease, owner }: Lease): boolean =>
  requests.some(({ uses }) => uses !== undefined && uses === memoryOf(lease)) || ("borrower" in owner
    ? requests.some(({ agent }) => agent === owner.borrower)
    : requests.some(({ agent, scope }) => scope === owner.scope || agent === owner.firstAgent))

/** An operation makes a request on a fiber of its own, and its caller waits. */
const operated = <A, E, R>(asked: Effect.Effect<A, E, R>, uses: object | undefined) =>
  Effect.scopedWith((scope) =>
    Effect.gen(function*() {
      const results = yield* InOrder.begin<A, E, R>((hand) => hand.hand(() => asked), {
        most: 1,
        scope,
        status: new DeviceStatus("model"),
        uses: uses === undefined ? [] : [uses]
      })
      const [result] = yield* results.pipe(Pull.catchDone(() => Effect.die("an operation without a result")))
      return result
    })
  )

/** A set of requests is stuck when their own jobs have every lease for which any of their wait queues waits. */
const isStuck = (world: World, requests: ReadonlyArray<Request>): boolean =>
  requests.every(({ place }) => world.live.every((lease) => !world.isOfLine(lease, place) || isHeldBy(requests, lease)))

const subsets = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.reduce<ReadonlyArray<ReadonlyArray<A>>>((sets, one) => [...sets, ...sets.map((set) => [...set, one])], [[]])

/** The union of all stuck sets, by its definition. */
const stuckIn = (world: World): ReadonlyArray<Request> => {
  const stuck = new Set(subsets(world.waiting).filter((set) => isStuck(world, set)).flat())
  return Array.from(stuck)
}

const ageOf = (world: World, request: Request): number =>
  Math.min(Infinity, ...world.live.filter((lease) => isHeldBy([request], lease)).map(({ lease }) => lease.sequence))

interface Job {
  readonly age: number
  /** The latest request first. */
  readonly requests: ReadonlyArray<Request>
  readonly leases: ReadonlyArray<Lease>
}

/** The stuck jobs that have memory, the youngest first. */
const jobsIn = (world: World): ReadonlyArray<Job> => {
  const holding = stuckIn(world).filter((request) => ageOf(world, request) < Infinity)
  const ages = Array.from(new Set(holding.map((request) => ageOf(world, request)))).sort((a, b) => b - a)
  return ages.map((age) => {
    const requests = holding.filter((request) => ageOf(world, request) === age).sort((a, b) => b.arrival - a.arrival)
    return { age, requests, leases: world.live.filter((lease) => isHeldBy(requests, lease)) }
  })
}

const bytesIn = (leases: Iterable<Lease>, isMeant: (lease: Lease) => boolean): number =>
  Array.from(leases).reduce((sum, lease) => sum + (isMeant(lease) ? lease.lease.capacity : 0), 0)

/** Whether all jobs but the victims get what they wait for, if each job that is served then releases its leases. */
const goOnWithout = (world: World, jobs: ReadonlyArray<Job>, victims: ReadonlyArray<Job>): boolean => {
  const back = new Set(victims.flatMap(({ leases }) => leases))
  const fits = ({ place, size }: Request): boolean =>
    size <= world.limits[place]! - bytesIn(world.live, (lease) => world.isOfLine(lease, place) && !back.has(lease))
  let left = jobs.filter((job) => !victims.includes(job))
  for (let served = left; left.length > 0;) {
    served = left.filter(({ requests }) => requests.every(fits))
    if (served.length === 0) return false
    left = left.filter((job) => !served.includes(job))
    for (const { leases } of served) for (const lease of leases) back.add(lease)
  }
  return true
}

/** How many jobs with memory each wait queue allows, after its first deadlock. */
type Most = ReadonlyMap<number, number>

const half = (jobs: number): number => Math.max(1, Math.floor(jobs / 2))

const lineOf = (world: World, place: number): number => world.isOneLine ? 0 : place

/** How many jobs have leases for which each wait queue waits. */
const havingIn = (world: World, jobs: ReadonlyArray<Job>): ReadonlyMap<number, number> => {
  const having = new Map<number, number>()
  const isWaitedFor = (line: number) => world.waiting.some(({ place }) => lineOf(world, place) === line)
  for (const { leases } of jobs) {
    for (const line of new Set(leases.map(({ place }) => lineOf(world, place)))) {
      if (isWaitedFor(line)) having.set(line, (having.get(line) ?? 0) + 1)
    }
  }
  return having
}

/** The victims by the rule, and how many jobs may then have memory, for each wait queue. */
const victimsIn = (world: World, most: Most): { readonly victims: ReadonlyArray<Request>; readonly most: Most } => {
  const jobs = jobsIn(world)
  const having = havingIn(world, jobs)
  const mostLeft = new Map(
    Array.from(having, ([line, count]) => [line, most.has(line) ? half(Math.min(count, most.get(line)!)) : Infinity])
  )
  const isEnough = (victims: ReadonlyArray<Job>): boolean => {
    const left = jobs.filter((job) => !victims.includes(job))
    const areFew = Array.from(havingIn(world, left)).every(([line, count]) => count <= mostLeft.get(line)!)
    return areFew && goOnWithout(world, jobs, victims)
  }
  const mayFail = jobs.slice(0, Math.max(1, jobs.length - 1))
  const count = Array.from(mayFail.keys(), (index) => index + 1).find((count) => isEnough(mayFail.slice(0, count)))
  // The oldest of them is spared first.
  const victims = mayFail.slice(0, count ?? 1).reduceRight<ReadonlyArray<Job>>((all, victim) => {
    const others = all.filter((one) => one !== victim)
    return count !== undefined && others.length > 0 && isEnough(others) ? others : all
  }, mayFail.slice(0, count ?? 1))
  return {
    victims: victims.map(({ requests }) => requests[0]!),
    most: new Map([
      ...most,
      ...Array.from(having).flatMap(([line, count]): ReadonlyArray<[number, number]> =>
        count < 2 ? [] : [[line, half(Math.min(count, most.get(line) ?? Infinity))]]
      )
    ])
  }
}

const run = (world: World, self: number): Effect.Effect<void> => {
  const me = world.agents[self]!
  const failed = (request: Request) => (error: GpuError) =>
    Effect.sync(() => {
      me.waits = undefined
      me.failed = { request, error }
    })
  const step = (command: Command): Effect.Effect<boolean> => {
    if (command.kind === "endLoan") return Effect.succeed(false)
    if (command.kind !== "allocate" && command.kind !== "lend") return Effect.succeed(true)
    const { operation, place, size } = command
    const used = operation === undefined
      ? undefined
      : world.live[operation.uses % Math.max(1, world.live.length)]?.lease
    const request = world.ask(self, place, size, used)
    const pool = world.places[place]!
    if (command.kind === "lend" && operation === undefined) {
      const loan = pool.use(size, (lease) => {
        me.waits = undefined
        world.leases.push({ lease, place, owner: { borrower: self } })
        return loop
      })
      return loan.pipe(
        Effect.catch(failed(request)),
        Effect.as(true),
        Effect.provideService(Scope.Scope, world.scopes[request.scope]!)
      )
    }
    if (!world.firstAgents.has(request.scope)) {
      world.firstAgents.set(request.scope, operation === undefined ? self : undefined)
    }
    const firstAgent = world.firstAgents.get(request.scope)
    const asked = pool.allocate(size)
    return (operation === undefined ? asked : operated(asked, used)).pipe(
      Effect.map((lease) => {
        me.waits = undefined
        world.leases.push({ lease, place, owner: { scope: request.scope, firstAgent } })
      }),
      Effect.catch(failed(request)),
      Effect.as(true),
      Effect.provideService(Scope.Scope, world.scopes[request.scope]!)
    )
  }
  const loop: Effect.Effect<void> = Effect.suspend(() => {
    let goesOn = true
    return Effect.whileLoop({
      while: () => goesOn,
      body: () => Effect.flatMap(Queue.take(me.inbox), step),
      step: (next) => {
        goesOn = next
      }
    })
  })
  return Effect.forever(loop)
}

const settle = Effect.forEach(Array.from({ length: 12 }), () => nextTurn, { discard: true })

/** Longer than all commands together, so that the pool's first search is after them. */
const deadlockTimeout = 20_000

/**
 * What the requests of a program wait for: a pool, two budgets of a pool, or two pools of the modelled kinds on one
 * memory.
 */
const grounds: Readonly<Record<string, (options: MemoryOptions) => Effect.Effect<Ground, GpuError>>> = {
  "in a pool of buffers": (options) => inPool("buffers", options),
  "in a pool of images": (options) => inPool("images", options),
  "in budgets of a pool of buffers": (options) => inBudgets("buffers", options),
  "in budgets of a pool of images": (options) => inBudgets("images", options),
  "in pools of buffers and of images on one memory": (memory) =>
    Effect.gen(function*() {
      const pools = modelled.map((kind) => ({ kind, onExhausted: "wait" as const }))
      const opened = yield* openMemory({ memory: { maxBytes: 100, ...memory }, pools })
      const places = opened.pools.map(({ pool }) => pool)
      return {
        ...opened,
        places,
        limits: [100, 100],
        isOneLine: true,
        stats: opened.memory.stats,
        setLimits: opened.memory.setLimit(100),
        closePools: opened.closeMemory
      }
    })
}

interface Ground {
  readonly places: ReadonlyArray<SizedPool>
  /** The limit of each, in bytes. */
  readonly limits: ReadonlyArray<number>
  /** Whether all wait in one wait queue, or each place has its own. */
  readonly isOneLine: boolean
  readonly stats: SizedPool["stats"]
  /** Sets all limits to their current values. */
  readonly setLimits: Effect.Effect<unknown, GpuError>
  readonly closePools: Effect.Effect<void>
  readonly closeHost: Effect.Effect<void>
}

const inPool = (kind: Kind, options: MemoryOptions): Effect.Effect<Ground, GpuError> =>
  Effect.map(open(kind, { pool: { maxBytes: 100, onExhausted: "wait", ...options } }), ({ pool, ...opened }) => ({
    ...opened,
    places: [pool, pool],
    limits: [100, 100],
    isOneLine: true,
    stats: pool.stats,
    setLimits: pool.setLimit(100),
    closePools: opened.closePool
  }))

const inBudgets = (kind: Kind, options: MemoryOptions): Effect.Effect<Ground, GpuError> =>
  Effect.gen(function*() {
    const { pool, ...opened } = yield* open(kind, { pool: { maxBytes: 160, onExhausted: "wait", ...options } })
    const limits = [100, 60]
    const places = yield* Effect.forEach(limits, (limit) => pool.budget(limit))
    const setLimits = Effect.forEach(places, (place, index) => place.setLimit(limits[index]!))
    return { ...opened, places, limits, isOneLine: false, stats: pool.stats, setLimits, closePools: opened.closePool }
  })

const check = (ground: (typeof grounds)[string], commands: ReadonlyArray<Command>) =>
  Effect.gen(function*() {
    // The test clock would advance while a part loads.
    yield* LazyModule.all
    const opened = yield* ground({ deadlockTimeout })
    const { closeHost, closePools, setLimits, stats } = opened
    const agents = yield* Effect.forEach(scopeOfAgent, () =>
      Effect.map(Queue.unbounded<Command>(), (inbox): Agent => ({ inbox, waits: undefined, failed: undefined })))
    const world = new World(opened, agents)
    const fibers = yield* Effect.forEach(agents, (_, self) =>
      Effect.forkDetach(run(world, self)))
    for (const command of commands) {
      if (command.kind === "pass") {
        yield* TestClock.adjust(command.millis)
      } else if (command.kind === "release") {
        const lease = world.live[command.nth % Math.max(1, world.live.length)]
        if (lease !== undefined) yield* Lease.release(lease.lease)
      } else if (agents[command.agent]!.waits === undefined) {
        yield* Queue.offer(agents[command.agent]!.inbox, command)
      }
      yield* settle
      const broken = agents.filter(({ failed }) => failed !== undefined)
      // A request that can never fit is not covered by this law; one that failed earlier was checked then.
      for (const one of broken) one.failed = undefined
    }
    // So that all requests have waited for the whole time at the pool's second search.
    yield* setLimits
    const found = yield* compared(world)
    for (const fiber of fibers) yield* Fiber.interrupt(fiber)
    for (const scope of world.scopes) yield* Scope.close(scope, Exit.void)
    const { activeBlocks, pendingBytes, waiters } = yield* stats
    deepStrictEqual([activeBlocks, pendingBytes, waiters], [0, 0, 0])
    yield* closePools
    yield* closeHost
    return found
  }).pipe(Effect.provide(TestClock.layer()))

const byArrival = (a: Request, b: Request): number => a.arrival - b.arrival

/**
 * From here on the program only waits. Compares the requests that fail, one deadlock after the other, and checks that
 * no other fails.
 */
const compared = Effect.fnUntraced(function*(world: World) {
  let most: Most = new Map()
  for (let rounds = 0; rounds <= scopeOfAgent.length; rounds++) {
    const expected = victimsIn(world, most)
    most = expected.most
    // Each search ends one deadlock, and the next search comes after the same time again.
    let failures: ReadonlyArray<NonNullable<Agent["failed"]>> = []
    for (let halves = 0; halves < 6 && failures.length === 0; halves++) {
      yield* TestClock.adjust(deadlockTimeout / 2)
      yield* settle
      failures = world.agents.flatMap(({ failed }) => failed ?? [])
    }
    deepStrictEqual(
      failures.map(({ request }) => request).sort(byArrival),
      expected.victims.slice().sort(byArrival)
    )
    for (const { error } of failures) {
      assert(error.reason._tag === "OutOfMemory", error.message)
      assert.isAbove(error.reason.deadlock.length, 0, error.message)
    }
    for (const one of world.agents) one.failed = undefined
    if (expected.victims.length === 0) return rounds
  }
  return assert.fail("more requests were ended than there are agents")
})

describe("requests that wait for each other", () => {
  it.each(Object.entries(grounds))("are found as the definition says, %s", async (_, ground) => {
    const programs = runs(250, 100)
    let found = 0
    const property = fc.asyncProperty(fc.array(command, { minLength: 4, maxLength: 16 }), async (commands) => {
      found += await Effect.runPromise(check(ground, commands))
    })
    await fc.assert(property, { numRuns: programs })
    assert.isAbove(found, programs / 8, "too few of these programs stand still")
  })
})
