/** The viewer's page in Chromium: leases that are hovered and chosen, two moments, ages, and a page as narrow as a phone. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { type Event, leased, ranOut, released, waiting } from "../support/anyRecording.ts"
import { describeWith } from "../support/required.ts"
import { openEvents, type ViewerPage, ViewerPages } from "./ViewerPages.ts"

const startup = { timeout: "2 minutes" } as const

const promised = <A>(look: () => Promise<A>): Effect.Effect<A> => Effect.promise(look)

const callSite = "/app/Tiles.ts:4:9 ← decode (/app/Decoder.ts:20:3) ← /app/main.ts:7:1"

/** A lease from 0 s to 8 s, one under it from 2 s to 6 s, and one of a short life, until 10 s. */
const events: ReadonlyArray<Event> = [
  leased({ at: 0, size: 1000, label: "weights", callSite: "/app/main.ts:3:1" }, 1, "driver", 1024),
  leased({ at: 2000, size: 500, label: "tile", callSite }, 2, "driver", 1024),
  leased({ at: 4000, size: 250, label: "scratch" }, 3, "driver", 1024),
  released(4500, 3, 250, 1024),
  released(6000, 2, 500, 1024),
  released(8000, 1, 1000, 1024),
  leased({ at: 10_000, size: 10, label: "late" }, 1, "held", 1024)
]

const hover = async (view: ViewerPage, chart: number, across: number, down: number): Promise<string> => {
  const { x, y } = await view.placeOf(chart, across, down)
  await view.page.mouse.move(x, y)
  await view.drawn()
  return view.text("#tip")
}

const click = async (view: ViewerPage, across: number, down: number) => {
  const { x, y } = await view.placeOf(1, across, down)
  await view.page.mouse.click(x, y)
  return view.drawn()
}

const isShown = (view: ViewerPage, selector: string) => view.page.locator(selector).isVisible()

