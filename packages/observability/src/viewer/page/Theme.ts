/**
 * Dark or light: the setting of the system, or the user's choice.
 *
 * @internal
 */
import { type Colors, colorsNow } from "./charts/Colors.ts"

const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)")

export class Theme {
  #colors = colorsNow()
  #chosen = 0
  readonly #changed: () => void

  /** Calls `changed` when the colors change. */
  constructor(changed: () => void) {
    this.#changed = changed
    systemIsDark().addEventListener("change", () => this.#recolor())
  }

  readonly color = (name: keyof Colors): string => this.#colors[name]

  readonly next = (): void => {
    // from the system's own theme to the opposite one first, so that each press has a visible effect
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
