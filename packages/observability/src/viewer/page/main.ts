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

/** What is polled, and how often. */
interface Followed {
  readonly address: string
  /** Milliseconds after each answer. */
  readonly refresh: number
  /** The host of a fleet, and its name in messages. */
  readonly host: number
  readonly name: string
}

const follow = (app: App, { address, host, name, refresh }: Followed, status: HTMLElement): void => {
  const ask = async (): Promise<void> => {
    try {
      app.update(await newest(address), host)
      status.textContent = ""
    } catch (cause) {
      // the program may be gone, or come back
      status.textContent = `${name} does not answer: ${String(cause)}`
    }
    setTimeout(ask, refresh)
  }
  void ask()
}

const start = async (): Promise<void> => {
  const root = document.getElementById("app")!
  const scripts = [...document.querySelectorAll<HTMLScriptElement>("script[data-recording]")]
  const timelines = await Promise.all(scripts.map(read))
  const { fleet, live, refresh } = root.dataset
  const app = new App(root, timelines, fleet !== undefined)
  Object.assign(globalThis, { effectGpuPoolViewer: app })
  if (live === undefined) return
  const followed = fleet === undefined
    ? [{ address: live, host: 0, name: "The program" }]
    : timelines.map(({ title }, host) => ({ address: `${live}/${host}`, host, name: title }))
  for (const of of followed) {
    const status = element("p", { role: "status" })
    root.before(status)
    follow(app, { ...of, refresh: Number(refresh) }, status)
  }
}

void start()
