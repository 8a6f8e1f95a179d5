/** What the checks of an example need of `node:assert/strict`, for a page: its values are plain data there. */
export const deepStrictEqual = (actual: unknown, expected: unknown): void => {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (one !== other) throw new Error(`${one} is not ${other}`)
}
