/** Pages of the viewer, opened from files in a headless Chromium, and what can be seen of them. */
import { Recording, Viewer } from "@effect-gpu-pool/observability"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Page } from "playwright-core"
import type { PageState } from "../../packages/observability/src/viewer/page/App.ts"
import { type Event, noFacts } from "../support/anyRecording.ts"
import { launch, listen } from "./Chromium.ts"

const root = join(import.meta.dirname, "../..")

export const recordingOf = (events: Iterable<Event>): Recording.Recording => Recording.make(noFacts, events)

declare global {
  var effectGpuPoolViewer: { readonly state: () => PageState }
}

/** A page of the viewer. */
export class ViewerPage {
  readonly page: Page
  /** The page's requests, and its console messages. */
  readonly requests: ReadonlyArray<string>
  readonly complaints: ReadonlyArray<string>

  constructor(page: Page, requests: ReadonlyArray<string>, complaints: ReadonlyArray<string>) {
    this.page = page
    this.requests = requests
    this.complaints = complaints
  }

  /** Waits until everything requested is drawn. */
  async drawn(): Promise<PageState> {
    await this.page.evaluate(() =>
      new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))
    )
    return this.page.evaluate(() => globalThis.effectGpuPoolViewer.state())
  }

  async press(...keys: ReadonlyArray<string>): Promise<PageState> {
    for (const key of keys) await this.page.keyboard.press(key)
    return this.drawn()
  }

  /** The colors of the canvas of memory at a place of the axis, from the top of the plot to its bottom. */
  async colorsAt(x: number): Promise<ReadonlyArray<string>> {
    const { plot, view } = await this.drawn()
    const column = Math.floor((x - view.from) / (view.to - view.from) * plot.width)
    return this.page.evaluate(({ column, plot }) => {
      const canvas = document.querySelector<HTMLCanvasElement>("#charts section canvas")!
      const { data } = canvas.getContext("2d")!.getImageData(plot.left + column, plot.top, 1, plot.height)
      return Array.from(
        { length: plot.height },
        (_, row) =>
          data[4 * row + 3] === 0
            ? ""
            : `#${[0, 1, 2].map((at) => data[4 * row + at]!.toString(16).padStart(2, "0")).join("")}`
      )
    }, { column, plot })
  }

  /** The table of holders. */
  holders(): Promise<ReadonlyArray<{ readonly label: string; readonly site: string; readonly bytes: number }>> {
    return this.page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("#holders tbody tr[data-bytes]")].map(({ dataset }) => ({
        label: dataset["label"]!,
        site: dataset["site"]!,
        bytes: Number(dataset["bytes"])
      }))
    )
  }

  /** The place of the window at a share of the width and height of a chart's plot: of memory is the first one, and of blocks the second. */
  async placeOf(chart: number, across: number, down: number): Promise<{ readonly x: number; readonly y: number }> {
    const box = await this.page.locator("#charts .u-over").nth(chart).boundingBox()
    if (box === null) throw new Error(`chart ${chart} is not to be seen`)
    return { x: box.x + box.width * across, y: box.y + box.height * down }
  }

  text(selector: string): Promise<string> {
    return this.page.evaluate((selector) => document.querySelector<HTMLElement>(selector)?.innerText ?? "", selector)
  }
}

/** The newest data at a path; undefined where the program does not answer. */
type LiveData = (path: string) => Uint8Array | undefined

/** The address of a server with a page, and with data that change. */
const serveLive = (html: string, data: LiveData): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(({ url = "" }, response) => {
        if (url === "/") {
          response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html)
          return
        }
        const bytes = data(url)
        if (bytes === undefined) response.writeHead(503).end()
        else response.writeHead(200, { "content-type": "application/gzip" }).end(bytes)
      })
      await once(server.listen(0, "127.0.0.1"), "listening")
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        const closed = once(server, "close")
        server.close()
        server.closeAllConnections()
        await closed
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`))

/** Opens pages of the viewer. */
export class ViewerPages extends Context.Service<ViewerPages, {
  /** A page from a server, which answers with the newest data of these. */
  readonly openLive: (
    html: string,
    data: LiveData
  ) => Effect.Effect<ViewerPage, never, Scope.Scope>
  /** `pixels` is the device pixel ratio. */
  readonly open: (html: string, pixels?: number) => Effect.Effect<ViewerPage, never, Scope.Scope>
}>()("test/ViewerPages") {
  static readonly layer: Layer.Layer<ViewerPages> = Layer.effect(
    ViewerPages,
    Effect.gen(function*() {
      const browser = yield* launch
      mkdirSync(join(root, "test-results"), { recursive: true })
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(root, "test-results/viewer-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      let files = 0
      const viewport = { width: 1300, height: 1000 }
      // A page that goes to another document takes a third of the time that a new one takes. Nothing of the one before is left:
      // the viewer stores nothing.
      const free = new Map<number, Array<Page>>()
      const freeOf = (deviceScaleFactor: number): Array<Page> => {
        const pages = free.get(deviceScaleFactor) ?? []
        free.set(deviceScaleFactor, pages)
        return pages
      }
      const release = async (page: Page, deviceScaleFactor: number): Promise<void> => {
        page.removeAllListeners()
        await page.goto("about:blank")
        await page.emulateMedia({ colorScheme: null })
        await page.setViewportSize(viewport)
        await page.mouse.move(0, 0)
        freeOf(deviceScaleFactor).push(page)
      }
      const load = async (address: string, deviceScaleFactor: number): Promise<ViewerPage> => {
        const page = freeOf(deviceScaleFactor).pop() ?? await browser.newPage({ viewport, deviceScaleFactor })
        const requests: Array<string> = []
        const complaints: Array<string> = []
        page.on("request", (request) => requests.push(request.url()))
        listen(page, complaints)
        await page.goto(address)
        await page.waitForFunction(() => Number(document.getElementById("app")?.dataset["frame"] ?? 0) > 0)
        return new ViewerPage(page, requests, complaints)
      }
      const opened = (address: string, pixels = 1) =>
        Effect.acquireRelease(
          Effect.promise(() => load(address, pixels)),
          ({ page }) => Effect.promise(() => release(page, pixels))
        )
      return {
        open: (html, pixels) => {
          const file = join(folder, `${files++}.html`)
          writeFileSync(file, html)
          return opened(pathToFileURL(file).href, pixels)
        },
        openLive: (html, data) => Effect.flatMap(serveLive(html, data), (address) => opened(address))
      }
    })
  )
}

/** Opens a page of these events, and perhaps of those of another run. */
export const openEvents = (events: Iterable<Event>, other?: Iterable<Event>, pixels?: number) =>
  Effect.gen(function*() {
    const compareWith = other === undefined ? undefined : recordingOf(other)
    const html = yield* Effect.orDie(Viewer.html(recordingOf(events), { title: "A test", compareWith }))
    return yield* (yield* ViewerPages).open(html, pixels)
  })
