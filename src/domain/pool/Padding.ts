/**
 * How much of a limit may go to padding, which is what blocks have beyond the bytes that were asked for.
 *
 * A block that is larger than its request saves a call of the driver, and near a limit it takes memory that other
 * requests need. So the padding of all leases together stays within a share of the limit, and each request may have at
 * most half of what is left of it: the more of it is gone, the closer do blocks fit. Held blocks are not padding, since
 * they can be evicted. So requests that ask for no more than the rest of the limit are always served.
 *
 * @internal
 */

/** The limit, over the most bytes that may be padding. */
export const share = 12

/** The most bytes that may be padding under a limit. */
export const mostOf = (limit: number): number => Math.floor(limit / share)

/** By how many bytes the next block may be larger than what is asked for, while so many of them are padding already. */
export const nextOf = (most: number, padding: number): number => padding < most ? Math.floor((most - padding) / 2) : 0
