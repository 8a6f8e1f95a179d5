/**
 * Dark or light: as the system has it, or as the user has chosen.
 *
 * @internal
 */
import { type Colors, colorsNow } from "./charts/Colors.ts"

const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)")

export class Theme {
  #colors = colorsNow()
  #chosen = 0
  readonly #changed: () => void

  /** `changed` is called when there are other colors. */
  constructor(changed: () => void) {
    this.#changed = changed
    systemIsDark().addEventListener("change", () => this.#recolor())
  }

  readonly color = (name: keyof Colors): string => this.#colors[name]

  readonly next = (): void => {
    // from the system's own to the opposite first, so that each press shows
    const order = systemIsDark().matches ? ["", "light", "dark"] : ["", "dark", "light"]
    this.#chosen = (this.#chosen + 1) % order.length
    document.documentElement.dataset["theme"] = order[this.#chosen]!
    this.#recolor()
  }

  #recolor(): void {
    this.#colors = colorsNow()
    this.#changed()
  }
}
