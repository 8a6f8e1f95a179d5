/**
 * A schedule, written as its differences from the usual one.
 *
 * @internal
 */

/** At this decision, counted from 0, another option than 0, the usual one, was taken. */
export interface Deviation {
  readonly decision: number
  readonly option: number
}

export type SchedulePath = ReadonlyArray<Deviation>

/** As `41:1 52:2`: option 1 at decision 41, and option 2 at decision 52. The usual schedule is the empty string. */
export const format = (path: SchedulePath): string =>
  path.map(({ decision, option }) => `${decision}:${option}`).join(" ")

/** Parses a path; `undefined` if the string is not one. */
export const parse = (text: string): SchedulePath | undefined => {
  const path: Array<Deviation> = []
  for (const word of text.split(" ")) {
    if (word === "") continue
    const [, decision, option] = /^(\d+):(\d+)$/.exec(word) ?? []
    if (decision === undefined || option === undefined) return undefined
    if (Number(decision) <= (path.at(-1)?.decision ?? -1)) return undefined
    path.push({ decision: Number(decision), option: Number(option) })
  }
  return path
}
