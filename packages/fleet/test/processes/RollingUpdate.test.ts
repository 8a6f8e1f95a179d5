/** The hosts of a fleet are replaced one after the other, while it works. */
import { layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { Once } from "./jobs.ts"
import { sqlite } from "./storages.ts"
import * as TestedFleet from "./TestedFleet.ts"
import { CurrentFleet, timed, until } from "./TestedFleet.ts"

const fleet = TestedFleet.layer({
  storage: sqlite,
  timing: { heartbeat: 200, hostTimeout: 5_000, brokerTimeout: 3_000 },
  capacities: { a: 1_000, b: 1_000, c: 1_000 },
  isProxied: false
})

layer(fleet, { excludeTestServices: true })("a rolling update", (it) => {
  it.effect("loses no job of a client, and runs none twice", () =>
    Effect.gen(function*() {
      const fleet = yield* CurrentFleet
      const client = yield* fleet.client
      let isUpdated = false
      // At least 200, and more where the update takes longer. Twice as many as have room, so that half of them wait.
      const inputs = Stream.range(0, 100_000).pipe(
        Stream.rechunk(1),
        Stream.takeWhile((n) => n < 200 || !isUpdated),
        Stream.map((n) => ({ id: String(n), bytes: 250, millis: 200 + n * 37 % 300 }))
      )
      const mapping = yield* Effect.forkChild(Stream.runCollect(client.map(Once, inputs, { concurrency: 24 })))
      yield* until(Effect.sync(() => fleet.lines().some(({ what }) => what === "end")))
      for (const host of fleet.hosts) {
        // The broker may have moved just now, and not know all hosts yet.
        yield* fleet.complete
        const hadBroker = (yield* fleet.broker) === host
        const epoch = (yield* fleet.statusOf(host))?.epoch ?? 0
        host.process.signal("SIGTERM")
        const [draining] = yield* timed(host.process.ended)
        const [starting] = yield* timed(Effect.andThen(
          host.restart,
          until(Effect.map(fleet.statusOf(host), (status) => status?.state === "current" && status.epoch > epoch))
        ))
        const times = `${draining.toFixed(0)} ms to drain, ${
          starting.toFixed(0)
        } ms until the next process is in the fleet`
        console.log(`${host.name}${hadBroker ? ", with the broker" : ""}: ${times}`)
      }
      isUpdated = true
      const outputs = yield* Fiber.join(mapping)
      deepStrictEqual(outputs.map(({ id }) => id), outputs.map((_, n) => String(n)))
      const lines = fleet.lines()
      for (const what of ["begin", "end"]) {
        const ids = lines.filter((line) => line.what === what).map(({ id }) => id)
        strictEqual(ids.length, outputs.length)
        strictEqual(new Set(ids).size, outputs.length)
      }
      console.log(`${outputs.length} jobs`)
    }))
})
