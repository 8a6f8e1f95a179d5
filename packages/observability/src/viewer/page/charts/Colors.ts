/**
 * The colours of the page's drawings, from its style sheet: they depend on dark and light.
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

/** Converts a computed color of a browser, `rgb(10, 20, 30)`. */
const hexOf = (rgb: string): string =>
  `#${(rgb.match(/\d+/g) ?? []).slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`

/** Sets each variable as the color of an element: only there does the browser resolve the choice of light or dark. */
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

/** The colors of groups, the largest group first; the last color is for all others. */
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
