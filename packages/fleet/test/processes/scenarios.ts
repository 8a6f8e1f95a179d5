/**
 * What a fleet of processes must do, whatever its storage: the same jobs, losses and checks.
 *
 * This is where real time is allowed, since processes that hang cannot be simulated. No bound is tight. A complete run prints the times.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { isWhole } from "../../../../test/support/explore.ts"
import * as HostLog from "./HostLog.ts"
import { type Input, Once, type Output, Repeatable } from "./jobs.ts"
import type { Loss } from "./losses.ts"
import { CurrentFleet, type TestedFleet, type TestedHost, timed, until } from "./TestedFleet.ts"

/** No host has ever had more than its bytes. */
const checkBytes = (hosts: ReadonlyArray<TestedHost>): void => {
  for (const { bytes, log, name } of hosts) {
    const { byJobs, byPool } = HostLog.mostUsed(log())
    assert.isAtMost(byJobs, bytes, `the jobs of ${name}`)
    assert.isAtMost(byPool, bytes, `the pool of ${name}`)
  }
}

/** The jobs that must not run twice have not. */
const checkOnce = (fleet: TestedFleet): void => {
  const twice = [...HostLog.begins(fleet.lines().filter(({ job }) => job === "Once"))].filter(([, count]) => count > 1)
  deepStrictEqual(twice, [])
}

/** Of a job that failed. */
const reasonOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "none"
  const error = Cause.squash(exit.cause)
  return isGpuError(error) ? error.reason._tag : String(error)
}

const hundred = (n: number): number => 100 + n * 37 % 900

/** How late the time of a call may be at the broker, in milliseconds: calls of this age are not compared. */
const lateness = 250

/** How often a later job got a host on which an earlier one could have been. */
const mostBypasses = (
  asked: ReadonlyMap<string, number>,
  inputs: ReadonlyMap<string, Input>,
  begins: ReadonlyArray<HostLog.Line>,
  capacities: ReadonlyMap<string, number>
): number => {
  const begun = new Map<string, number>()
  for (const { at, id } of begins) if (!begun.has(id)) begun.set(id, at)
  return Math.max(...[...inputs.values()].map(({ bytes, id }) => {
    const [askedAt, began] = [asked.get(id)!, begun.get(id)!]
    return begins.filter((other) =>
      asked.get(other.id)! > askedAt + lateness && other.at < began && capacities.get(other.host)! >= bytes
    ).length
  }))
}

/** Figures, for whoever looks at a complete run. */
const print = (text: string): void => {
  if (isWhole) console.log(text)
}

/**
 * So many jobs of four clients, of which every 25th of a client needs all bytes of the largest host. A busy machine may stop a host for
 * longer than its timeout; then jobs that may not run twice can be lost, and only then.
 */
export const manyJobs = Effect.fnUntraced(function*(count: number) {
  const fleet = yield* CurrentFleet
  const largest = Math.max(...fleet.hosts.map(({ bytes }) => bytes))
  const asked = new Map<string, number>()
  const lost = new Set<string>()
  const one = Effect.fnUntraced(
    function*(client: Effect.Success<TestedFleet["client"]>, job: typeof Once, input: Input) {
      asked.set(input.id, HostLog.now())
      const exit = yield* Effect.exit(client.run(job, input))
      if (Exit.isSuccess(exit)) return strictEqual(exit.value.id, input.id)
      deepStrictEqual([job.name, reasonOf(exit)], ["Once", "HostLost"])
      lost.add(input.id)
    }
  )
  const inputsOf = (client: number): ReadonlyArray<Input> =>
    Array.from({ length: count / 4 }, (_, n) => ({
      id: `many ${client}/${n}`,
      bytes: n % 25 === 0 ? largest : hundred(n),
      millis: n % 5
    }))
  const [millis] = yield* timed(Effect.forEach(
    [0, 1, 2, 3],
    (number) =>
      Effect.flatMap(
        fleet.client,
        (client) =>
          Effect.forEach(inputsOf(number), (input, n) => one(client, n % 2 === 0 ? Once : Repeatable, input), {
            concurrency: 50
          })
      ),
    { concurrency: "unbounded" }
  ))
  const inputs = new Map([0, 1, 2, 3].flatMap(inputsOf).map((input) => [input.id, input]))
  const begins = fleet.lines().filter(({ id, what }) => what === "begin" && inputs.has(id) && !lost.has(id))
  const begun = [...HostLog.begins(begins).values()]
  strictEqual(begun.length, count - lost.size)
  if (lost.size === 0) deepStrictEqual([...new Set(begun)], [1])
  checkOnce(fleet)
  checkBytes(fleet.hosts)
  for (const id of lost) inputs.delete(id)
  const bypasses = mostBypasses(asked, inputs, begins, new Map(fleet.hosts.map(({ bytes, name }) => [name, bytes])))
  print(`${count} jobs in ${millis.toFixed(0)} ms, ${lost.size} lost; the most bypasses of one: ${bypasses}`)
  // The broker allows 16; a job that it has placed may begin late.
  assert.isAtMost(bypasses, 64)
})

