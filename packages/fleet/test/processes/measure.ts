/**
 * Measures a fleet of processes on this machine, without proxies:
 * `node --conditions=effect-gpu-pool:source packages/fleet/test/processes/measure.ts [URL of a PostgreSQL database]`, else with SQLite.
 *
 * Times are milliseconds. On a busy machine they say more about that machine.
 */
import * as Effect from "effect/Effect"
import { loadavg } from "node:os"
import { join } from "node:path"
import { temporaryFolder } from "../support/temporary.ts"
import { type Input, Once } from "./jobs.ts"
import { make, timed } from "./TestedFleet.ts"

const percentile = (times: ReadonlyArray<number>, share: number): string =>
  [...times].sort((one, other) => one - other)[Math.floor(times.length * share)]!.toFixed(2)

const print = (text: string): void => console.log(`${text} (load ${loadavg()[0]!.toFixed(1)})`)

/** The times of a fleet that its documents name. */
const timing = { heartbeat: 1_000, hostTimeout: 10_000, brokerTimeout: 4_000 }

const rounds = 500

/** Each host runs one job at a time, which waits so long for its device. */
const deviceMillis = 20

const jobs = (count: number, host?: string): ReadonlyArray<Input> =>
  Array.from({ length: count }, (_, n) => ({
    id: `${host ?? "any"} ${n}`,
    bytes: 1_000,
    millis: deviceMillis,
    ...(host === undefined ? {} : { host })
  }))

const program = Effect.gen(function*() {
  const storage = process.argv[2] ?? join(yield* temporaryFolder, "fleet.db")
  const capacities = { a: 1_000, b: 1_000, c: 1_000, d: 1_000 }
  const fleet = yield* make({ storage, timing, capacities, isProxied: false })
  yield* fleet.complete
  const client = yield* fleet.client

  const reserve = timed(Effect.scoped(client.reserve({ bytes: 100 })))
  yield* Effect.repeat(reserve, { times: 100 })
  const times = (yield* Effect.forEach(Array.from({ length: rounds }), () => reserve)).map(([millis]) => millis)
  print(`reserve and release: median ${percentile(times, 0.5)}, 95th ${percentile(times, 0.95)}`)
  const held = (yield* Effect.forEach(Array.from({ length: rounds }), () =>
    Effect.scoped(timed(client.reserve({ bytes: 100 }))))).map(([millis]) =>
      millis
    )
  print(`reserve alone: median ${percentile(held, 0.5)}, 95th ${percentile(held, 0.95)}`)

  /** Jobs a second. */
  const rate = (inputs: ReadonlyArray<Input>, concurrency: number) =>
    Effect.map(
      timed(Effect.forEach(inputs, (input) => client.run(Once, input), { concurrency, discard: true })),
      ([millis]) => inputs.length / millis * 1_000
    )
  // Until the processes have compiled what they run often.
  yield* rate(jobs(800), 32)
  const alone = yield* rate(jobs(200, "a"), 8)
  const together = yield* rate(jobs(800), 32)
  print(
    `jobs of ${deviceMillis} ms: ${alone.toFixed(1)}/s on one host, ${together.toFixed(1)}/s on four, ` +
      `${(together / alone / 4).toFixed(3)} of linear`
  )
  const broker = yield* fleet.broker
  const [failover] = yield* timed(Effect.andThen(
    Effect.sync(() => broker?.process.signal("SIGKILL")),
    Effect.scoped(client.reserve({ bytes: 100 }))
  ))
  print(`a reservation after kill -9 of the broker's host: ${failover.toFixed(0)}`)
})

await Effect.runPromise(Effect.scoped(program))
