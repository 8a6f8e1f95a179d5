/**
 * Which lines a trace attributes to a function itself: in each text, those that end with `// own`, for the function at
 * `^`.
 */
import { assert, it } from "@effect/vitest"
import { outerLines } from "../src/OuterLines.ts"

const functions: Readonly<Record<string, string>> = {
  "a generator, up to its end": `
const f = Effect.gen(^function*() { // own
  const a = yield* first // own
  if (a > 0) { // own
    yield* second // own
  } // own
}) // own
after()`,
  "an arrow with a block, without the functions in it": `
run(^(seen) => { // own
  const later = () => { // own
    never()
  } // own
  function named() { // own
    never()
  } // own
  return later // own
}, other) // own
after()`,
  "an arrow with an expression, up to the comma": `
Effect.flatMap(read, ^(seen) => // own
  Effect.sync(() => { // own
    count = seen + 1
  }), // own
  after())`,
  "an arrow of one line, up to its end": `
const f = ^() => count // own
const g = after()`,
  "an expression that goes on in the next line": `
const f = ^() => // own
  one // own
    .two() // own
    + three // own
const g = after()`,
  "a function inside of one line": `
const f = ^() => { // own
  const double = (x) => x * 2 // own
  return double(1) // own
} // own
after()`,
  "a function with parameters of several lines": `
const f = Effect.fnUntraced(^function*(
  size: number,
  { usage, label }: Options,
  done: () => void
): Effect.fn.Return<void> {
  yield* one // own
}) // own
after()`,
  "a function whose place is that of the call around it": `
Effect.^sync(() => { // own
  count = seen + 1 // own
}) // own
after()`,
  "brackets in strings, templates and comments": `
const f = ^() => { // own
  const text = "} ) =>" + '{' // own
  const more = \`\${text} { // own
    ( => { // own
  \` // own
  /* } */ const rest = text // own
  return rest // own
} // own
after()`
}

it.each(Object.entries(functions))("of %s", (_, text) => {
  const source = text.replace("^", "").split("\n")
  const line = text.slice(0, text.indexOf("^")).split("\n").length
  const column = text.split("\n")[line - 1]!.indexOf("^")
  const own = source.flatMap((content, index) => content.endsWith("// own") ? [index + 1] : [])
  const found = outerLines(source.map((content) => content.replace(/ ?\/\/ own$/, "")), { line, column })
  assert.deepStrictEqual(found.filter((number) => number !== line), own.filter((number) => number !== line))
})
