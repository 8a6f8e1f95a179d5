/**
 * Writes the report of each package's API into `api`: every path that it exports, and each name there with its declaration, as
 * the declarations have it that were built, which are the ones to publish. With `--check` it says whether the reports are up to date. In both cases it fails where a
 * public module exports a name at run time that its declarations do not have, or lacks one that they have.
 *
 * A change of the API is then a change of these files, for a reviewer to see.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import ts from "typescript-6.0"
import { folders } from "./build.ts"

const root = join(import.meta.dirname, "..")

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}

/** What a package exports under a path. */
interface Entry {
  readonly path: string
  readonly types: string
  readonly module: string
}

const entriesOf = (home: string, { exports = {} }: Manifest): ReadonlyArray<Entry> =>
  Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string"
      ? []
      : [{ path, types: join(home, target.types), module: join(home, target.default) }]
  )

/** Whether a path leads to one module, as `./BufferPool`; others lead to entry points, which have modules as namespaces. */
const isModule = (path: string): boolean => /^\.\/[A-Z]/.test(path)

const printer = ts.createPrinter({ removeComments: true })

const isPrivate = (member: ts.ClassElement): boolean =>
  (member.name !== undefined && ts.isPrivateIdentifier(member.name)) ||
  (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0

/** A declaration without comments and private members, and without the words that all of them begin with. */
const printed = (declaration: ts.Declaration): string => {
  const source = declaration.getSourceFile()
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
  const shown = ts.isClassDeclaration(node)
    ? ts.factory.updateClassDeclaration(
      node,
      node.modifiers,
      node.name,
      node.typeParameters,
      node.heritageClauses,
      node.members.filter((member) => !isPrivate(member))
    )
    : node
  return printer.printNode(ts.EmitHint.Unspecified, shown, source).replace(/^(?:export |declare )+/, "")
}

class Report {
  readonly #checker: ts.TypeChecker
  readonly #program: ts.Program

  constructor(entries: ReadonlyArray<Entry>) {
    this.#program = ts.createProgram(entries.map(({ types }) => types), {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
      skipLibCheck: true,
      types: []
    })
    this.#checker = this.#program.getTypeChecker()
  }

  /** What a module exports, by name. */
  exportsOf({ types }: Entry): ReadonlyArray<ts.Symbol> {
    const source = this.#program.getSourceFile(types)
    const module = source === undefined ? undefined : this.#checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${types} is no module`)
    return [...this.#checker.getExportsOfModule(module)].sort((one, other) => one.name < other.name ? -1 : 1)
  }

  #target(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : this.#checker.getAliasedSymbol(symbol)
  }

  isNamespace(symbol: ts.Symbol): boolean {
    return (this.#target(symbol).flags & ts.SymbolFlags.ValueModule) !== 0
  }

  isValue(symbol: ts.Symbol): boolean {
    const isTypeAlone = symbol.declarations?.some((at) =>
      (ts.isExportSpecifier(at) && (at.isTypeOnly || at.parent.parent.isTypeOnly)) ||
      (ts.isNamespaceExport(at) && at.parent.isTypeOnly)
    )
    return isTypeAlone !== true && (this.#target(symbol).flags & ts.SymbolFlags.Value) !== 0
  }

  declarationsOf(symbol: ts.Symbol): ReadonlyArray<string> {
    const target = this.#target(symbol)
    const texts = (target.declarations ?? []).map(printed)
    return target.name === symbol.name ? texts : texts.map((text) => `// as ${symbol.name}\n${text}`)
  }
}

const reportOf = (name: string, entries: ReadonlyArray<Entry>, report: Report): string => {
  const specifier = (path: string) => `${name}${path.slice(1)}`
  const lines = [
    `# The API of ${name}`,
    "",
    "Written by `npm run api`. Each entry point has modules as namespaces; each module has a path of its own, by its name."
  ]
  for (const entry of entries.filter(({ path }) => !isModule(path))) {
    const symbols = report.exportsOf(entry)
    const namespaces = symbols.filter((symbol) => report.isNamespace(symbol))
    const others = symbols.filter((symbol) => !report.isNamespace(symbol))
    lines.push("", `## ${specifier(entry.path)}`, "")
    if (namespaces.length > 0) lines.push(namespaces.map((symbol) => symbol.name).join(", "))
    if (others.length > 0) lines.push("```ts", ...others.flatMap((symbol) => report.declarationsOf(symbol)), "```")
  }
  for (const entry of entries.filter(({ path }) => isModule(path))) {
    const declarations = report.exportsOf(entry).flatMap((symbol) => report.declarationsOf(symbol))
    lines.push("", `## ${specifier(entry.path)}`, "", "```ts", ...declarations, "```")
  }
  return `${lines.join("\n")}\n`
}

/** Names that a module has at run time and not in its declarations, or the other way round. */
const differencesOf = async (entry: Entry, report: Report): Promise<ReadonlyArray<string>> => {
  const declared = report.exportsOf(entry).filter((symbol) => report.isValue(symbol)).map(({ name }) => name)
  const real = Object.keys(await import(pathToFileURL(entry.module).href) as object)
  return [
    ...real.filter((name) => !declared.includes(name)).map((name) => `${name}, which no declaration has`),
    ...declared.filter((name) => !real.includes(name)).map((name) => `no ${name}, which is declared`)
  ]
}

const isCheck = process.argv.includes("--check")
const problems: Array<string> = []
for (const folder of folders) {
  const home = join(root, folder)
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest
  const entries = entriesOf(home, manifest)
  if (entries.length === 0) continue
  const report = new Report(entries)
  const text = reportOf(manifest.name, entries, report)
  const file = `api/${manifest.name.replace(/^.*\//, "")}.md`
  if (!isCheck) {
    mkdirSync(join(root, "api"), { recursive: true })
    writeFileSync(join(root, file), text)
  } else if (!existsSync(join(root, file)) || readFileSync(join(root, file), "utf8") !== text) {
    problems.push(`${file} is not the API of ${manifest.name}: run npm run api, and look at what has changed`)
  }
  for (const entry of entries) {
    for (const difference of await differencesOf(entry, report)) {
      problems.push(`${manifest.name}${entry.path.slice(1)} exports ${difference}`)
    }
  }
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
