/** The command on a fleet of one host, which this process is, with its storage in a SQLite file. */
import { Fleet, FleetStorage } from "@effect-gpu-pool/fleet"
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPools } from "effect-gpu-pool/devices"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { commandTests } from "../../../test/support/command.ts"
import { commandInProcess } from "./inProcess.ts"

const { home, run } = commandInProcess()
const { run: runAlone, start } = commandTests()

const secret = { EFFECT_GPU_POOL_FLEET_SECRET: "of this test" }
const storage = join(home, "fleet.db")

const host = Fleet.layerHost({
  host: "tested",
  address: { host: "127.0.0.1", port: 0 },
  devices: { "0": { maxBytes: 4096, labels: { kind: "memory" } } },
  jobs: [],
  secret: Redacted.make(secret.EFFECT_GPU_POOL_FLEET_SECRET)
}).pipe(
  Layer.provide(BufferPools.layer(() => Host.layer())),
  Layer.provide(FleetStorage.sqlite(storage))
)

interface Report {
  readonly version: number
  readonly waiters: number
  readonly hosts: ReadonlyArray<{
    readonly name: string
    readonly devices: ReadonlyArray<{ readonly capacityBytes: number; readonly reservedBytes: number }>
  }>
}

const seen = (text: string) => {
  const { hosts, version, waiters } = JSON.parse(text) as Report
  return { version, waiters, hosts: hosts.map(({ devices, name }) => [name, devices.map((of) => of.reservedBytes)]) }
}

describe("effect-gpu-pool fleet", () => {
  layer(host, { timeout: "1 minute", excludeTestServices: true })((it) => {
    it.effect("prints hosts, devices and reserved bytes, with the secret of a variable or of a file", () =>
      Effect.gen(function*() {
        // the broker answers
        yield* Fleet.reserve({ bytes: 1024 })
        const table = yield* Effect.promise(() => runAlone(["fleet", "--storage", storage], secret))
        deepStrictEqual([table.code, table.stderr], [0, ""])
        assert.include(table.stdout, "1 host, 1 device: 1 KiB of 4 KiB in 1 reservation; 0 reservations wait")
        assert.match(
          table.stdout,
          /│ tested │ current │ .* │ 0 +│ host .* │ kind=memory │ +4 KiB │ +1 KiB │ 3 KiB │ +1 │/
        )
        const file = join(home, "secret")
        writeFileSync(file, `${secret.EFFECT_GPU_POOL_FLEET_SECRET}\n`)
        const json = yield* Effect.promise(() =>
          runAlone(["fleet", "--json", "--secret-file", file], {
            EFFECT_GPU_POOL_FLEET_SECRET: "another one, which the file is preferred to",
            EFFECT_GPU_POOL_FLEET_STORAGE: storage
          })
        )
        deepStrictEqual([json.code, json.stderr], [0, ""])
        deepStrictEqual(seen(json.stdout), { version: 1, waiters: 0, hosts: [["tested", [1024]]] })
      }))

    it.effect("watches a fleet, with a line for each answer, until an interrupt", () =>
      Effect.gen(function*() {
        const going = start(["fleet", "--storage", storage, "--watch", "--json", "--every", "0.05"], secret)
        const next = Effect.promise(async () => seen(String((await going.stdout.next()).value)))
        /** The first answer from now on that has so many reserved bytes. */
        const until = (bytes: number) =>
          Effect.repeat(next, { until: ({ hosts }) => JSON.stringify(hosts) === `[["tested",[${bytes}]]]` })
        yield* until(0)
        yield* Effect.scoped(Effect.andThen(Fleet.reserve({ bytes: 512 }), until(512)))
        yield* until(0)
        going.child.kill("SIGINT")
        strictEqual(yield* Effect.promise(() => going.ended), 130)
      }))
  })

  it("says which package PostgreSQL needs, where that is not installed", async () => {
    const hooks = `import { registerHooks } from "node:module"
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.startsWith("@effect/sql-pg")) throw new Error("Cannot find package '@effect/sql-pg'")
    return next(specifier, context)
  }
})`
    const file = join(home, "hooks.mjs")
    writeFileSync(file, hooks)
    const { code, stderr, stdout } = await runAlone(["fleet", "--storage", "postgres://me@127.0.0.1:1/fleet"], {
      ...secret,
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${pathToFileURL(file).href}`
    })
    deepStrictEqual([code, stdout], [1, ""])
    assert.include(stderr, "PostgreSQL needs the package @effect/sql-pg, which cannot be loaded: Cannot find package")
    assert.include(stderr, "npm install @effect/sql-pg")
  })

  it.each([
    [[], {}, "Missing required flag: --storage"],
    [["--storage", "fleet.db"], {}, "The fleet's secret is missing. Set the variable EFFECT_GPU_POOL_FLEET_SECRET"],
    [["--storage", "fleet.db", "--secret-file", "nowhere"], {}, "nowhere cannot be read: ENOENT"],
    [["--storage", "nowhere.db"], secret, "There is no nowhere.db. Give the SQLite file of the fleet's hosts"],
    [
      ["--storage", "postgres://me:pass-word@127.0.0.1:1/fleet"],
      secret,
      "Failed to connect: connect ECONNREFUSED 127.0.0.1:1"
    ],
    [["--storage", "fleet.db", "--every", "2"], secret, "--every: this is for a fleet that is watched. Add --watch"],
    [["--storage", "fleet.db", "--watch", "--every", "0"], secret, "seconds above 0"]
  ])("refuses %j", async (args, env, message) => {
    const { code, stderr, stdout } = await run(["fleet", ...args], "", env)
    deepStrictEqual([code, stdout], [1, ""])
    assert.include(stderr, message)
    assert.notInclude(stderr, "pass-word")
    assert.notMatch(stderr, /\n +at /)
  })
})
