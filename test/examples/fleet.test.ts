/** The fleet's map: right although a host is killed, and the same on one process; and nothing is left behind. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { decode } from "fast-png"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Earth from "../../examples/fleet/Earth.ts"
import * as Terrain from "../../examples/fleet/Terrain.ts"
import { Tile } from "../../examples/fleet/Tile.ts"

const example = join(import.meta.dirname, "../../examples/fleet")

type Env = Readonly<Record<string, string>>

const start = (program: string, args: ReadonlyArray<string>, env: Env) =>
  spawn(process.execPath, [join(example, program), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env }
  })

const ended = (child: ReturnType<typeof start>) =>
  Effect.promise(async () => {
    const [[status], stdout, stderr] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)])
    return { status: status as number | null, stdout, stderr }
  })

const run = (program: string, args: ReadonlyArray<string>, env: Env) =>
  Effect.suspend(() => ended(start(program, args, env)))

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "fleet-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** The smallest map, painted in two squares, without a fleet. */
const expected = Effect.runSync(Effect.cached(
  Effect.gen(function*() {
    const earth = yield* Earth.read
    const [west, east] = yield* Effect.all([
      Terrain.paint(earth, { x: 0, y: 0, size: 1024, scale: 1 }),
      Terrain.paint(earth, { x: 1024, y: 0, size: 1024, scale: 1 })
    ])
    const row = (at: number) => [west, east].map((square) => square.subarray(at * 3072, (at + 1) * 3072))
    return Buffer.concat(Array.from({ length: 1024 }, (_, at) => row(at)).flat())
  }).pipe(Effect.provide(BufferPool.layer()), Effect.provide([Host.layer(), NodeFileSystem.layer]))
))

/** A picture of this size that is not the expected one would take minutes to print. */
const assertExpected = Effect.fnUntraced(function*(file: string) {
  const { data, height, width } = decode(readFileSync(file))
  assert.deepStrictEqual([width, height], [2048, 1024])
  assert.strictEqual(Buffer.compare(Buffer.from(data.buffer), yield* expected), 0)
})

const smallest = ["--scale=1", "--size=128"]

/** A host that has joined, until the scope closes. */
const host = (env: Env) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = start("host.ts", [], env)
      child.stderr.pipe(process.stderr)
      await once(child.stdout, "data")
      return child
    }),
    (child: ChildProcess) =>
      Effect.promise(async () => {
        const exit = once(child, "exit")
        child.kill("SIGTERM")
        await exit
      })
  )

describe("npm run fleet", () => {
  it.live("draws the map on three processes of which one is killed, and the same on one", () =>
    Effect.gen(function*() {
      const place = yield* folder
      const temporary = yield* folder
      const out = join(place, "map.png")
      const { status, stderr, stdout } = yield* run("main.ts", [...smallest, "--out", out], { TMPDIR: temporary })
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, `${out}: 2048 x 1024 pixels in 128 squares`)
      const painted = [...stdout.matchAll(/^host (\w), room for (\d): (\d+) squares/gm)].map((
        [, name, room, squares]
      ) => [name, Number(room), Number(squares)] as const)
      assert.deepStrictEqual(painted.map(([name, room]) => [name, room]), [["a", 1], ["b", 2], ["c", 4]])
      assert.isTrue(painted.every(([, , squares]) => squares > 0), stdout)
      assert.strictEqual(painted.reduce((sum, [, , squares]) => sum + squares, 0), 128)
      assert.match(stdout, /^host c, .* then it was killed$/m)
      assert.include(stdout, "one process draws the same bytes")
      assert.deepStrictEqual([stderr, readdirSync(temporary)], ["", []])
      yield* assertExpected(out)
    }))
})

describe("npm run fleet with hosts that cannot start", () => {
  it.live("says why, and ends", () =>
    Effect.gen(function*() {
      const { status, stderr, stdout } = yield* run("main.ts", ["--device=abacus"], {})
      assert.strictEqual(status, 1)
      assert.include(stderr, "\"abacus\"")
      assert.match(stdout, /host \w ended before it joined the fleet/)
    }))
})

describe("a host and a client", () => {
  it.live("draw the map of a fleet that is there", () =>
    Effect.gen(function*() {
      const place = yield* folder
      const shared: Env = { FLEET_SECRET: "a secret of the test", FLEET_STORAGE: join(place, "fleet.db") }
      yield* host({
        ...shared,
        FLEET_HOST: "only",
        FLEET_ADDRESS: "127.0.0.1",
        FLEET_PORT: "0",
        FLEET_MAX_BYTES: String(2 * Tile.bytes({ x: 0, y: 0, size: 256, scale: 1 }))
      })
      const out = join(place, "map.png")
      const { status, stderr, stdout } = yield* run("client.ts", ["--scale=1", "--size=256", "--out", out], shared)
      assert.strictEqual(status, 0, stderr)
      assert.strictEqual(stdout, "host only: 32 squares\n")
      yield* assertExpected(out)
    }))

  it.live.each(["host.ts", "client.ts"])("%s names a variable that it lacks", (program) =>
    Effect.gen(function*() {
      const { status, stdout } = yield* run(program, [], { FLEET_STORAGE: "/nowhere/fleet.db" })
      assert.strictEqual(status, 1)
      assert.include(stdout, "FLEET_SECRET")
    }))
})
