/**
 * A schedule, written as what sets it apart from the usual one.
 *
 * @internal
 */

/** At this decision, counted from 0, another option than the usual one (which is 0) was taken. */
export interface Deviation {
  readonly decision: number
  readonly option: number
}

export type SchedulePath = ReadonlyArray<Deviation>

/** As `41:1 52:2`: option 1 at decision 41, and option 2 at decision 52. The usual schedule is the empty text. */
export const format = (path: SchedulePath): string =>
  path.map(({ decision, option }) => `${decision}:${option}`).join(" ")

/** The path of a text, or `undefined` if it is none. */
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
