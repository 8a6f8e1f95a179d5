/** The place of an error in the program, from its stack: in this process, and in one that an uncaught error ends. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll } from "vitest"
import * as GpuError from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CallSite from "../../src/services/calls/CallPlaces.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { here } from "../support/callSites.ts"
import { layer } from "../support/hostPool.ts"

type Program = Effect.Effect<
  unknown,
  GpuError.GpuError,
  Scope.Scope | BufferPool.BufferPool | CommandQueue.CommandQueue
>

const limited = layer({ pool: { maxBytes: 100, onExhausted: "fail" } })

const run = (program: Program): Effect.Effect<unknown, GpuError.GpuError> =>
  program.pipe(Effect.scoped, Effect.provide(limited))

const stackOf = (error: GpuError.GpuError): ReadonlyArray<string> => (error.stack ?? "").split("\n")

const own = /ErrorStack\.test\.ts:\d+:\d+/

const hint = "(no frame of the program: functions made by Effect.fn are named here, and calls in CallSite.track)"

/** Calls that fail in each way in which requests and commands can fail. */
const failing: ReadonlyArray<readonly [name: string, program: Program]> = [
  ["OutOfMemory", Effect.andThen(BufferPool.allocate(64), BufferPool.allocate(64))],
  ["OutOfMemory", Effect.andThen(BufferPool.allocate(64), BufferPool.withBudget(BufferPool.allocate(64), 64))],
  ["LimitExceeded", BufferPool.allocate(101)],
  ["InvalidRequest", BufferPool.allocate(-1)],
  ["InvalidRequest", Effect.flatMap(BufferPool.allocate(64), (x) => CommandQueue.fill(x, 0, { offset: 100 }))],
  ["Released", Effect.flatMap(Effect.scoped(BufferPool.allocate(64)), (x) => CommandQueue.fill(x, 0))]
]

describe("the stack of an error", () => {
  it.each(failing)("of %s has the frame that ran the program", (tag, program) => {
    const [exit, place] = [Effect.runSyncExit(run(program)), here()]
    assert(Exit.isFailure(exit))
    const error = Cause.squash(exit.cause)
    assert(GpuError.isGpuError(error))
    strictEqual(error.reason._tag, tag)
    const lines = stackOf(error)
    strictEqual(lines[0], `GpuError: ${error.message.split("\n")[0]}`)
    assert(lines.some((line) => line.includes(place)), lines.join("\n"))
    assert.isAtMost(lines.length, 16)
    assert.include(Cause.pretty(exit.cause), place)
  })

  it.each(failing)("of %s names the functions of Effect.fn that it came through, also later", async (_, program) => {
    const named = Effect.fn("loadAtlas")(function*() {
      yield* Effect.sleep(1)
      yield* program
    })
    const exit = await Effect.runPromiseExit(run(named()))
    assert(Exit.isFailure(exit))
    const error = Cause.squash(exit.cause)
    assert(GpuError.isGpuError(error))
    assert.match(error.stack ?? "", /\n    at loadAtlas \(.*ErrorStack\.test\.ts:\d+:\d+\)/)
    // Effect adds these frames when it prints a cause; they must be there only once.
    strictEqual(Cause.pretty(exit.cause).split("at loadAtlas (").length, error.stack!.split("at loadAtlas (").length)
  })

  it.each([
    ["BufferPool.allocate", Effect.suspend(() => locating(() => BufferPool.allocate(101)))],
    ["BufferPool.allocate", Effect.suspend(() => locating(() => BufferPool.allocate(-1)))],
    ["BufferPool.use", Effect.suspend(() => locating(() => BufferPool.use(101, () => Effect.void)))],
    [
      "CommandQueue.fill",
      Effect.flatMap(BufferPool.allocate(4), (x) => locating(() => CommandQueue.fill(x, 0, { offset: 100 })))
    ],
    [
      "CommandQueue.read",
      Effect.flatMap(BufferPool.allocate(4), (x) => locating(() => CommandQueue.read(x, Float64Array, { length: 9 })))
    ]
  ])("names the call in CallSite.track: %s", async (operation, program) => {
    const error = await Effect.runPromise(Effect.flip(run(CallSite.track(Effect.andThen(Effect.sleep(1), program)))))
    const call = /at (\S+) \((.*ErrorStack\.test\.ts:\d+):\d+\)/.exec(error.stack ?? "")
    assert.include([operation, operation.replace("use", "allocate")], call?.[1])
    assert.include(places, call?.[2])
  })

  it("says how a program gets frames where it has none", async () => {
    const later = Effect.andThen(Effect.sleep(1), failing[0]![1])
    const error = await Effect.runPromise(Effect.flip(run(later)))
    assert.include(error.stack, hint)
    assert.notMatch(error.stack ?? "", own)
    assert.notInclude(Effect.runSync(Effect.flip(run(failing[0]![1]))).stack, hint)
  })

  it("keeps the engine's number of frames, and makes none where a program wants none", () => {
    const limit = Error.stackTraceLimit
    try {
      for (const length of [0, 1, 100]) {
        Error.stackTraceLimit = length
        const error = GpuError.outOfMemory(1)
        strictEqual(Error.stackTraceLimit, length)
        strictEqual(own.test(error.stack ?? ""), length > 0)
      }
    } finally {
      Error.stackTraceLimit = limit
    }
  })

  it("is a property as that of any error", () => {
    const error = GpuError.outOfMemory(1)
    const { stack } = error
    strictEqual(error.stack, stack)
    strictEqual(structuredClone(error).stack, stack)
    deepStrictEqual(Object.keys(error), Object.keys({ ...error }))
    assert.notInclude(Object.keys(error), "stack")
    const other = GpuError.outOfMemory(1)
    other.stack = "mine"
    strictEqual(other.stack, "mine")
  })
})

/** The lines of calls that {@link locating} made. */
const places: Array<string> = []

/** A call, and the place where it stands. */
const locating = (call: () => Program): Program => {
  const [, , caller] = new Error().stack?.split("\n") ?? []
  places.push(/\(?(?:file:\/\/)?([^\s()]+:\d+):\d+\)?$/.exec(caller ?? "")?.[1] ?? "nowhere")
  return call()
}

const root = join(import.meta.dirname, "../..")
mkdirSync(join(root, "test-results"), { recursive: true })
const scratch = mkdtempSync(join(root, "test-results/uncaught-"))
afterAll(() => rmSync(scratch, { recursive: true }))

describe("an uncaught error", () => {
  const runs: ReadonlyArray<readonly [name: string, code: string]> = [
    ["Effect.runPromise", "await Effect.runPromise(program)"],
    ["Effect.runSync", "Effect.runSync(program)"],
    ["NodeRuntime.runMain", "NodeRuntime.runMain(program)"]
  ]

  it.each(runs)("shows a frame of the program: %s", (_, code) => {
    const file = join(scratch, `program${runs.findIndex((one) => one[1] === code)}.ts`)
    writeFileSync(
      file,
      `import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { Host } from "../../src/host.ts"
const program = Effect.gen(function*() {
  yield* BufferPool.allocate(64)
  yield* BufferPool.allocate(64)
}).pipe(Effect.scoped, Effect.provide(BufferPool.layer({ maxBytes: 100 })), Effect.provide(Host.layer()))
${code}
`
    )
    const { status, stderr, stdout } = spawnSync(process.execPath, [file], { encoding: "utf8" })
    strictEqual(status, 1, stderr)
    assert.match(stdout + stderr, /\n    at .*program\d\.ts:9:\d+/)
    assert.notMatch(stdout + stderr, /at .*GpuError\.ts/)
  })
})
