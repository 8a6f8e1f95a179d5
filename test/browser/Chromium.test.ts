/**
 * The library in a real browser: what is bundled for one, and the conformance suite on Chromium's own WebGPU, which Dawn
 * implements here as it does in Node: nearly all of it in `.ci/run`.
 */
import { Conformance } from "@effect-gpu-pool/testing"
import { assert, describe, it as test, layer } from "@effect/vitest"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import { isBuiltin } from "node:module"
import { gzipSync } from "node:zlib"
import { some, workScale } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import { expectedReport } from "../support/sharedFrames.ts"
import { bundle, Chromium } from "./Chromium.ts"

const packageOf = (input: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ??
    (/^(?:src|packages\/arrays\/src)\//.test(input) ? "effect-gpu-pool" : input)

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

describe("the bundle of what is for a page", () => {
  const stdin = {
    contents: ["effect-gpu-pool", "effect-gpu-pool/images", "effect-gpu-pool/webgpu", "@effect-gpu-pool/arrays"]
      .map((entry) => `export * from "${entry}"`).join("\n"),
    resolveDir: import.meta.dirname
  }

  test("holds nothing but the library, arrays and effect", async () => {
    const { code, metafile } = await bundle({ stdin })
    const inputs = Object.keys(metafile.inputs)
    const packages = new Set(inputs.filter((input) => input !== "<stdin>").map(packageOf))
    assert.deepStrictEqual([...packages].sort(), ["effect", "effect-gpu-pool"])
    const imports = [
      ...Object.values(metafile.inputs).flatMap(({ imports }) => imports),
      ...Object.values(metafile.outputs).flatMap(({ imports }) => imports)
    ]
    const external = imports.filter((imported) => imported.external === true || isBuiltin(imported.path))
    assert.deepStrictEqual(external, [])
    console.log(
      `root, /images, /webgpu and arrays for a browser: ${kilobytes(Buffer.byteLength(code))} minified, ` +
        `${kilobytes(gzipSync(code).length)} with gzip`
    )
  })
})

/** Starting a browser and bundling take seconds on a busy machine, and so does a group of tests on a software adapter. */
const startup = { timeout: "2 minutes" } as const
const inPage = <A>(run: (chromium: Chromium["Service"]) => Promise<A>): Effect.Effect<A, never, Chromium> =>
  Effect.flatMap(Chromium, (chromium) => Effect.promise(() => run(chromium)))

/** Runs a group when its first test asks; its other tests look at the outcomes. */
const outcomesOf = (group: string, names: ReadonlyArray<string>) => {
  let outcomes: Promise<ReadonlyArray<Conformance.Outcome>> | undefined
  return inPage(({ isolated }) =>
    outcomes ??= isolated.evaluate(
      ([group, names, scale]) => globalThis.effectGpuPoolPage.conformance(group, names, scale),
      [group, names, workScale] as const
    )
  )
}

describeWith(["chromium"], "the library in Chromium", () => {
  layer(Chromium.layer, startup)("on its own WebGPU", (it) => {
    it.effect.each(["ordinary", "isolated"] as const)("runs a program in an %s page", (name) =>
      Effect.gen(function*() {
        const report = yield* inPage(({ [name]: page }) => page.evaluate(() => globalThis.effectGpuPoolPage.program()))
        const { backend, driverObjects, stats, values } = report
        assert.strictEqual(backend, "webgpu")
        assert.deepStrictEqual(values, Array.from({ length: 1000 }, (_, i) => 2 * i + 1))
        const { activeBlocks, driverAllocations, heldBlocks, hits, misses, releaseFailures } = stats
        assert.deepStrictEqual(
          { activeBlocks, driverAllocations, heldBlocks, hits, misses, releaseFailures },
          { activeBlocks: 0, driverAllocations: 2, heldBlocks: 2, hits: 2, misses: 2, releaseFailures: 0 }
        )
        assert.deepStrictEqual(driverObjects, {})
        assert.deepStrictEqual((yield* Chromium).complaints, [])
      }))

    it.effect("says on the console what is printed", () =>
      Effect.gen(function*() {
        const printed: Array<string> = []
        yield* inPage(async ({ ordinary }) => {
          ordinary.on("console", (message) => printed.push(message.text()))
          await ordinary.evaluate(() => globalThis.effectGpuPoolPage.print())
        })
        const line = /PooledBuffer\(64 of 64 B, storage \| copySrc \| copyDst, live on webgpu [^)]*\)/
        // The code is minified, so the lease's class has another name.
        assert.match(printed[0]!, /^\w+ BufferPool /)
        assert.match(printed[0]!, line)
        assert.match(printed.slice(1).join("\n"), line)
      }))

    it.effect("says that a page has no navigator.gpu, and why", () =>
      Effect.gen(function*() {
        const messages = yield* inPage(({ ordinary }) =>
          ordinary.evaluate(() => globalThis.effectGpuPoolPage.withoutWebGpu())
        )
        assert.strictEqual(messages.length, 2)
        for (const message of messages) {
          assert.match(message, /^DeviceUnavailable: .*this page has no navigator\.gpu: the browser has no WebGPU/)
          assert.include(message, "Use a browser with WebGPU")
        }
      }))

    it.effect("shares a device with other code, which goes on after the library's layer has closed", () =>
      Effect.gen(function*() {
        const frames = 1000
        const { stats, ...report } = yield* inPage(({ ordinary }) =>
          ordinary.evaluate((count) => globalThis.effectGpuPoolPage.sharedFrames(count), frames)
        )
        assert.deepStrictEqual(report, expectedReport(frames))
        assert.strictEqual(stats.hits + stats.misses, frames)
      }))

    it.effect.each([false, true])(
      "keeps WebGPU's rules of buffers, with a pool under the device: %s",
      (hasPool) =>
        Effect.gen(function*() {
          const problems = yield* inPage(({ ordinary }) =>
            ordinary.evaluate((hasPool) => globalThis.effectGpuPoolPage.bufferRules(hasPool), hasPool)
          )
          assert.deepStrictEqual(problems, [])
        })
    )

    it.effect("goes on with an animation whose device is lost", () =>
      Effect.gen(function*() {
        const { kept, lost } = yield* inPage(({ ordinary }) =>
          ordinary.evaluate(() => globalThis.effectGpuPoolPage.animations())
        )
        assert.deepStrictEqual([lost.frames, lost.devices, kept.devices], [8, 2, 1])
        assert.deepStrictEqual(lost.picture, kept.picture)
        assert.deepStrictEqual((yield* Chromium).complaints, [])
      }))

    it.effect("explores schedules", () =>
      Effect.gen(function*() {
        const { kind, trace } = yield* inPage(({ ordinary }) =>
          ordinary.evaluate(() => globalThis.effectGpuPoolPage.schedules())
        )
        assert.strictEqual(kind, "failed")
        assert.include(trace, "stopped here")
      }))

    // Only its names are used here: the page runs its own copy. What WGSL makes of expressions, Dawn shows in Node.
    const suite = some(Conformance.suite(WebGpu.layer()).filter(({ group }) => group !== "expressions"))
    for (const group of new Set(suite.map((test) => test.group))) {
      describe(group, () => {
        const names = suite.filter((test) => test.group === group).map((test) => test.name)
        const outcomes = outcomesOf(group, names)

        it.effect.each(names)("%s", (name) =>
          Effect.map(outcomes, (outcomes) => {
            const outcome = outcomes.find((outcome) => outcome.name === name)
            assert(outcome !== undefined, "the page did not run it")
            assert(outcome.passed, outcome.problem)
          }))

        it.effect("closes its device with no driver object left", () =>
          Effect.map(outcomes, (outcomes) => {
            assert.strictEqual(outcomes.length, names.length + 1)
            const last = outcomes.at(-1)
            assert(last?.passed, last?.problem)
          }))

        it.effect("leaves nothing on the console", () =>
          Effect.map(Chromium, ({ complaints }) => assert.deepStrictEqual(complaints, [])))
      })
    }
  })
})
