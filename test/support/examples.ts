/**
 * The examples of the documentation: every ```ts fence of the Markdown files and of the JSDoc blocks. A fence is a
 * whole module. `ts no-run` marks one that only compiles. A trailing `// => value` asserts the value of the expression
 * before it, or the result if the expression is an effect, which runs in a scope with a buffer pool on the host.
 */
import { parseSync } from "oxc-parser"

export interface Example {
  /** The document, relative to the repository. */
  readonly file: string
  /** The line of the document on which the code begins. */
  readonly line: number
  readonly code: string
  readonly runs: boolean
}

const opening = /^(\s*)```(\S*)[ \t]*(.*)$/

const withoutIndent = (line: string, indent: string): string =>
  line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()

/** The fences of a Markdown text whose first line is line `first` of the document. */
export const examplesOfMarkdown = (file: string, text: string, first = 1): ReadonlyArray<Example> => {
  const examples: Array<Example> = []
  const lines = text.split("\n")
  for (let at = 0; at < lines.length; at++) {
    const [, indent = "", language, tags = ""] = opening.exec(lines[at] ?? "") ?? []
    if (language === undefined) continue
    const length = lines.slice(at + 1).findIndex((line) => line.trim() === "```")
    if (length === -1) throw new SyntaxError(`${file}:${first + at}: the fence has no end`)
    const start = at + 1
    at = start + length
    if (language !== "ts") continue
    const code = lines.slice(start, at).map((line) => withoutIndent(line, indent)).join("\n")
    examples.push({ file, line: first + start, code, runs: runsWith(tags, `${file}:${first + start - 1}`) })
  }
  return examples
}

const runsWith = (tags: string, place: string): boolean => {
  const unknown = tags.split(/\s+/).find((tag) => tag !== "" && tag !== "no-run")
  if (unknown !== undefined) throw new SyntaxError(`${place}: ${unknown} is no tag of a ts fence; no-run is`)
  return tags === ""
}

export const examplesOfSource = (file: string, source: string): ReadonlyArray<Example> =>
  parseSync(file, source).comments
    .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
    .flatMap(({ start, value }) => {
      const text = value.split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n")
      return examplesOfMarkdown(file, text, source.slice(0, start).split("\n").length)
    })

/**
 * Puts the code on its line in the document by blank lines before it, so that compilers and stack traces name that
 * line.
 */
export const inPlace = ({ code, line }: Example): string => "\n".repeat(line - 1) + code + "\n"

interface Assertion {
  readonly start: number
  readonly end: number
  readonly expected: string
}

const assertionsOf = (file: string, code: string): ReadonlyArray<Assertion> => {
  const { comments, errors, program } = parseSync(file, code)
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${file}: ${error.message}`)
  const actuals = program.body.flatMap((statement) => {
    if (statement.type !== "ExpressionStatement") return []
    const { end, expression } = statement
    const isLog = expression.type === "CallExpression" &&
      code.slice(expression.callee.start, expression.callee.end) === "console.log" && expression.arguments.length === 1
    const [actual = expression] = isLog ? expression.arguments : []
    return [{ start: actual.start, end: actual.end, after: end }]
  })
  return comments
    .filter(({ type, value }) => type === "Line" && value.trimStart().startsWith("=>"))
    .map((comment) => {
      const actual = actuals.find(({ after }) =>
        after <= comment.start && code.slice(after, comment.start).trim() === ""
      )
      if (actual === undefined) {
        const line = code.slice(0, comment.start).split("\n").length
        throw new SyntaxError(`${file}:${line}: "//${comment.value}" follows no expression of the module's top level`)
      }
      return { start: actual.start, end: actual.end, expected: comment.value.replace(/^\s*=>\s*/, "") }
    })
}

/** The device of the effects of an example: its layer, and the entry point that exports it. */
export interface Device {
  readonly layer: string
  readonly from: string
}

const host: Device = { layer: "Host", from: "effect-gpu-pool/host" }

/** The example as a module that checks its own `// => value` comments, each on its own line. */
export const executable = (example: Example, device: Device = host): string => {
  const code = inPlace(example)
  const assertions = assertionsOf(example.file.replace(/\.md$/, ".ts"), code)
  const checked = [...assertions].sort((a, b) => b.start - a.start).reduce((text, { end, expected, start }) => {
    const check = `__expectEqual(await __given((${text.slice(start, end)})), (${expected}))`
    return text.slice(0, start) + check + text.slice(end)
  }, code)
  if (assertions.length === 0) return checked
  return checked + prelude +
    (code.includes("effect-schedules") && !code.includes("\"effect-gpu-pool") ? alone : onDevice(device))
}

/** Imports hold for the whole module, wherever they stand. */
const prelude = [
  "import { deepStrictEqual as __expectEqual } from \"node:assert/strict\"",
  "import { Effect as __Effect } from \"effect\"",
  "function __given(value) { return __Effect.isEffect(value) ? __Effect.runPromise(__provided(value)) : value }",
  ""
].join("\n")

/** For examples of a package that does not depend on this library. */
const alone = "function __provided(effect) { return __Effect.scoped(effect) }\n"

const onDevice = ({ from, layer }: Device): string =>
  [
    "import { BufferPool as __BufferPool } from \"effect-gpu-pool\"",
    `import { ${layer} as __Device } from "${from}"`,
    `function __provided(effect) {
  return effect.pipe(__Effect.scoped, __Effect.provide(__BufferPool.layer()), __Effect.provide(__Device.layer()))
}`,
    ""
  ].join("\n")
