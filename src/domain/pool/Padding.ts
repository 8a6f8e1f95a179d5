/**
 * How much of a limit may be padding: the bytes of blocks beyond those that were requested.
 *
 * A block that is larger than its request may save a driver call, but near a limit it takes memory that other requests
 * need. So the padding of all leases together stays within a share of the limit, and each request may have at most half
 * of what is left of that share: the less is left, the closer do blocks fit. Held blocks are no padding, since they can be
 * evicted. So requests that together ask for no more than the rest of the limit are always served.
 *
 * @internal
 */

/** The limit divided by the most bytes that may be padding. */
export const share = 12

/** The most bytes that may be padding under a limit. */
export const mostOf = (limit: number): number => Math.floor(limit / share)

/** By how many bytes the next block may be larger than its request, while `padding` bytes are padding already. */
export const nextOf = (most: number, padding: number): number => padding < most ? Math.floor((most - padding) / 2) : 0
