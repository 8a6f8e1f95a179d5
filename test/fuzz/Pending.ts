import type { Finding } from "./Campaign.ts"

/** Breaches that are found and not fixed yet, by their place in the sources. A fix removes its entry. */
export const pending: ReadonlyArray<{ readonly place: string; readonly why: string }> = []

export const isPending = ({ breach }: Finding): boolean => pending.some(({ place }) => breach.place.startsWith(place))
