/**
 * Maps places in a compiled script to places in its source, by source maps.
 *
 * @internal
 */
import { builtin } from "./Inspector.ts"

/** A place in a source file. The line and the column count from 0. */
export interface Original {
  readonly url: string
  readonly line: number
  readonly column: number
  /** The file's text, where the map has it. */
  readonly text: string | undefined
}

/** `undefined` for a place that the map does not have. */
export type Mapping = (line: number, column: number) => Original | undefined

/** The members of `node:module` that are used here. */
interface SourceMap {
  findEntry(line: number, column: number): {
    readonly originalSource?: string
    readonly originalLine?: number
    readonly originalColumn?: number
  }
}

interface Payload {
  readonly sources?: ReadonlyArray<string | null>
  readonly sourcesContent?: ReadonlyArray<string | null>
}

/** A compiler writes it at the end; a module loader may add lines after it. */
const mapComment = /\/\/[#@]\s*sourceMappingURL=(\S+)\s*$/gm

/** The map that a script names; `undefined` if it names none, or one that cannot be read. */
export const ofScript = (source: string, url: string): Mapping | undefined => {
  const address = [...source.matchAll(mapComment)].at(-1)?.[1]
  const { SourceMap } = builtin<{ readonly SourceMap?: new(payload: Payload) => SourceMap }>("node:module") ?? {}
  if (address === undefined || SourceMap === undefined) return undefined
  try {
    const json = address.startsWith("data:") ? decoded(address) : fileAt(resolved(address, url))
    if (json === undefined) return undefined
    const payload = JSON.parse(json) as Payload
    const map = new SourceMap(payload)
    return (line, column) => {
      const { originalColumn = 0, originalLine, originalSource } = map.findEntry(line, column)
      if (originalLine === undefined || originalSource === undefined) return undefined
      const text = payload.sourcesContent?.[payload.sources?.indexOf(originalSource) ?? -1] ?? undefined
      return { url: resolved(originalSource, url), line: originalLine, column: originalColumn, text }
    }
  } catch {
    return undefined
  }
}

const decoded = (address: string): string => {
  const comma = address.indexOf(",")
  const data = address.slice(comma + 1)
  if (!address.slice(0, comma).endsWith(";base64")) return decodeURIComponent(data)
  return new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)))
}

const resolved = (address: string, from: string): string => {
  try {
    return new URL(address, from.startsWith("/") ? `file://${from}` : from).href
  } catch {
    return address
  }
}

/** The answers of a frame outside of any function, except for its place. */
const outside = {
  isToplevel: true,
  isNative: false,
  isEval: false,
  isConstructor: false,
  isAsync: false,
  isPromiseAll: false,
  getEvalOrigin: undefined,
  getFunction: undefined,
  getThis: undefined,
  getFunctionName: null,
  getMethodName: null,
  getPromiseIndex: null,
  getTypeName: null
}

/**
 * A stack frame as V8 passes it to `Error.prepareStackTrace`. Some implementations copy the methods of its prototype.
 */
const frameAt = (file: string, line: number, column: number): object => {
  const place = { getLineNumber: line + 1, getColumnNumber: column + 1, toString: `${file}:${line + 1}:${column + 1}` }
  const answers = { ...outside, ...place, getFileName: file, getScriptNameOrSourceURL: file }
  const methods = Object.entries(answers).map(([name, answer]) => [name, () => answer])
  return Object.create(Object.fromEntries(methods)) as object
}

const placeAtEnd = /(?:\(|at )(.+):(\d+):(\d+)\)?\s*$/

/** Maps places by the process's own `Error.prepareStackTrace`, for test runners that expose no source maps. */
export const ofStackTraces = (url: string): Mapping | undefined => {
  const prepareStackTrace = preparing(Error) ?? preparing(mainError())
  if (typeof prepareStackTrace !== "function") return undefined
  // Node's modules are named by URLs; a runner that evaluates code itself names it by a path.
  return (line, column) => {
    for (const file of new Set([pathOf(url), url])) {
      const [, name, lineOf, columnOf] = placeAtEnd.exec(lastFrame(prepareStackTrace, file, line, column)) ?? []
      if (name === undefined || (name === file && Number(lineOf) === line + 1 && Number(columnOf) === column + 1)) {
        continue
      }
      return { url: name, line: Number(lineOf) - 1, column: Number(columnOf) - 1, text: undefined }
    }
    return undefined
  }
}

const preparing = (errors: unknown): unknown => (errors as { readonly prepareStackTrace?: unknown }).prepareStackTrace

/** A test runner may run tests in a context of their own, and map the stack traces of all contexts. */
const mainError = (): unknown =>
  builtin<{ readonly runInThisContext: (code: string) => unknown }>("node:vm")?.runInThisContext("Error") ?? Error

const lastFrame = (prepare: Function, file: string, line: number, column: number): string => {
  try {
    return String(Reflect.apply(prepare, Error, [new Error(), [frameAt(file, line, column)]]))
  } catch {
    return ""
  }
}

interface FileSystem {
  readFileSync(path: string, encoding: "utf8"): string
}

/** `undefined` for a file that cannot be read, for example one that a compiler has only in memory. */
export const fileAt = (url: string): string | undefined => {
  try {
    return builtin<FileSystem>("node:fs")?.readFileSync(pathOf(url), "utf8")
  } catch {
    return undefined
  }
}

/** The path in a file's URL, with slashes; any other address as it is. */
export const pathOf = (file: string): string => {
  if (!file.startsWith("file://")) return file
  const path = file.slice("file://".length).replace(/^\/(?=[A-Za-z]:)/, "")
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