/** When a host was lost, and in which epoch. */
interface Lost {
  readonly host: TestedHost
  readonly epoch: number
  readonly at: number
}

/** Outputs come from runs that were not over: of the lost epoch, only those that had ended before. */
const checkOutputs = (lost: Lost, outputs: ReadonlyArray<Output>): void => {
  const ends = new Map(
    lost.host.log().filter(({ what }) => what === "end").map(({ at, epoch, id }) => [`${epoch} ${id}`, at])
  )
  for (const { epoch, host, id } of outputs) {
    if (host !== lost.host.name || epoch !== lost.epoch) continue
    assert.isAtMost(ends.get(`${epoch} ${id}`) ?? Infinity, lost.at + 100, `${id} of the lost epoch`)
  }
}

/** Jobs that two clients run, until all of them have an exit. Those of `pinned` have no other host. */
const jobsAround = Effect.fnUntraced(function*(fleet: TestedFleet, title: string, host: string) {
  const [one, two] = yield* Effect.all([fleet.client, fleet.client])
  const outputs: Array<Output> = []
  const input = (what: string, n: number): Input => ({
    id: `${title}: ${what} ${n}`,
    bytes: hundred(n),
    millis: 20 + n
  })
  const pinned = (what: string, millis: number): Input => ({ id: `${title}: ${what}`, bytes: 100, millis, host })
  const inputs = (count: number, what: string) => Array.from({ length: count }, (_, n) => input(what, n))
  const output = (run: ReturnType<typeof one.run<Input, Output, never>>) =>
    Effect.map(run, (output) => void outputs.push(output))
  return {
    outputs,
    pinned: [`${title}: long`, `${title}: again`],
    /** In the host's lease when it is lost, and must not run again. */
    long: yield* Effect.forkChild(Effect.map(Effect.exit(one.run(Once, pinned("long", 120_000))), (exit) => ({
      exit,
      at: HostLog.now()
    }))),
    again: yield* Effect.forkChild(output(two.run(Repeatable, pinned("again", 3_000)))),
    repeatable: yield* Effect.forkChild(
      Effect.forEach(inputs(60, "repeatable"), (input) => output(one.run(Repeatable, input)), { concurrency: 20 })
    ),
    once: yield* Effect.forkChild(
      Effect.forEach(inputs(40, "once"), (input) => Effect.exit(two.run(Once, input)), { concurrency: 20 })
    )
  }
})

/**
 * A host is lost in the middle of jobs, and comes back. `ofBroker` chooses the host that has the broker, or another one. Answers after
 * how many milliseconds a client was told.
 */
export const lose = (loss: Loss, ofBroker: boolean) =>
  Effect.gen(function*() {
    const fleet = yield* CurrentFleet
    yield* fleet.complete
    const broker = yield* fleet.broker
    const host = fleet.hosts.find((host) => (host === broker) === ofBroker)!
    const title = `${loss.title}${ofBroker ? " with the broker" : ""}`
    const jobs = yield* jobsAround(fleet, title, host.name)
    yield* until(Effect.sync(() => {
      const begun = HostLog.begins(host.log())
      return jobs.outputs.length >= 10 && jobs.pinned.every((id) => begun.has(id))
    }))
    const { epoch } = (yield* fleet.statusOf(host))!
    const lost: Lost = { host, epoch, at: HostLog.now() }
    loss.lose(host)
    const exits = yield* Effect.gen(function*() {
      yield* Fiber.join(jobs.repeatable)
      return yield* Fiber.join(jobs.once)
    }).pipe(Effect.onError(() => loss.comeBack(host)))
    const served = HostLog.now() - lost.at
    const long = yield* Fiber.join(jobs.long)
    yield* loss.comeBack(host)
    yield* fleet.complete
    yield* Fiber.join(jobs.again)
    strictEqual(jobs.outputs.length, 61)
    strictEqual(reasonOf(long.exit), "HostLost")
    deepStrictEqual([...new Set(exits.map(reasonOf))].filter((reason) => !["none", "HostLost"].includes(reason)), [])
    const { epoch: next } = (yield* fleet.statusOf(host))!
    // A host that reaches the broker, though its clients do not reach it, stays in its epoch.
    if (next !== epoch) checkOutputs(lost, jobs.outputs)
    checkOnce(fleet)
    checkBytes(fleet.hosts)
    const told = long.at - lost.at
    print(
      `${title}: told after ${told.toFixed(0)} ms, idempotent jobs done after ${served.toFixed(0)} ms, ` +
        `${exits.filter(Exit.isFailure).length} of 40 others lost, ${next === epoch ? "the same" : "a new"} epoch`
    )
    return told
  })
