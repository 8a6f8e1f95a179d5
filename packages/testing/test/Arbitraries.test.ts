/**
 * The arbitraries of the properties' entry point, in both engines that take them: fast-check's, and Effect's.
 */
import { Arbitraries, PoolCommands } from "@effect-gpu-pool/testing/properties"
import { assert, describe, it, makeMethods } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, BufferUsage, SizePolicy } from "effect-gpu-pool"
import { DeviceSelector } from "effect-gpu-pool/devices"
import { Host } from "effect-gpu-pool/host"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const isSize = (size: number) => Number.isInteger(size) && size >= 1 && size <= 2 ** 30
const isUsage = (usage: BufferUsage.BufferUsage) => BufferUsage.has(usage, BufferUsage.storage)
const isRequest = ({ size, usage }: Arbitraries.Request) => isSize(size) && isUsage(usage)
const isTrace = (trace: Arbitraries.Trace) =>
  trace.every(({ request, slot }) => slot >= 0 && slot < 8 && (request === undefined || isRequest(request)))
const isCommand = (command: PoolCommands.Command) => /^\w+/.test(command.toString())
const means = (text: string, selector: DeviceSelector.DeviceSelector) =>
  Equal.equals(DeviceSelector.parse(text), Result.succeed(selector))
const isSelector = (selector: DeviceSelector.DeviceSelector) => means(DeviceSelector.format(selector), selector)
const isWritten = ({ selector, text }: Arbitraries.WrittenSelector) => means(text, selector)

/** Checks a property of an arbitrary's values in both engines. */
const checks = <A>(name: string, arbitrary: Arbitraries.Arbitrary<A>, holds: (value: A) => boolean) => {
  describe(name, () => {
    it("works in fast-check", () => {
      assert.isTrue(arbitrary instanceof fc.Arbitrary)
      fc.assert(fc.property(arbitrary, holds))
    })

    it.effect.prop(
      "works in Effect's properties",
      [arbitrary],
      ([value]) => Effect.sync(() => assert.isTrue(holds(value as A)))
    )

    it.prop("works in Effect's synchronous properties", { value: arbitrary }, ({ value }) => holds(value as A))
  })
  return name
}

describe("what the entry point offers", () => {
  const checked = [
    checks("sizes", Arbitraries.sizes(), isSize),
    checks("usages", Arbitraries.usages, isUsage),
    checks("requests", Arbitraries.requests(), isRequest),
    checks("traces", Arbitraries.traces(), isTrace),
    checks("selectors", Arbitraries.selectors, isSelector),
    checks("writtenSelectors", Arbitraries.writtenSelectors, isWritten),
    checks("fromFastCheck", Arbitraries.fromFastCheck(fc.nat(5)), (value) => value <= 5)
  ]
  const commands = [...PoolCommands.portable, ...PoolCommands.onHost]
  commands.forEach((command, index) => checks(`command ${index}`, command, isCommand))

  it("is all here", () => {
    deepStrictEqual(Object.keys(Arbitraries).filter((name) => name !== "play").sort(), [...checked].sort())
    deepStrictEqual(Object.keys(PoolCommands).sort(), ["onHost", "portable"])
  })
})

it.effect.prop(
  "a pool grants what is asked for",
  [Arbitraries.requests({ max: 4096, zero: true })],
  ([{ size, usage }]) =>
    BufferPool.use(size, (lease) => Effect.sync(() => strictEqual(lease.size, size)), { usage }).pipe(
      Effect.provide(BufferPool.layer()),
      Effect.provide(Host.layer())
    ),
  { arbitrary: { runs: 50 } }
)

it.effect.prop(
  "a table has room for its rows",
  {
    table: Arbitraries.fromFastCheck(
      fc.record({ rows: fc.integer({ min: 1, max: 64 }), row: Arbitraries.sizes({ max: 4096 }) })
    )
  },
  ({ table: { row, rows } }) =>
    BufferPool.use(row * rows, (lease) => Effect.sync(() => assert.isAtLeast(lease.capacity, row * rows))).pipe(
      Effect.provide(BufferPool.layer()),
      Effect.provide(Host.layer())
    ),
  { arbitrary: { runs: 20, maxShrinks: 500 } }
)

/** The report of a test that `it.effect.prop` registers. */
const reportOf = (register: (it: Pick<ReturnType<typeof makeMethods>, "effect">) => void): Promise<string> => {
  let registered: ((context: object) => Promise<void>) | undefined
  const framework = (_name: string, _options: object, test: (context: object) => Promise<void>) => {
    registered = test
  }
  register(makeMethods(framework as unknown as Parameters<typeof makeMethods>[0]))
  const context = { signal: new AbortController().signal, onTestFinished: () => {} }
  return registered!(context).then(() => "passed", (error: Error) => error.message)
}

