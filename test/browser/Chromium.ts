/**
 * A headless Chromium with the bundled page of `page.ts`, served from localhost, which is a secure context: WebGPU
 * exists only there.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { build, type BuildOptions, type Metafile } from "esbuild"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { type Browser, chromium as playwright, type Page as BrowserPage } from "playwright-core"
import { chromium } from "../support/required.ts"

export interface Bundle {
  readonly code: string
  readonly metafile: Metafile
}

const root = join(import.meta.dirname, "../..")

/** Bundles for browsers, from the sources, as a user's bundler does with the package. */
export const bundle = async (
  entry: Pick<BuildOptions, "alias" | "entryPoints" | "external" | "stdin">
): Promise<Bundle> => {
  const { metafile, outputFiles } = await build({
    ...entry,
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    conditions: ["effect-gpu-pool:source"],
    logLevel: "silent"
  })
  return { code: outputFiles.map(({ text }) => text).join(""), metafile }
}

/** A page with one script. The icon keeps the browser from requesting one, which would log an error. */
const htmlOf = (script: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>effect-gpu-pool</title><link rel="icon" href="data:,"></head>
<body><script type="module" src="${script}"></script></body>
</html>
`

/** What a server answers with. */
export interface File {
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

const pageOf = (script: string, headers: File["headers"] = {}): File => ({
  body: htmlOf(script),
  headers: { "content-type": "text/html; charset=utf-8", ...headers }
})

const scriptOf = (body: string): File => ({ body, headers: { "content-type": "text/javascript; charset=utf-8" } })

/** Only a page with these has SharedArrayBuffer. */
const isolation = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" }

/** The address of a server with these files, until the scope closes; files may be added. */
const serve = (files: ReadonlyMap<string, File>): Effect.Effect<string, never, Scope.Scope> => {
  const open = async () => {
    const server = createServer(({ url = "" }, response) => {
      const file = files.get(url)
      if (file === undefined) response.writeHead(404).end()
      else response.writeHead(200, file.headers).end(file.body)
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    return server
  }
  return Effect.acquireRelease(Effect.promise(open), (server) =>
    Effect.promise(async () => {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    })).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))
}

/** WebGPU on a CPU, and no network traffic of the browser's own. */
const flags = [
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run"
]

export const launch: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const executablePath = await chromium()
    if (executablePath === undefined) throw new Error("no chromium")
    return playwright.launch({ executablePath, headless: true, args: flags })
  }),
  (browser) => Effect.promise(() => browser.close())
)

/** What a page says on its console: errors, warnings and exceptions. */
export const listen = (page: BrowserPage, complaints: Array<string>): void => {
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.stack ?? error.message}`))
  page.on("crash", () => complaints.push("the page crashed"))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
  })
}

/** The open pages, and what they complained about since they were opened. */
export class Chromium extends Context.Service<Chromium, {
  /** A usual page, without SharedArrayBuffer. */
  readonly ordinary: BrowserPage
  /** Isolated from other origins, so that it has SharedArrayBuffer. */
  readonly isolated: BrowserPage
  readonly complaints: ReadonlyArray<string>
}>()("test/Chromium") {
  static readonly layer: Layer.Layer<Chromium> = Layer.effect(
    Chromium,
    Effect.gen(function*() {
      const { code } = yield* Effect.promise(() => bundle({ entryPoints: ["test/browser/page.ts"] }))
      const address = yield* serve(
        new Map([
          ["/ordinary", pageOf("/page.js")],
          ["/isolated", pageOf("/page.js", isolation)],
          ["/page.js", scriptOf(code)]
        ])
      )
      const browser = yield* launch
      const complaints: Array<string> = []
      const open = (path: string) =>
        Effect.promise(async () => {
          const page = await browser.newPage()
          listen(page, complaints)
          // a module has run when its page has loaded
          await page.goto(address + path, { waitUntil: "load" })
          return page
        })
      return { ordinary: yield* open("/ordinary"), isolated: yield* open("/isolated"), complaints }
    })
  )
}

/** Opens a page that has run a script, with further files beside it; what it complains about goes to the list. */
export class FreshPages extends Context.Service<FreshPages, {
  readonly open: (
    script: string,
    complaints: Array<string>,
    assets?: Readonly<Record<string, File>>
  ) => Effect.Effect<BrowserPage, never, Scope.Scope>
}>()("test/FreshPages") {
  static readonly layer: Layer.Layer<FreshPages> = Layer.effect(
    FreshPages,
    Effect.gen(function*() {
      const files = new Map<string, File>()
      const address = yield* serve(files)
      const browser = yield* launch
      let opened = 0
      const open = async (script: string, complaints: Array<string>, assets: Readonly<Record<string, File>> = {}) => {
        const folder = `/${opened++}/`
        for (const [name, file] of Object.entries(assets)) files.set(folder + name, file)
        files.set(folder, pageOf(`${folder}page.js`))
        files.set(`${folder}page.js`, scriptOf(script))
        const page = await browser.newPage()
        listen(page, complaints)
        await page.goto(address + folder, { waitUntil: "load" })
        // The module that the page has; it may wait for something itself.
        await page.evaluate("import('./page.js').then(() => undefined)")
        return page
      }
      return {
        open: (script, complaints, assets) =>
          Effect.acquireRelease(
            Effect.promise(() => open(script, complaints, assets)),
            (page) => Effect.promise(() => page.close())
          )
      }
    })
  )
}
