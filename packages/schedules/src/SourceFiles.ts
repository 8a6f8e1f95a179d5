/**
 * Maps places in scripts, as an engine runs them, to places in the source files.
 *
 * @internal
 */
import type { Position, Script } from "./Inspector.ts"
import { printable } from "./PrintedText.ts"
import { fileAt, type Mapping, ofScript, ofStackTraces, pathOf } from "./SourceMaps.ts"

/** Whose code a file has: this program's, a package's, or that of Effect, the runtime and the explorer. */
export type Owner = "program" | "package" | "engine"

/** A place in a file. Lines and columns count from 1. */
export interface Place {
  readonly owner: Owner
  /** The path, relative to the working directory if the file is below it, with control characters escaped. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** The lines of the file. */
  readonly source: ReadonlyArray<string>
}

export const format = ({ column, file, line }: Place): string => `${file}:${line}:${column}`

interface Read {
  readonly url: string
  readonly source: string
  readonly mapping: Mapping | undefined
  /** The script's lines differ from those of the file whose name it has. */
  readonly isCompiled: boolean
}

export class SourceFiles {
  readonly #scripts: ReadonlyMap<string, Script>
  readonly #read = new Map<string, Read>()
  readonly #lines = new Map<string, ReadonlyArray<string>>()

  constructor(scripts: ReadonlyMap<string, Script>) {
    this.#scripts = scripts
  }

  placeOf({ column, line, script }: Position): Place | undefined {
    const read = this.#reading(script)
    if (read === undefined) return undefined
    const original = read.mapping?.(line, column)
    if (original !== undefined) {
      return this.#place(
        original.url,
        original.line,
        original.column,
        () => original.text ?? fileAt(original.url) ?? ""
      )
    }
    return this.#place(read.url, line, column, () => read.source, read.isCompiled)
  }

  #place(url: string, line: number, column: number, text: () => string, isCompiled = false): Place {
    const file = `${nameOf(url)}${isCompiled ? " (compiled)" : ""}`
    let source = this.#lines.get(file)
    if (source === undefined) {
      source = text().split("\n")
      this.#lines.set(file, source)
    }
    return { owner: ownerOf(url), file, line: line + 1, column: column + 1, source }
  }

  #reading(id: string): Read | undefined {
    const known = this.#read.get(id)
    if (known !== undefined) return known
    const script = this.#scripts.get(id)
    if (script === undefined || script.url === "") return undefined
    const { url } = script
    const isEngine = ownerOf(url) === "engine"
    const written = isEngine ? undefined : fileAt(url)
    const source = script.source()
    // Where Node has only blanked out types, every place is the same in the file.
    const isCompiled = written !== undefined && !hasPlacesOf(source, written)
    // Maps of large libraries take long to read, and a trace shows no lines of an engine.
    const mapping = isEngine ? undefined : ofScript(source, url) ?? ofStackTraces(url)
    const read = { url, source: isCompiled ? source : written ?? source, mapping, isCompiled }
    this.#read.set(id, read)
    return read
  }
}

/** Whether each line of the file is as long in the script. */
const hasPlacesOf = (script: string, file: string): boolean => {
  const lines = script.split("\n")
  return file.split("\n").every((line, index) => lines[index]?.length === line.length)
}

/** Files of the explorer, unless a bundler has put all code into one file, which may have no URL. */
const ownFolder = /^(.*\/)SourceFiles\.[jt]s$/.exec(pathOf(String(import.meta.url)))?.[1]

const ofEffect = /\/node_modules\/(?:effect|@effect\/[^/]+)\//

/** Whose code a file has, by its path or URL. */
export const ownerOf = (url: string): Owner => {
  const path = pathOf(url).replaceAll("\\", "/")
  if (path.startsWith("node:") || path.startsWith("ext:") || ofEffect.test(path)) return "engine"
  if (ownFolder !== undefined && path.startsWith(ownFolder)) return "engine"
  return path.includes("/node_modules/") ? "package" : "program"
}

/** A stack trace without the frames of Effect, the runtime and the explorer. */
export const withoutEngine = (stack: string): string =>
  stack.split("\n").filter((line) => {
    // The expression takes quadratic time, and a message may be one long line.
    const file = line.length > 1000 ? undefined : /^\s+at (?:.*\()?(.+):\d+:\d+\)?$/.exec(line)?.[1]
    return file === undefined || ownerOf(file) !== "engine"
  }).join("\n")

const nameOf = (url: string): string => {
  const { cwd } = (globalThis as { readonly process?: { readonly cwd?: () => string } }).process ?? {}
  const folder = cwd === undefined ? undefined : `${cwd().replaceAll("\\", "/")}/`
  const path = pathOf(url)
  if (path.startsWith("data:")) return "data:"
  return printable(folder !== undefined && path.startsWith(folder) ? path.slice(folder.length) : path, 120)
}
