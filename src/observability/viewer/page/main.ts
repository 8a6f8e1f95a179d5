/**
 * The script of the page: reads the recordings that stand in it, and shows them.
 *
 * @internal
 */
import { decompressed, fromText, unpack } from "../Packing.ts"
import type { Timeline } from "../Timeline.ts"
import { App } from "./App.ts"

const read = async (script: HTMLScriptElement): Promise<Timeline> => {
  const bytes = fromText(script.text.trim())
  // the text is no longer needed, and large
  script.remove()
  return unpack(await decompressed(bytes))
}

const start = async (): Promise<void> => {
  const scripts = [...document.querySelectorAll<HTMLScriptElement>("script[data-recording]")]
  const timelines = await Promise.all(scripts.map(read))
  const app = new App(document.getElementById("app")!, timelines)
  Object.assign(globalThis, { effectGpuPoolViewer: app })
}

void start()
