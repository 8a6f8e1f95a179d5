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

export const colorsNow = (): Colors => {
  const style = getComputedStyle(document.documentElement)
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Colors
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
