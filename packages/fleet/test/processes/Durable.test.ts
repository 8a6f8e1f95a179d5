/** Durable jobs on hosts that are processes: what is killed, and what goes on. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type * as HostLog from "./HostLog.ts"
import { Once, Repeatable } from "./jobs.ts"
import { LeaverArguments } from "./LeaverArguments.ts"
import { sqlite } from "./storages.ts"
import * as TestedFleet from "./TestedFleet.ts"
import { CurrentFleet, timed, until } from "./TestedFleet.ts"

const timing = { heartbeat: 200, hostTimeout: 5_000, brokerTimeout: 3_000 }

const fleet = TestedFleet.layer({
  storage: sqlite,
  timing,
  capacities: { a: 1_000, b: 1_000, c: 1_000 },
  isProxied: false
})

/** Starts a job from a process, and kills that once the job is stored. */
const leave = ({ secret, storage }: TestedFleet.TestedFleet, id: string, input: typeof Repeatable.input.Type) =>
  Effect.promise(async () => {
    const args = Schema.encodeSync(LeaverArguments)({ id, input, secret, storage, timing })
    const child = spawn(
      process.execPath,
      ["--conditions=effect-gpu-pool:source", join(import.meta.dirname, "leaver.ts"), JSON.stringify(args)],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
    const [printed] = await once(child.stdout, "data")
    child.kill("SIGKILL")
    await once(child, "exit")
    strictEqual(String(printed).trim(), "stored")
  })

const count = (fleet: TestedFleet.TestedFleet, id: string, what: HostLog.Line["what"]): number =>
  fleet.lines().filter((line) => line.id === id && line.what === what).length

/** A host, a job for it under such an identifier that another host sees it to its end, and that host. */
const apart = Effect.fnUntraced(function*(fleet: TestedFleet.TestedFleet, job: string, prefix: string) {
  for (let n = 0;; n++) {
    const id = `${prefix} ${n}`
    const driver = yield* fleet.driver(job, id)
    const [host] = fleet.hosts.filter((host) => host !== driver)
    if (driver !== undefined && host !== undefined) {
      return { id, driver, input: { id, bytes: 100, millis: 3_000, host: host.name } }
    }
    yield* Effect.sleep(20)
  }
})

layer(fleet, { excludeTestServices: true })("a durable job on hosts that are processes", (it) => {
  it.effect("goes on when the process is killed that asked for it", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      yield* leave(fleet, "left", { id: "left", bytes: 100, millis: 1_000 })
      const jobs = yield* fleet.durable
      const output = yield* jobs.execute(Repeatable, { id: "other", bytes: 1, millis: 0 }, { id: "left" })
      strictEqual(output.id, "left")
      strictEqual(count(fleet, "left", "begin"), 1)
      strictEqual(count(fleet, "other", "begin"), 0)
    }))

  it.effect("runs again when the host is killed that waits for it", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      const jobs = yield* fleet.durable
      const { driver, id, input } = yield* apart(fleet, Repeatable.name, "again")
      const waiting = yield* Effect.forkChild(jobs.execute(Repeatable, input, { id }))
      yield* until(Effect.sync(() => count(fleet, id, "begin") === 1))
      driver.process.signal("SIGKILL")
      const [millis, output] = yield* timed(Fiber.join(waiting))
      deepStrictEqual([output.id, output.host], [id, input.host])
      strictEqual(count(fleet, id, "begin"), 2)
      console.log(
        `the answer came ${millis.toFixed(0)} ms after its driver was killed; the job takes ${input.millis} ms`
      )
      yield* driver.restart
      yield* fleet.complete
    }))

  it.effect("fails with HostLost then if it must not run twice", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      const jobs = yield* fleet.durable
      const { driver, id, input: short } = yield* apart(fleet, Once.name, "once")
      // So long that it has not ended when its driver is killed, however busy the machine is.
      const input = { ...short, millis: 60_000 }
      yield* jobs.execute(Once, input, { id, discard: true })
      yield* until(Effect.sync(() => count(fleet, id, "begin") === 1))
      driver.process.signal("SIGKILL")
      const { reason } = yield* Effect.flip(jobs.execute(Once, input, { id }))
      assert.isTrue(reason._tag === "HostLost" && reason.mayHaveRun && reason.host === input.host)
      strictEqual(count(fleet, id, "begin"), 1)
      yield* driver.restart
      yield* fleet.complete
    }))

  it.effect("ends well when the host is updated that waits for it", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      const jobs = yield* fleet.durable
      const { driver, id, input } = yield* apart(fleet, Once.name, "updated")
      yield* jobs.execute(Once, input, { id, discard: true })
      yield* until(Effect.sync(() => count(fleet, id, "begin") === 1))
      driver.process.signal("SIGTERM")
      yield* driver.process.ended
      strictEqual(count(fleet, id, "end"), 1)
      yield* driver.restart
      strictEqual((yield* jobs.execute(Once, input, { id })).id, id)
      strictEqual(count(fleet, id, "begin"), 1)
      yield* fleet.complete
    }))

  it.effect("has its output when all processes have been killed", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      const before = yield* Effect.scoped(Effect.flatMap(fleet.durable, (jobs) =>
        jobs.execute(Repeatable, { id: "kept", bytes: 100, millis: 0 }, { id: "kept" })))
      for (const host of fleet.hosts) {
        host.process.signal("SIGKILL")
      }
      for (const host of fleet.hosts) {
        yield* host.restart
      }
      const jobs = yield* fleet.durable
      deepStrictEqual(yield* jobs.execute(Repeatable, { id: "kept", bytes: 100, millis: 0 }, { id: "kept" }), before)
      strictEqual(count(fleet, "kept", "begin"), 1)
      yield* fleet.complete
    }))
})
