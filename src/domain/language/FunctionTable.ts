/**
 * The library functions that a text calls, which a language puts before the kernel.
 *
 * @internal
 */

/** Functions by name, each after those that it calls. */
export type Functions = ReadonlyMap<string, string>

/** Names of the library contain two underscores. */
const call = /\b[A-Za-z]\w*__\w+(?=\()/g

/** A table of functions from their texts, in each of which the first such name is the function's own. */
export const functionsOf = (texts: ReadonlyArray<string>): Functions =>
  new Map(texts.map((text) => [text.match(call)![0], text]))

/** The functions that some texts call, and those that they call in turn, in the order of the table. */
export const functionsCalled = (functions: Functions, texts: Iterable<string>): ReadonlyArray<string> => {
  const used = new Set<string>()
  const visit = (text: string): void => {
    for (const [name] of text.matchAll(call)) {
      const found = functions.get(name)
      if (found === undefined || used.has(name)) continue
      used.add(name)
      visit(found)
    }
  }
  for (const text of texts) visit(text)
  return [...functions].flatMap(([name, text]) => used.has(name) ? [text] : [])
}
