/**
 * The colours of the page's drawings: those of its style sheet, which depend on dark and light.
 *
 * @internal
 */

const names = [
  "text",
  "grid",
  "panel",
  "held",
  "slack",
  "busy",
  "left-out",
  "managed",
  "least",
  "limit",
  "failure",
  "waiting",
  "other-run",
  "more",
  "fewer"
] as const

export type Colors = { readonly [Name in typeof names[number]]: string }

/** As a browser tells a computed color: `rgb(10, 20, 30)`. */
const hexOf = (rgb: string): string =>
  `#${(rgb.match(/\d+/g) ?? []).slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`

/** Only as the color of an element does the style sheet's choice of light or dark have a value. */
export const colorsNow = (): Colors => {
  const probe = document.body.appendChild(document.createElement("i"))
  const colorOf = (name: string): string => {
    probe.style.color = `var(--${name})`
    return hexOf(getComputedStyle(probe).color)
  }
  const colors = Object.fromEntries(names.map((name) => [name, colorOf(name)])) as Colors
  probe.remove()
  return colors
}

/** Of the groups, the largest one first; the last is for all others. */
const ofGroups = [
  "#4269d0",
  "#efb118",
  "#ff725c",
  "#6cc5b0",
  "#3ca951",
  "#ff8ab7",
  "#a463f2",
  "#97bbf5",
  "#9c6b4e",
  "#8a9a1c",
  "#00809b",
  "#c2386b",
  "#9498a0"
]

export const colorOf = (group: number): string => ofGroups[Math.min(group, ofGroups.length - 1)]!
