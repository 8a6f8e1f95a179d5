/**
 * What this JavaScript runtime has of half-precision numbers.
 *
 * @internal
 */

/** Whether there are arrays of them, and the rounding to them. */
export const hasHalves = (): boolean =>
  (globalThis as { readonly Float16Array?: unknown }).Float16Array !== undefined &&
  (Math as { readonly f16round?: unknown }).f16round !== undefined
