/** The same numbers in each run: a linear congruential generator of 32 bits. */
export const random = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Numbers between −scale and scale. */
export const randomValues = (count: number, next: () => number, scale: number): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: count }, () => (2 * next() - 1) * scale)
