import type { Finding } from "./Campaign.ts"

/** What is found and not mended yet, by the place in the sources. Each goes away with its mend. */
export const pending: ReadonlyArray<{ readonly place: string; readonly why: string }> = [
  {
    place: "src/services/leasing/PoolRequests.ts",
    why: "options of allocate and use are read, and f is called, without a check"
  },
  { place: "src/services/BufferPool.ts", why: "onOutOfMemory takes a handler that is no function" }
]

export const isPending = ({ breach }: Finding): boolean => pending.some(({ place }) => breach.place.startsWith(place))
