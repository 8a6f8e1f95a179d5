/**
 * Elements of the page. Texts of recordings are inserted as text, never as markup.
 *
 * @internal
 */

type Attributes = Readonly<Record<string, string | boolean | ((event: Event) => void)>>

/** An element with attributes, listeners for the names that begin with "on", and children. */
export const element = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[K] => {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value)
    else if (value === true) made.setAttribute(key, "")
    else if (value !== false) made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}

/** A control after its name. */
export const named = (name: string, control: HTMLElement): HTMLElement => element("label", {}, `${name} `, control)

export const button = (text: string, name: string, click: () => void): HTMLButtonElement =>
  element("button", { type: "button", "aria-label": name, title: name, onclick: click }, text)

/** A button in a text, whose text is its name. */
export const link = (text: string, name: string, click: () => void): HTMLButtonElement =>
  element("button", { type: "button", class: "link", "aria-label": name, onclick: click }, text)

export const select = (
  options: ReadonlyArray<readonly [value: string, text: string]>,
  change: (value: string) => void
): HTMLSelectElement => {
  const made: HTMLSelectElement = element(
    "select",
    { onchange: () => change(made.value) },
    ...options.map(([value, text]) => element("option", { value }, text))
  )
  return made
}

/** A small square of a color. */
export const swatch = (color: string): HTMLElement => {
  const made = element("span", { class: "swatch" })
  made.style.background = color
  return made
}