describeWith(["chromium"], "what the viewer in Chromium says of a place", () => {
  layer(ViewerPages.layer, startup)((it) => {
    it.effect("is a tip under the mouse: who has the block, and how long", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(events)
        yield* promised(async () => {
          // the blocks are one over the other, from the bottom up
          const tile = await hover(view, 1, 0.3, 0.5)
          for (
            const part of ["block of 1 KiB", "500 B for tile, at /app/Tiles.ts:4:9", "from 2 s (event 2)", ": 4 s"]
          ) {
            assert.include(tile, part)
          }
          assert.include(await hover(view, 1, 0.9, 0.5), "held")
          const memory = await hover(view, 0, 0.3, 0.9)
          assert.include(memory, "weights: 1000 B")
          assert.include(memory, "1.46 KiB active at 2 s")
          assert.isTrue(await isShown(view, "#tip"))
          await view.page.mouse.move(2, 2)
          assert.isFalse(await isShown(view, "#tip"))
          deepStrictEqual(view.complaints, [])
        })
      }))

    it.effect("is the lease of a click: label, call stack, block and life", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(events)
        yield* promised(async () => {
          assert.isFalse(await isShown(view, "#picked"))
          const { picked } = await click(view, 0.3, 0.5)
          deepStrictEqual(picked, { block: 1, lease: 1 })
          const text = await view.text("#picked")
          for (
            const part of ["Lease of 500 B for tile", "from 2 s (event 2) to 6 s (event 5): 4 s", "1 KiB (BufferPool"]
          ) {
            assert.include(text, part)
          }
          deepStrictEqual(await view.page.locator("#picked .frames li").allInnerTexts(), callSite.split(" ← "))
          assert.isTrue(await isShown(view, ".picked"))
          const { view: seen } = await view.press("z")
          assert.isTrue(seen.from > 1000 && seen.from < 2000 && seen.to > 6000 && seen.to < 7000)
          await view.press("0")
          await click(view, 0.9, 0.5)
          assert.include(await view.text("#picked"), "Block of 1 KiB, held where it was chosen")
          strictEqual((await view.press("Escape")).picked, undefined)
          assert.isFalse(await isShown(view, "#picked"))
          deepStrictEqual(view.complaints, [])
        })
      }))

    it.effect("is reached by keys and by the table too", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(events)
        yield* promised(async () => {
          await view.page.locator("#charts").focus()
          await view.press("Home", ".", ".", ".")
          const leases: Array<number | undefined> = []
          for (const key of ["k", "k", "k", "k", "j"]) leases.push((await view.press(key)).picked?.lease)
          deepStrictEqual(leases, [0, 1, 2, 2, 1])
          assert.include(await view.text("#tip"), "500 B for tile, at /app/Tiles.ts:4:9")
          assert.include(await view.text("#picked"), "Lease of 500 B for tile")
          await view.press(".")
          assert.isFalse(await isShown(view, "#tip"))
          await view.press("Escape")
          await view.page.getByRole("button", { name: "Show the oldest lease of weights" }).focus()
          strictEqual((await view.press("Enter")).picked?.lease, 0)
          assert.include(await view.text("#picked"), "Lease of 1000 B for weights")
          assert.match(
            (await view.page.locator("#charts").getAttribute("aria-valuetext"))!,
            /, weights 1000 B, tile 500 B/
          )
        })
      }))

    it.effect("compares two moments: what was made after A and is alive at the cursor", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(events)
        yield* promised(async () => {
          await view.page.locator("#charts").focus()
          strictEqual((await view.press("Home", ".", "s")).since, 1)
          await view.press(".", ".")
          deepStrictEqual((await view.holders()).map(({ label }) => label), ["tile", "scratch"])
          assert.include(await view.text("#holders caption"), "of leases made after A (0 ms)")
          const moment = await view.text("#moment")
          for (const part of ["1000 B", "+750 B", "750 B in 2 leases"]) assert.include(moment, part)
          assert.isTrue(await view.page.locator(".cursor.since").first().isVisible())
          await view.page.getByRole("button", { name: "Compare with the moment at the cursor" }).click()
          strictEqual((await view.drawn()).since, undefined)
          deepStrictEqual((await view.holders()).map(({ label }) => label), ["weights", "tile", "scratch"])
        })
      }))

    it.effect("lists leases that are older than a time", () =>
      Effect.gen(function*() {
        const view = yield* openEvents(events)
        yield* promised(async () => {
          await view.page.locator("#charts").focus()
          await view.press("Home", ".", ".", ".")
          const field = view.page.getByLabel("Older than")
          const older = async (text: string) => {
            await field.fill(text)
            await view.drawn()
            return (await view.holders()).map(({ label }) => label)
          }
          deepStrictEqual(await older("2 s"), ["weights", "tile"])
          assert.include(await view.text("#holders caption"), "of leases 2 s old or older")
          deepStrictEqual(await older("2001 ms"), ["weights"])
          deepStrictEqual(await older("1 h"), [])
          assert.include(await view.text("#holders"), "none")
          await older("soon")
          strictEqual(await field.getAttribute("aria-invalid"), "true")
          deepStrictEqual(await older(""), ["weights", "tile", "scratch"])
        })
      }))

    const long = "an-unbroken-name-".repeat(12)
    const wide: ReadonlyArray<Event> = [
      ...events,
      leased(
        { at: 11_000, size: 5000, label: long, callSite: `/app/${long}.ts:1:1 ← /app/${long}.ts:2:2` },
        9,
        "driver"
      ),
      waiting({ at: 12_000, size: 9, label: long, request: 7 }),
      ranOut({ at: 13_000, size: 4096, label: long, callSite: `/app/${long}.ts:1:1` }, ["hit", "evict", "handlers"])
    ]
    for (const width of [420, 1280]) {
      it.effect(`needs no scrolling to the side at ${width} px`, () =>
        Effect.gen(function*() {
          const view = yield* openEvents(wide, events)
          yield* promised(async () => {
            await view.page.setViewportSize({ width, height: 900 })
            await view.page.waitForFunction(
              (width) => document.querySelector<HTMLElement>("#charts .uplot")!.offsetWidth <= width,
              width
            )
            await view.page.locator("#charts").focus()
            await view.press("s", "k")
            const widest = () => view.page.evaluate(() => document.documentElement.scrollWidth)
            strictEqual(await widest(), width)
            const tip = (await view.page.locator("#tip").boundingBox())!
            assert.isTrue(tip.x >= 0 && tip.x + tip.width <= width)
            const beyond = await view.page.evaluate((width) =>
              [...document.querySelectorAll<HTMLElement>("button, input, select, td, dd, li, h1, h2, p")]
                .filter((part) => part.getClientRects().length > 0 && part.getBoundingClientRect().right > width)
                .map(({ outerHTML }) => outerHTML), width)
            deepStrictEqual(beyond, [])
            await view.press("?")
            strictEqual(await widest(), width)
            const cells = await view.page.getByRole("table").getByRole("row").first().getByRole("columnheader").count()
            strictEqual(cells, 8)
          })
        }))
    }
  })
})
