/** The viewer's page in Chromium: it draws what the recording has. */
import { Viewer } from "@effect-gpu-pool/observability"
import { assert, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { colorOf } from "../../packages/observability/src/viewer/page/charts/Colors.ts"
import { noLabel, noSite } from "../../packages/observability/src/viewer/page/model/Grouping.ts"
import {
  activeIn,
  anyStep,
  bytesBy,
  type Event,
  eventsOf,
  leased,
  ranOut,
  released,
  type StateModel,
  statesOf,
  tooLarge,
  waiting
} from "../support/anyRecording.ts"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"
import { openEvents, recordingOf, type ViewerPage, ViewerPages } from "./ViewerPages.ts"

const startup = { timeout: "2 minutes" } as const

/** Random recordings of a fixed seed: opening a page takes too long for a hundred of them. */
const samples = (count: number, most: number): ReadonlyArray<Array<Event>> =>
  fc.sample(fc.array(anyStep, { minLength: 20, maxLength: most, size: "max" }).map(eventsOf), {
    numRuns: count,
    seed: 42
  })

const promised = <A>(look: () => Promise<A>): Effect.Effect<A> => Effect.promise(look)

/** Every third state or so. */
const statesToSee = (count: number): ReadonlyArray<number> =>
  Array.from({ length: Math.min(12, count) }, (_, at) => Math.floor((at + 0.5) * count / 12))

const holdersOf = (state: StateModel) =>
  bytesBy(state, ({ callSite, label }) => JSON.stringify([label ?? noLabel, callSite ?? noSite]))

/** Compares the drawn height of each group at each state, in pixels. */
const assertAreas = async (view: ViewerPage, states: ReadonlyArray<StateModel>): Promise<void> => {
  const { groups, plot } = await view.drawn()
  for (const state of statesToSee(states.length)) {
    const colors = await view.colorsAt(state + 0.5)
    const expected = new Map(bytesBy(states[state]!, ({ label }) => label ?? noLabel))
    groups.forEach((name, group) => {
      const pixels = colors.filter((color) => color === colorOf(group)).length
      const bytes = expected.get(name) ?? 0
      if (group < 12) assert.closeTo(pixels, bytes / plot.bytes * plot.height, 2, `${name} in state ${state}`)
    })
    const areas = groups.map((_, group) => colorOf(group))
    const drawn = colors.filter((color) => areas.includes(color)).length
    assert.closeTo(drawn, activeIn(states[state]!) / plot.bytes * plot.height, 3, `all in state ${state}`)
  }
}

const run = (size: number, at: number) => [
  leased({ at, size, label: "x" }, 1, "driver"),
  leased({ at: at + 100, size: 100, label: "y" }, 2, "driver"),
  released(at + 200, 2, 100)
]

/** Leases and their ends, one after the other, in 64 blocks. */
const many = function*(count: number): Generator<Event> {
  for (let at = 0; at < count; at++) {
    const block = (at >> 1) % 64
    const size = 1 + at * 7919 % 100_000
    if (at % 2 === 0) {
      yield leased({ at, size, label: `label ${at % 30}` }, block, at < 128 ? "driver" : "held", 131_072)
    } else yield released(at, (block + 17) % 64, size, 131_072)
  }
}

describeWith(["chromium"], "the viewer in Chromium", () => {
  layer(ViewerPages.layer, startup)((it) => {
    it.effect("opens from a file and asks for nothing else", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(samples(1, 100)[0]!)
        strictEqual(view.requests.length, 1)
        deepStrictEqual(view.complaints, [])
        strictEqual(yield* promised(() => view.text("h1")), "A test")
      }))

    it.effect("draws areas as high as the bytes of each group", () =>
      Effect.gen(function*() {
        for (const events of samples(runs(6, 1), 160)) {
          const view = yield* openEvents(events)
          yield* promised(async () => {
            if ((await view.drawn()).view.axis === "time") await view.press("x")
            await assertAreas(view, statesOf(events))
          })
        }
      }))

    it.effect("draws the same in twice the pixels", () =>
      Effect.gen(function*() {
        const [events] = samples(1, 160)
        const seen = (pixels: number) =>
          Effect.gen(function*() {
            const view = yield* openEvents(events!, undefined, pixels)
            return yield* promised(async () => {
              if ((await view.drawn()).view.axis === "time") await view.press("x")
              await assertAreas(view, statesOf(events!))
              const { drawn: { points }, plot: { height, width } } = await view.drawn()
              return { points, height: height / pixels, width: width / pixels }
            })
          })
        const [once, twice] = [yield* seen(1), yield* seen(2)]
        deepStrictEqual(twice, once)
      }))

    it.effect("lists the holders of each moment that the cursor goes to", () =>
      Effect.gen(function*() {
        for (const events of samples(runs(3, 1), 120)) {
          const states = statesOf(events)
          const view = yield* openEvents(events)
          yield* promised(async () => {
            await view.press("Home")
            for (let state = 0; state < states.length; state++) {
              const { cursor } = state === 0 ? await view.drawn() : await view.press(".")
              strictEqual(cursor.state, state)
              const rows = await view.holders()
              deepStrictEqual(
                new Map(rows.map(({ bytes, label, site }) => [JSON.stringify([label, site]), bytes])),
                new Map(holdersOf(states[state]!))
              )
              deepStrictEqual(rows.map(({ bytes }) => bytes), holdersOf(states[state]!).map(([, bytes]) => bytes))
            }
          })
        }
      }))

    it.effect("marks requests that ran out of memory, with what was tried, and those that waited", () =>
      Effect.gen(function*() {
        const guilty = { size: 600, label: "cache", callSite: "src/cache.ts:12:3" }
        const view = yield* openEvents([
          leased({ at: 0, size: 100, label: "input" }, 1, "driver"),
          leased({ at: 100, ...guilty }, 2, "driver"),
          waiting({ at: 200, size: 9, label: "patient", request: 7 }),
          ranOut({ at: 300, size: 4096, label: "output", callSite: "src/model.ts:5:1" }, ["hit", "evict", "handlers"]),
          released(400, 2, 600),
          ranOut({ at: 900, size: 1, label: "late" }, []),
          tooLarge({ at: 950, size: 8192, label: "larger" }),
          released(1000, 1, 100)
        ])
        yield* promised(async () => {
          const text = await view.text("#failure")
          for (
            const part of ["4 KiB", "output", "src/model.ts:5:1", "cache", "src/cache.ts:12:3", "600 B", "hit", "evict"]
          ) {
            assert.include(text, part)
          }
          strictEqual((await view.holders())[0]!.label, "cache")
          assert.include(await view.text("#waiting"), "9 B for patient")
          const marks = async (x: number) => (await view.colorsAt(x)).filter((color) => color === "#d1242f").length
          const { plot } = await view.drawn()
          assert.isAtLeast(await marks(300.5), plot.height * 0.9)
          strictEqual(await marks(350), 0)
          assert.include(await view.colorsAt(250), "#8250df")
          await view.press("n")
          assert.include(await view.text("#failure"), "late")
          await view.press("n")
          const larger = await view.text("#failure")
          for (const part of ["Larger than a limit", "8 KiB", "larger", "It is larger than the limit."]) {
            assert.include(larger, part)
          }
          assert.notInclude(larger, "Most bytes had")
          await view.press("p")
          await view.press("p")
          assert.include(await view.text("#failure"), "output")
        })
      }))

    it.effect("zooms and moves by wheel, keys, text and the picture of the whole", () =>
      Effect.gen(function*() {
        const events = Array.from({ length: 400 }, (_, at) => leased({ at: 10 * at, size: 1 + at }, at, "driver"))
        const view = yield* openEvents(events)
        yield* promised(async () => {
          const { view: { to: whole } } = await view.drawn()
          const width = ({ view: { from, to } }: Awaited<ReturnType<typeof view.drawn>>) => to - from
          await view.page.mouse.move(700, 350)
          await view.page.mouse.wheel(0, -400)
          assert.isBelow(width(await view.drawn()), whole * 0.7)
          await view.press("0")
          await view.press("+")
          assert.closeTo(width(await view.press("+")), whole / 4, 1e-6)
          const before = await view.drawn()
          assert.isAbove((await view.press("a", "d", "d", "a")).view.to, 0)
          strictEqual(width(await view.drawn()), width(before))
          await view.page.getByLabel("From", { exact: true }).fill("1 s")
          await view.page.getByLabel("to", { exact: true }).fill("2000 ms")
          await view.page.keyboard.press("Enter")
          deepStrictEqual((await view.drawn()).view, { axis: "time", from: 1000, to: 2000 })
          await view.page.locator("#charts").focus()
          await view.press("0")
          const box = (await view.page.locator(".overview").boundingBox())!
          await view.page.mouse.move(box.x + box.width * 0.25, box.y + 20)
          await view.page.mouse.down()
          await view.page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 })
          await view.page.mouse.up()
          const { view: seen } = await view.drawn()
          assert.closeTo(seen.from, whole / 4, whole / 100)
          assert.closeTo(seen.to, whole / 2, whole / 100)
          deepStrictEqual(view.complaints, [])
        })
      }))

    it.effect("groups, and filters by label and call site", () =>
      Effect.gen(function*() {
        const view = yield* openEvents([
          leased({ size: 300, label: "weights", callSite: "src/a.ts:1" }, 1, "driver", 512),
          leased({ size: 200, label: "cache", callSite: "src/b.ts:2" }, 2, "driver", 256)
        ])
        yield* promised(async () => {
          deepStrictEqual((await view.drawn()).groups, ["weights", "cache"])
          deepStrictEqual((await view.press("g")).groups, ["src/a.ts:1", "src/b.ts:2"])
          deepStrictEqual((await view.press("g")).groups, ["up to 512 B", "up to 256 B"])
          await view.press("g", "/")
          await view.page.keyboard.type("B.TS")
          deepStrictEqual((await view.drawn()).groups, ["cache"])
          deepStrictEqual(await view.holders(), [{ label: "cache", site: "src/b.ts:2", bytes: 200 }])
        })
      }))

    it.effect("draws two runs over each other, and their difference", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(run(700, 0), run(400, 5000))
        yield* promised(async () => {
          const { plot } = await view.drawn()
          const colors = await view.colorsAt(50)
          const line = colors.indexOf("#0a3069")
          assert.closeTo(plot.height - line, 400 / plot.bytes * plot.height, 3)
          assert.include(await view.text("#moment"), "+300 B")
          assert.include(await view.text("#holders"), "+300 B")
          strictEqual(await view.page.locator("#charts canvas").count(), 3)
        })
      }))

    it.effect("is dark or light as the system is, or as the switch says", () =>
      Effect.gen(function*() {
        const view = yield* openEvents([leased({ size: 300, label: "x" }, 1, "driver", 1024)])
        yield* promised(async () => {
          const background = () => view.page.evaluate(() => getComputedStyle(document.body).backgroundColor)
          const dark = "rgb(15, 19, 23)"
          strictEqual(await background(), "rgb(255, 255, 255)")
          await view.page.emulateMedia({ colorScheme: "dark" })
          strictEqual(await background(), dark)
          const { view: { to } } = await view.drawn()
          assert.include(await view.colorsAt(to * 0.9), "#505a66")
          await view.press("t")
          strictEqual(await background(), "rgb(255, 255, 255)")
          assert.include(await view.colorsAt(to * 0.9), "#b3bbc5")
        })
      }))

    it.effect("has a name for each control, a cursor for keys, and its help", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(samples(1, 60)[0]!)
        yield* promised(async () => {
          const nameless = await view.page.evaluate(() =>
            [...document.querySelectorAll<HTMLInputElement>("button, input, select, [role=slider]")]
              .filter((control) =>
                control.ariaLabel === null && (control.labels?.length ?? 0) === 0 && control.innerText === ""
              )
              .map(({ outerHTML }) => outerHTML)
          )
          deepStrictEqual(nameless, [])
          await view.press("Home", "ArrowRight")
          assert.match((await view.page.locator("#charts").getAttribute("aria-valuetext"))!, /event \d+: .* active/)
          await view.press("?")
          assert.isTrue(await view.page.locator("#help").isVisible())
          await view.press("Escape")
          assert.isFalse(await view.page.locator("#help").isVisible())
        })
      }))

    it.effect("follows a running program", () =>
      Effect.gen(function*() {
        const events = Array.from(
          { length: 30 },
          (_, at) => leased({ at: 10 * at, size: 100, label: "x" }, at, "driver")
        )
        const parts = yield* Effect.forEach([10, 20, 30], (count) => Viewer.data(recordingOf(events.slice(0, count))))
        let at = 0
        const html = yield* Viewer.html(recordingOf([]), { title: "Live", live: "data" })
        const view = yield* (yield* ViewerPages).openLive(html, () => parts[at])
        const shows = (events: number) =>
          view.page.waitForFunction((events) => globalThis.effectGpuPoolViewer.state().events === events, events)
        yield* promised(async () => {
          await shows(10)
          strictEqual((await view.drawn()).cursor.state, 10)
          await view.page.locator("#charts").focus()
          await view.press("+", "Home")
          const { view: before } = await view.drawn()
          at = 1
          await shows(20)
          const { cursor, view: after } = await view.drawn()
          deepStrictEqual([after, cursor.state], [before, 0])
          await view.press("0", "End")
          at = 3
          await view.page.waitForFunction(() => document.querySelector("[role=status]")!.textContent !== "")
          at = 2
          await shows(30)
          strictEqual((await view.drawn()).cursor.state, 30)
          strictEqual(await view.text("h1"), "Live")
          strictEqual(await view.text("[role=status]"), "")
          deepStrictEqual(view.complaints.filter((text) => !text.includes("503")), [])
        })
      }))

    const markup = "</script><img src=x onerror=\"document.title='broken'\"><b>\u2028\ud800"
    const odd: Readonly<Record<string, ReadonlyArray<Event>>> = {
      "no event": [],
      "one event": [leased({ size: 1 }, 1, "driver")],
      "events of unknown blocks": [released(0, 5), released(1, 6)],
      "equal times": Array.from({ length: 50 }, (_, at) => leased({ at: 0, size: at }, at, "driver")),
      "times that go back": Array.from({ length: 50 }, (_, at) => leased({ at: -at, size: at }, at, "driver")),
      "huge bytes": [1, 2, 3].map((block) =>
        leased({ at: block, size: Number.MAX_SAFE_INTEGER, label: "huge" }, block, "driver")
      ),
      "markup in texts": [
        leased({ size: 1, label: markup, callSite: markup }, 1, "driver"),
        ranOut({ size: 1, label: markup }, [markup])
      ]
    }
    for (const [name, events] of Object.entries(odd)) {
      it.effect(`shows ${name}`, () =>
        Effect.gen(function*() {
          const view = yield* openEvents(events, events)
          yield* promised(async () => {
            for (
              const key of ["End", "Home", ".", ",", "ArrowRight", "+", "-", "x", "+", "0", "g", "m", "n", "p", "x"]
            ) {
              await view.press(key)
            }
            deepStrictEqual(view.complaints, [])
            strictEqual(await view.page.title(), "A test")
            strictEqual(await view.page.locator("b, img").count(), 0)
          })
        }))
    }

    it.effect("shows the largest of 10,000 labels, and the others together", () =>
      Effect.gen(function*() {
        const events = Array.from({ length: 10_000 }, (_, at) =>
          leased({ at, size: 1 + at, label: `label ${at}` }, at, "driver"))
        const view = yield* openEvents(events)
        yield* promised(async () => {
          const { groups } = await view.press("End")
          deepStrictEqual(groups.slice(0, 2), ["label 9999", "label 9998"])
          deepStrictEqual(groups.slice(12), ["9988 others"])
          strictEqual((await view.holders()).length, 200)
          assert.include(await view.text("#holders .rest"), "9,800 more")
        })
      }))

    // A million in `.ci/run`; the limits are those of some thousands.
    it.effect("draws no more of very many events than of some thousands", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(many(runs(1_000_000)))
        yield* promised(async () => {
          const { plot } = await view.drawn()
          for (const key of ["0", "+", "+", "+", "d", "+", "+", "+", "a", "+", "+", "+", "+", "+", "+"]) {
            const { drawn, groups } = await view.press(key)
            assert.isAtMost(drawn.points, plot.width * (groups.length + 8))
            assert.isAtMost(drawn.rectangles, 200_000)
            assert.isAtMost(drawn.looks, plot.width * 250)
          }
          deepStrictEqual(view.complaints, [])
        })
      }))
  })
})

it("has colors for its tests that differ", () => {
  strictEqual(new Set(Array.from({ length: 13 }, (_, group) => colorOf(group))).size, 13)
})
