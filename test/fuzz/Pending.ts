import type { Finding } from "./Campaign.ts"

/** What is found and not mended yet, by the place in the sources. Each goes away with its mend. */
export const pending: ReadonlyArray<{ readonly place: string; readonly why: string }> = []

export const isPending = ({ breach }: Finding): boolean => pending.some(({ place }) => breach.place.startsWith(place))
