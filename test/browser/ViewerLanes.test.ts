/** The viewer's page of a fleet in Chromium: a lane for each host, and the host that one chooses. */
import { Recording, Viewer } from "@effect-gpu-pool/observability"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { type Event, leased, noFacts, ranOut, released, waiting } from "../support/anyRecording.ts"
import { describeWith } from "../support/required.ts"
import { type ViewerPage, ViewerPages } from "./ViewerPages.ts"

const startup = { timeout: "2 minutes" } as const

const mib = 2 ** 20
const memories = [{ ...noFacts.memories[0]!, maxBytes: 8 * mib }]

const recordingOf = (host: string, events: ReadonlyArray<Event>, facts: Partial<Recording.RecordingFacts> = {}) =>
  Recording.make({ ...noFacts, memories, host, ...facts }, events)

const leaseOf = (label: string, from: number, to: number, size: number): ReadonlyArray<Event> => [
  leased({ at: from, size, label }, 1, "driver"),
  released(to, 1, size)
]

/** From 0 to 4 s, and from 6 to 10 s. */
const a = recordingOf("a", [
  ...leaseOf("tile", 0, 4000, 8 * mib),
  waiting({ at: 6000, size: 9, label: "patient", request: 7 }),
  ...leaseOf("map", 6000, 10_000, 4 * mib)
])
/** From 5 to 9 s, by the same clock. */
const b = recordingOf("b", [
  ...leaseOf("tile", 5000, 9000, 2 * mib),
  ranOut({ at: 9500, size: 16 * mib, label: "late" }, ["evict"])
])

const opened = Effect.gen(function*() {
  const html = yield* Viewer.fleetHtml([a, b, a], { title: "The fleet" })
  return yield* (yield* ViewerPages).open(html)
})

const promised = <A>(look: () => Promise<A>): Effect.Effect<A> => Effect.promise(look)

/** What the lanes say: the name of each, and its bytes at the cursor. */
const lanes = ({ page }: ViewerPage): Promise<ReadonlyArray<readonly [name: string, bytes: string]>> =>
  page.evaluate(() =>
    [...document.querySelectorAll("#lanes .lane")].map((lane) =>
      [lane.querySelector(".host")!.textContent, lane.querySelector(".bytes")!.textContent] as const
    )
  )

/** How many rows of a lane's picture have the color of leases, at a share of its width. */
const rowsAt = ({ page }: ViewerPage, lane: number, share: number): Promise<number> =>
  page.evaluate(({ lane, share }) => {
    const canvas = document.querySelectorAll<HTMLCanvasElement>("#lanes canvas")[lane]!
    const { data } = canvas.getContext("2d")!.getImageData(Math.floor(share * canvas.width), 0, 1, canvas.height)
    const probe = document.body.appendChild(document.createElement("i"))
    probe.style.color = "var(--managed)"
    const [red] = getComputedStyle(probe).color.match(/\d+/g)!
    probe.remove()
    return Array.from({ length: canvas.height }, (_, row) => row)
      .filter((row) => data[4 * row] === Number(red) && data[4 * row + 3] === 255).length
  }, { lane, share })

const clickLane = async (view: ViewerPage, lane: number, share: number): Promise<void> => {
  const box = (await view.page.locator("#lanes .overview").nth(lane).boundingBox())!
  await view.page.mouse.click(box.x + share * box.width, box.y + box.height / 2)
}

