/**
 * Jobs of two clients on a fleet of two hosts, in explored orders of all fibers of clients, hosts and broker, while at any step something
 * happens to one of them.
 */
import { FleetJob } from "@effect-gpu-pool/fleet"
import { describe, it } from "@effect/vitest"
import { isGpuError } from "effect-gpu-pool/GpuError"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as LazyModule from "../../../src/services/calls/LazyModule.ts"
import { stepAfter } from "../../../test/support/explore.ts"
import { hostOf, make, type World } from "./support/world.ts"

interface Intruder {
  readonly name: string
  readonly act: (world: World, main: Fiber.Fiber<unknown, unknown>) => Effect.Effect<unknown>
  /** Whether a job that runs once may fail by it. */
  readonly mayFail: boolean
}

const intruders: ReadonlyArray<Intruder> = [
  { name: "an interruption", act: (_, main) => Fiber.interrupt(main), mayFail: true },
  { name: "another broker", act: (world) => world.failOver, mayFail: false },
  { name: "a connection that breaks", act: (world) => world.host("a").network.break, mayFail: true },
  {
    name: "a host that hangs and comes back",
    act: (world) =>
      Effect.gen(function*() {
        const { network } = world.host("a")
        network.stall()
        yield* Effect.sleep(world.timing.hostTimeout * 2)
        network.heal()
      }),
    mayFail: true
  },
  { name: "a host that ends", act: (world) => world.host("a").close, mayFail: false },
  {
    name: "a short silence",
    act: (world) =>
      Effect.gen(function*() {
        const { network } = world.host("a")
        network.stall()
        yield* Effect.sleep(world.timing.hostTimeout / 2)
        network.heal()
      }),
    mayFail: false
  }
]

const check = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, string> =>
  JSON.stringify(actual) === JSON.stringify(expected)
    ? Effect.void
    : Effect.fail(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)

/** The intruder acts after so many rounds of all fibers. `tooLate` is called if the jobs had ended by then. */
const program = ({ act, mayFail }: Intruder, rounds: number, tooLate: () => void) =>
  Effect.scoped(Effect.gen(function*() {
    const begun = new Map<string, number>()
    const work = (id: string) =>
      Effect.suspend(() => {
        begun.set(id, (begun.get(id) ?? 0) + 1)
        return Effect.as(Effect.sleep(1), id)
      })
    const schemas = { input: Schema.String, output: Schema.String }
    const Again = FleetJob.make("Again", { ...schemas, bytes: 700, isIdempotent: true })
    const Once = FleetJob.make("Once", { ...schemas, bytes: 500 })
    const jobs = [FleetJob.handler(Again, work), FleetJob.handler(Once, work)]
    const world = yield* make({ hosts: [hostOf("a", 1000, jobs), hostOf("b", 750, jobs)] })
    const { fleet } = world
    const main = Effect.all(
      [fleet.run(Again, "again"), Effect.exit(fleet.run(Once, "once")), fleet.run(Again, "more")],
      {
        concurrency: "unbounded"
      }
    )
    const running = yield* Effect.forkChild(main)
    const intruding = Effect.gen(function*() {
      for (let round = 0; round < rounds; round++) yield* Effect.yieldNow
      if (running.pollUnsafe() !== undefined) tooLate()
      yield* act(world, running)
    })
    const intruder = yield* Effect.forkChild(intruding)
    const exit = yield* Fiber.await(running)
    yield* Fiber.join(intruder)
    if (Exit.isSuccess(exit)) {
      const [again, once, more] = exit.value
      yield* check("outputs", [again, more], ["again", "more"])
      if (Exit.isSuccess(once)) yield* check("the output of the job that runs once", once.value, "once")
      else {
        const lost = once.cause.reasons.every((reason) =>
          reason._tag === "Fail" && isGpuError(reason.error) && reason.error.reason._tag === "HostLost"
        )
        yield* check("its failure is HostLost, by the intruder", [lost, mayFail], [true, true])
      }
    } else {yield* check(`interrupted by the intruder, ${String(exit.cause)}`, [Exit.hasInterrupts(exit), mayFail], [
        true,
        true
      ])}
    yield* check("how often the job began that runs once", Math.max(begun.get("once") ?? 0, 1), 1)
    // Placed reservations whose client was interrupted are kept for a while.
    yield* Effect.sleep(world.timing.claimTimeout + world.timing.hostTimeout)
    const { hosts, waiters } = yield* fleet.status
    yield* check("waiters", waiters, 0)
    for (const { devices, name } of hosts) {
      yield* check(`reserved on ${name}`, devices.map(({ reservedBytes }) => reservedBytes), [0])
    }
    for (const name of ["a", "b"]) {
      const { activeBytes, pendingBytes, reservedBytes, waiters } = yield* world.host(name).stats
      yield* check(`the pool of ${name}`, [activeBytes, pendingBytes, reservedBytes, waiters], [0, 0, 0, 0])
      yield* check(`grants of ${name}`, [...world.host(name).state.grants.keys()], [])
    }
  }))

describe("in any order of all fibers, jobs end well or as they must", () => {
  for (const intruder of intruders) {
    it.live(`with ${intruder.name}`, () =>
      Effect.gen(function*() {
        yield* Effect.orDie(LazyModule.all)
        const end = { isReached: false }
        const tooLate = () => {
          end.isReached = true
        }
        for (let rounds = 0; !end.isReached; rounds = stepAfter(rounds)) {
          const schedules = { schedules: 2, seed: rounds, maxSteps: 60_000 }
          yield* Schedules.random(program(intruder, rounds, tooLate), schedules)
        }
      }))
  }
})