const sizes = Arbitraries.sizes({ max: 4096 })
const isSmall = (size: number) => size < 128

const reportOfSmall = (arbitrary: Arbitrary.CheckOptions) =>
  reportOf((it) => it.effect.prop("small", [sizes], ([size]) => Effect.sync(() => isSmall(size)), { arbitrary }))

describe("a property that fails", () => {
  it("is reported by fast-check with the smallest value, the seed and the path", () => {
    const { counterexample, counterexamplePath, seed } = fc.check(fc.property(sizes, isSmall), { seed: 11 })
    deepStrictEqual(counterexample, [128])
    assert.throws(
      () => fc.assert(fc.property(sizes, isSmall), { seed: 11 }),
      `{ seed: ${seed}, path: "${counterexamplePath}", endOnFailure: true }`
    )
    const again = fc.check(fc.property(sizes, isSmall), { seed, path: counterexamplePath! })
    deepStrictEqual([again.counterexample, again.numShrinks], [[128], 0])
  })

  it("is reported by it.effect.prop with the smallest value, the seed and the path", async () => {
    const report = await reportOfSmall({ seed: 11 })
    assert.match(report, /^Property falsified after \d+ run\(s\) and \d+ shrink\(s\)\nShrunk input: \[128\]/)
    const replay = /Replay: (\[0,"11",\d+,\d+,\[[\d,]+\],"\w+"\])$/.exec(report)?.[1]
    assert.isDefined(replay)
    // The token alone repeats the run.
    assert.match(await reportOfSmall({ replay }), /^Property falsified after 1 run\(s\) .*\nShrunk input: \[128\]/)
    assert.include(await reportOfSmall({ seed: 12 }), `Replay: [0,"12"`)
  })

  it("is reported by it.effect.prop with the error of the effect", async () => {
    const report = await reportOf((it) =>
      it.effect.prop(
        "fails",
        { request: Arbitraries.requests() },
        ({ request }) =>
          BufferPool.use(request.size, () => Effect.void).pipe(
            Effect.provide(BufferPool.layer({ maxBytes: 127 })),
            Effect.provide(Host.layer())
          ),
        { arbitrary: { seed: 3 } }
      )
    )
    assert.include(report, "128 bytes are over maxBytes of the pool, 127 bytes")
    assert.match(report, /Shrunk input: \{"request":\{\s+"size": 128,/)
  })

  it("shrinks long values within Effect's budget", async () => {
    const report = await reportOf((it) =>
      it.effect.prop(
        "no large request",
        [Arbitraries.traces({ max: 4096, maxSteps: 30 })],
        ([trace]) => Effect.succeed(trace.every(({ request }) => request === undefined || request.size < 1024)),
        { arbitrary: { seed: 5, maxShrinks: 1000 } }
      )
    )
    assert.match(report, /"slot": 0/)
    strictEqual(report.match(/"slot"/g)?.length, 1)
    assert.match(report, /"size": 1024,/)
  })
})

describe("both engines", () => {
  it("try many different values", async () => {
    const seen = { inEffect: new Set<number>(), inFastCheck: new Set<number>() }
    await Effect.runPromise(
      Arbitrary.checkEffect(Arbitraries.sizes(), (size) => seen.inEffect.add(size).size > 0, { seed: 1, runs: 200 })
    )
    fc.assert(
      fc.property(Arbitraries.sizes(), (size) => seen.inFastCheck.add(size).size > 0),
      { seed: 1, numRuns: 200 }
    )
    assert.isAbove(seen.inEffect.size, 80)
    assert.isAbove(seen.inFastCheck.size, 80)
  })

  it("draw the same values from the same seed", async () => {
    const sample = Arbitrary.sampleEffect(Arbitraries.traces(), { seed: 4, count: 5 })
    deepStrictEqual(await Effect.runPromise(sample), await Effect.runPromise(sample))
  })

  it("take what is made of an arbitrary by their own functions", async () => {
    const blocks = Arbitraries.sizes().pipe(Arbitrary.map(SizePolicy.defaultPolicy.blockSize))
    const { _tag } = await Effect.runPromise(Arbitrary.checkEffect(blocks, (block) => block >= 1))
    strictEqual(_tag, "Passed")
    const halves = Arbitraries.sizes().filter((size) => size > 1).map((size) => size / 2)
    fc.assert(fc.property(halves, (half) => half >= 1))
    strictEqual(Arbitrary.isArbitrary(halves), false)
    strictEqual(Arbitrary.isArbitrary(Arbitraries.fromFastCheck(halves)), true)
  })

  it("are two: Effect brings no fast-check of its own", () => {
    const manifest = createRequire(import.meta.url).resolve("effect/package.json")
    const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(manifest, "utf8"))
    deepStrictEqual(Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name === "fast-check"), [])
  })
})
