/**
 * The script of the page: reads the recordings in the page and shows them; for a running program it also fetches newer ones.
 *
 * @internal
 */
import { decompressed, fromText, unpack } from "../Packing.ts"
import type { Timeline } from "../Timeline.ts"
import { App } from "./App.ts"
import { element } from "./Elements.ts"

const read = async (script: HTMLScriptElement): Promise<Timeline> => {
  const bytes = fromText(script.text.trim())
  // the text is no longer needed, and large
  script.remove()
  return unpack(await decompressed(bytes))
}

const newest = async (address: string): Promise<Timeline> => {
  const answer = await fetch(address, { cache: "no-store" })
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`)
  return unpack(await decompressed(new Uint8Array(await answer.arrayBuffer())))
}

/** Polls the address, `refresh` milliseconds after each answer. */
const follow = (app: App, address: string, refresh: number, status: HTMLElement): void => {
  const ask = async (): Promise<void> => {
    try {
      app.update(await newest(address))
      status.textContent = ""
    } catch (cause) {
      // the program may be gone, or come back
      status.textContent = `The program does not answer: ${String(cause)}`
    }
    setTimeout(ask, refresh)
  }
  void ask()
}

const start = async (): Promise<void> => {
  const root = document.getElementById("app")!
  const scripts = [...document.querySelectorAll<HTMLScriptElement>("script[data-recording]")]
  const app = new App(root, await Promise.all(scripts.map(read)))
  Object.assign(globalThis, { effectGpuPoolViewer: app })
  const address = root.dataset["live"]
  if (address === undefined) return
  const status = element("p", { role: "status" })
  root.before(status)
  follow(app, address, Number(root.dataset["refresh"]), status)
}

void start()
