/** Frames of the viewer in Chromium, while the wheel zooms in, pans and zooms out: recordings of several lengths, turn by turn. */
import { type PoolEvent, Recording, Viewer } from "@effect-gpu-pool/observability"
import { Effect, Schema } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Browser, chromium, type Page } from "playwright-core"
import { quantile } from "simple-statistics"
import * as Contender from "../Contender.ts"

/** The facts that the page reports. */
interface PageState {
  readonly state: () => { readonly frames: ReadonlyArray<number> }
}

const rounds = 9
const frames = 150
const blocks = 64

const facts: Recording.RecordingFacts = {
  source: "bench",
  reason: "asked",
  takenAt: 0,
  dropped: 0,
  memories: [{
    number: 1,
    device: "host",
    kind: "pool",
    maxBytes: Infinity,
    maxHeldBytes: Infinity,
    maxBypasses: 16,
    deadlockTimeoutMillis: Infinity
  }],
  families: [],
  budgets: [],
  blocks: []
}

/** A lease and the end of an earlier one, one after the other, in 64 blocks. */
const events = function*(count: number): Generator<PoolEvent.PoolEvent> {
  const capacity = 131_072
  for (let at = 0; at < count; at++) {
    const happened = { at, memory: undefined, memoryNumber: 1, device: "", pool: "BufferPool", capacity }
    const block = (at >> 1) % blocks
    const size = 1 + at * 7919 % 100_000
    const label = `label ${at % 30}`
    if (at % 2 === 1) {
      yield {
        ...happened,
        _tag: "Released",
        block: (block + 17) % blocks,
        size,
        label,
        callSite: undefined,
        why: "released"
      }
    } else {
      const from = at < 2 * blocks ? "driver" : "held"
      const none = {
        budget: undefined,
        budgetNumber: undefined,
        queue: undefined,
        callSite: undefined,
        under: undefined
      }
      yield { ...happened, ...none, _tag: "Leased", request: at, family: "0", size, label, waitAtMost: 0, from, block }
    }
  }
}

/** The figures of a round, in milliseconds. */
const Round = Schema.Struct({
  /** The script of a frame: the median and the 99th percentile. */
  script: Schema.Finite,
  slowScript: Schema.Finite,
  /** From a frame to the next one. */
  between: Schema.Finite
})

type Round = typeof Round.Type

/** One round in a page: forty frames each of zooming in, panning and zooming out. */
const route = async (page: Page): Promise<Round> => {
  const { between, scripts } = await page.evaluate(
    (frames) =>
      new Promise<{ readonly between: ReadonlyArray<number>; readonly scripts: ReadonlyArray<number> }>((resolve) => {
        const over = document.querySelector("#charts .u-over")!
        const { left, top, width } = over.getBoundingClientRect()
        const between: Array<number> = []
        let last: number | undefined
        const step = (now: number): void => {
          if (last !== undefined) between.push(now - last)
          last = now
          if (between.length === frames) {
            const viewer = Reflect.get(globalThis, "effectGpuPoolViewer") as PageState
            return resolve({ between, scripts: viewer.state().frames.slice(-frames) })
          }
          const phase = Math.floor(between.length * 3 / frames)
          over.dispatchEvent(
            new WheelEvent("wheel", {
              clientX: left + width * (0.5 + 0.3 * Math.sin(between.length / 9)),
              clientY: top + 9,
              deltaY: [-90, 60, 90][phase]!,
              shiftKey: phase === 1,
              cancelable: true
            })
          )
          requestAnimationFrame(step)
        }
        requestAnimationFrame(step)
      }),
    frames
  )
  const [script, slowScript] = quantile([...scripts], [0.5, 0.99])
  return { script: script!, slowScript: slowScript!, between: quantile([...between], 0.5) }
}

const opened = async (browser: Browser, file: string): Promise<Page> => {
  const page = await browser.newPage({ viewport: { width: 1300, height: 1000 } })
  await page.goto(pathToFileURL(file).href)
  await page.waitForFunction(() => Number(document.getElementById("app")?.dataset["frame"] ?? 0) > 0)
  return page
}

/** The rounds of each page. The first one compiles. */
const measured = async (
  browser: Browser,
  files: ReadonlyArray<string>
): Promise<ReadonlyArray<ReadonlyArray<Round>>> => {
  const pages: Array<{ readonly page: Page; readonly rounds: Array<Round> }> = []
  for (const file of files) pages.push({ page: await opened(browser, file), rounds: [] })
  for (let round = 0; round <= rounds; round++) {
    for (const { page, rounds } of pages) {
      await page.bringToFront()
      rounds.push(await route(page))
    }
  }
  return pages.map(({ rounds }) => rounds.slice(1))
}

const measure = (input: { readonly browser: string; readonly events: ReadonlyArray<number> }) =>
  Effect.scoped(Effect.gen(function*() {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-gpu-pool-frames-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    )
    const files = yield* Effect.forEach(
      input.events,
      (count) =>
        Effect.map(Viewer.html(Recording.make(facts, events(count))), (html) => {
          const file = join(folder, `${count}.html`)
          writeFileSync(file, html)
          return file
        })
    )
    const browser = yield* Effect.acquireRelease(
      Effect.promise(() => chromium.launch({ executablePath: input.browser, args: ["--no-sandbox"] })),
      (browser) => Effect.promise(() => browser.close())
    )
    return yield* Effect.promise(() => measured(browser, files))
  }))

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ browser: Schema.String, events: Schema.Array(Schema.Int) }),
  figures: Schema.Array(Schema.Array(Round)),
  measure
})

if (import.meta.main) Contender.main(contender)