describeWith(["chromium"], "the page of a fleet in Chromium", () => {
  layer(ViewerPages.layer, startup)((it) => {
    it.effect("has a lane for each host, on one axis of time, as high as its limit", () =>
      Effect.gen(function*() {
        const view = yield* opened
        yield* promised(async () => {
          deepStrictEqual(view.complaints, [])
          strictEqual(view.requests.length, 1)
          strictEqual(await view.text("h1"), "The fleet")
          assert.include(await view.text("#lanes"), "3 hosts · 13 events")
          deepStrictEqual((await lanes(view)).map(([name]) => name), ["a", "b", "a 2"])
          // the axis is a little longer than 10 s
          const rows = (lane: number) =>
            Promise.all([0.2, 0.45, 0.55, 0.7, 0.95].map((share) => rowsAt(view, lane, share)))
          deepStrictEqual(await rows(0), [44, 0, 0, 22, 22])
          deepStrictEqual(await rows(1), [0, 0, 11, 11, 0])
        })
      }))

    it.effect("shows the host of the lane that is clicked, and what each host has at that time", () =>
      Effect.gen(function*() {
        const view = yield* opened
        yield* promised(async () => {
          await clickLane(view, 1, 0.7)
          const { cursor, groups, host, view: seen } = await view.drawn()
          deepStrictEqual([host, groups], [1, ["tile"]])
          assert.closeTo(cursor.x, 7000, 60)
          deepStrictEqual([seen.axis, seen.from], ["time", 0])
          strictEqual(await view.text("h2.title"), "b")
          deepStrictEqual(await lanes(view), [
            ["a", "4 MiB of 8 MiB · 1 wait"],
            ["b", "2 MiB of 8 MiB"],
            ["a 2", "4 MiB of 8 MiB · 1 wait"]
          ])
          deepStrictEqual((await view.holders()).map(({ bytes, label }) => [label, bytes]), [["tile", 2 * mib]])
          await clickLane(view, 0, 0.2)
          deepStrictEqual((await lanes(view))[1], ["b", "not recorded"])
          deepStrictEqual((await view.drawn()).groups, ["tile", "map"])
          strictEqual(
            await view.page.locator("#lanes [aria-pressed=true]").evaluateAll((all) =>
              all.map(({ textContent }) => textContent).join()
            ),
            "a"
          )
          deepStrictEqual(view.complaints, [])
        })
      }))

    it.effect("stays at the same times from host to host, by keys, and on the axis of events shows all", () =>
      Effect.gen(function*() {
        const view = yield* opened
        yield* promised(async () => {
          const box = (await view.page.locator("#lanes .overview").first().boundingBox())!
          await view.page.mouse.move(box.x + box.width * 0.5, box.y + 20)
          await view.page.mouse.down()
          await view.page.mouse.move(box.x + box.width * 0.75, box.y + 20, { steps: 4 })
          await view.page.mouse.up()
          const before = await view.drawn()
          assert.closeTo(before.view.from, 5000, 100)
          assert.closeTo(before.view.to, 7500, 100)
          strictEqual(before.host, 0)
          const after = await view.press("]")
          deepStrictEqual([after.host, after.view, after.cursor.x], [1, before.view, before.cursor.x])
          strictEqual((await view.press("[", "[")).host, 2)
          await view.press("]", "x")
          const events = await view.press("]")
          deepStrictEqual([events.host, events.events, events.view], [1, 3, { axis: "events", from: 0, to: 4 }])
          await view.press("?")
          assert.include(await view.text("#help"), "show the next host")
        })
      }))

    it.effect("follows each running host", () =>
      Effect.gen(function*() {
        const newer = yield* Viewer.data(recordingOf("b", leaseOf("new", 5000, 9900, 3 * mib)))
        const html = yield* Viewer.fleetHtml([a, recordingOf("b", [])], { live: "data" })
        let asked: ReadonlyArray<string> = []
        const view = yield* (yield* ViewerPages).openLive(html, (url) => {
          asked = [...asked, url]
          return url === "/data/1" ? newer : undefined
        })
        yield* promised(async () => {
          await view.page.waitForFunction(() =>
            [...document.querySelectorAll("[role=status]")].some(({ textContent }) => textContent !== "") &&
            document.querySelector("#lanes p")!.textContent!.includes("2 hosts · 7 events")
          )
          deepStrictEqual(new Set(asked), new Set(["/data/0", "/data/1"]))
          deepStrictEqual(
            await view.page.locator("[role=status]").evaluateAll((all) => all.map(({ textContent }) => textContent)),
            ["a does not answer: Error: data/0 answers 503", ""]
          )
          await clickLane(view, 1, 0.6)
          deepStrictEqual((await view.drawn()).groups, ["new"])
        })
      }))

    it.effect("draws a recording alone as it always did", () =>
      Effect.gen(function*() {
        const html = yield* Viewer.html(a, { title: "Alone" })
        const view = yield* (yield* ViewerPages).open(html)
        yield* promised(async () => {
          strictEqual(await view.page.locator("#lanes").count(), 0)
          strictEqual(await view.text("h1"), "Alone")
          assert.isTrue(await view.page.locator("#app > .whole").isVisible())
          strictEqual((await view.press("]")).host, 0)
          await view.press("?")
          assert.notInclude(await view.text("#help"), "next host")
        })
      }))
  })
})
