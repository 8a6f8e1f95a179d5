/** Builds the site into `site/dist`, and opens it in Chromium as files: no server, both themes, search, and a phone's width. */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { globSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { pathToFileURL } from "node:url"
import type { Page } from "playwright-core"
import { launch, listen } from "../browser/Chromium.ts"
import { some } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

const site = join(import.meta.dirname, "../../site")
const folder = join(site, "dist")

const build = async (): Promise<void> => {
  const child = spawn(process.execPath, [join(site, "main.ts")], { stdio: ["ignore", "pipe", "pipe"] })
  const [[status], ...output] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)])
  strictEqual(status, 0, output.join(""))
}

class BuiltSite extends Context.Service<BuiltSite, {
  /** A page of the site; it must complain about nothing. */
  readonly open: <A>(
    file: string,
    width: number,
    use: (page: Page) => Promise<A>,
    scripts?: boolean
  ) => Effect.Effect<A>
}>()("test/BuiltSite") {
  static readonly layer: Layer.Layer<BuiltSite> = Layer.effect(
    BuiltSite,
    Effect.gen(function*() {
      yield* Effect.promise(build)
      const browser = yield* launch
      const open = <A>(file: string, width: number, use: (page: Page) => Promise<A>, scripts = true) =>
        Effect.promise(async () => {
          const page = await browser.newPage({ viewport: { width, height: 900 }, javaScriptEnabled: scripts })
          try {
            const complaints: Array<string> = []
            listen(page, complaints)
            await page.goto(pathToFileURL(join(folder, file)).href, { waitUntil: "load" })
            const result = await use(page)
            deepStrictEqual(complaints, [])
            return result
          } finally {
            await page.close()
          }
        })
      return { open }
    })
  )
}

const background = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const [red = 0] = /\d+/.exec(getComputedStyle(document.body).backgroundColor) ?? []
    return Number(red)
  })

/** Names whose first result is the page of what they name. */
const searches = [
  ["BufferPool.allocate", "api/effect-gpu-pool/BufferPool/allocate.html"],
  ["DeviceArray.sum", "api/_effect-gpu-pool/arrays/DeviceArray/sum.html"],
  ["cookbook", "docs/cookbook.html"]
] as const

describeWith(["chromium"], "the site in Chromium, from files", () => {
  layer(BuiltSite.layer, { timeout: "5 minutes" })((it) => {
    it.effect.each(searches)("finds %s", ([query, expected]) =>
      Effect.gen(function*() {
        const { open } = yield* BuiltSite
        yield* open("docs/pool.html", 1280, async (page) => {
          await page.locator("#tsd-search-trigger").click()
          await page.locator("#tsd-search-input").fill(query)
          await page.locator("#tsd-search-results li a").first().click()
          await page.waitForURL(`**/${expected}`)
        })
      }))

    it.effect("is light or dark as the reader's system is, and as the reader says", () =>
      Effect.gen(function*() {
        const { open } = yield* BuiltSite
        yield* open("index.html", 1280, async (page) => {
          await page.emulateMedia({ colorScheme: "light" })
          assert.isAbove(await background(page), 200)
          await page.emulateMedia({ colorScheme: "dark" })
          assert.isBelow(await background(page), 80)
          await page.locator("summary", { hasText: "Settings" }).click()
          await page.locator("#tsd-theme").selectOption("light")
          assert.isAbove(await background(page), 200)
        })
      }))

    it.effect("leads from its first page to a task by one click, and shows its program", () =>
      Effect.gen(function*() {
        const { open } = yield* BuiltSite
        yield* open("index.html", 420, async (page) => {
          await page.getByRole("link", { name: "3. A limit, and waiting for room" }).click()
          await page.waitForURL("**/docs/cookbook.html#*")
          const heading = await page.getByRole("heading", { name: "3. A limit, and waiting for room" }).boundingBox()
          assert.isBelow(heading!.y, 450)
        })
      }))

    it.effect("shows icons without a server", () =>
      Effect.gen(function*() {
        const { open } = yield* BuiltSite
        const sizes = yield* open("api/effect-gpu-pool/BufferPool.html", 1280, async (page) => {
          await page.waitForSelector("#icon-search", { state: "attached" })
          return page.locator(".col-content use").evaluateAll((uses) =>
            uses.map((use) => document.querySelector(use.getAttribute("href")!) !== null)
          )
        })
        assert.isAbove(sizes.length, 20)
        assert.notInclude(sizes, false)
      }))

    it.effect("scrolls sideways on no document and on no page of an entry point or a module, on a phone", () =>
      Effect.gen(function*() {
        const { open } = yield* BuiltSite
        const files = globSync("{*,docs/*,examples/**/*,api/*,api/*/*,api/_effect-gpu-pool/*/*}.html", { cwd: folder })
        assert.isAbove(files.length, 150)
        const tried = some(files, 40)
        // Without scripts, which only fill the menus, a page opens in a tenth of the time.
        const wide = yield* open("index.html", 420, async (page) => {
          const found: Array<string> = []
          for (const file of tried) {
            await page.goto(pathToFileURL(join(folder, file)).href, { waitUntil: "load" })
            const width = await page.evaluate(() => document.documentElement.scrollWidth)
            if (width > 420) found.push(`${file}: ${width}`)
          }
          return found
        }, false)
        deepStrictEqual(wide, [])
      }))
  })
})
