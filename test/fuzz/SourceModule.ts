import { readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import * as Ast from "oxc-parser"
import { root, sourceOf } from "../support/packages.ts"

export { root }

/** Where an imported name comes from: a module of this repository, or one of a package. */
export interface Import {
  readonly specifier: string
  /** Of a module in this repository. */
  readonly file: string | undefined
  /** The name in that module; `*` for the whole module. */
  readonly name: string
}

export type Declaration =
  | Ast.TSInterfaceDeclaration
  | Ast.TSTypeAliasDeclaration
  | Ast.Class
  | Ast.VariableDeclarator
  | Ast.Function

/**
 * The declarations of one source file that types need: its names, the origins of imported names, and what is internal.
 */
export class SourceModule {
  readonly file: string
  readonly declarations = new Map<string, Declaration>()
  readonly imports = new Map<string, Import>()
  readonly #internal: ReadonlyArray<number>
  readonly #isInternal: boolean
  readonly #code: string

  constructor(file: string) {
    this.file = file
    this.#code = readFileSync(file, "utf8")
    const { comments, program } = Ast.parseSync(file, this.#code)
    this.#isInternal = comments[0]?.start === 0 && comments[0].value.includes("@internal")
    this.#internal = comments.filter(({ value }) => value.includes("@internal")).map(({ end }) => end)
    for (const statement of program.body) this.#add(statement)
  }

  /** The key of a declaration in all maps: the path in the repository and the name. */
  key(name: string): string {
    return `${relative(root, this.file)}#${name}`
  }

  /** Whether the heading of the module says so, or a comment that ends where the node begins. */
  isInternal({ start }: { readonly start: number }): boolean {
    return this.#isInternal ||
      this.#internal.some((end) =>
        end <= start && /^\s*(?:export\s+|abstract\s+|const\s+|readonly\s+)*$/.test(this.#code.slice(end, start))
      )
  }

  #add(statement: Ast.Statement | Ast.Directive): void {
    if (statement.type === "ImportDeclaration") {
      for (const one of statement.specifiers) this.#import(statement.source.value, one.local.name, nameOfImport(one))
    } else if (statement.type === "ExportAllDeclaration" && statement.exported !== null) {
      this.#import(statement.source.value, nameOf(statement.exported), "*")
    } else if (statement.type === "ExportAllDeclaration") {
      this.#import(statement.source.value, `*${statement.source.value}`, "*")
    } else if (statement.type === "ExportNamedDeclaration" && statement.source !== null) {
      for (const { exported, local } of statement.specifiers) {
        this.#import(statement.source.value, nameOf(exported), nameOf(local))
      }
    } else if (statement.type === "ExportNamedDeclaration") {
      if (statement.declaration !== null) this.#declare(statement.declaration)
    } else {
      this.#declare(statement)
    }
  }

  #import(specifier: string, local: string, name: string): void {
    const source = sourceOf(specifier)
    const file = specifier.startsWith(".")
      ? resolve(dirname(this.file), specifier)
      : source === undefined
      ? undefined
      : join(root, source)
    this.imports.set(local, { specifier, file, name })
  }

  #declare(statement: { readonly type: string }): void {
    const node = statement as Ast.Statement
    if (node.type === "VariableDeclaration") {
      for (const one of node.declarations) if (one.id.type === "Identifier") this.declarations.set(one.id.name, one)
    } else if (
      (node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration" ||
        node.type === "ClassDeclaration" || node.type === "FunctionDeclaration") && node.id !== null
    ) {
      // a class and an interface of one name are one class
      if (this.declarations.get(node.id.name)?.type !== "ClassDeclaration") this.declarations.set(node.id.name, node)
    }
  }
}

const nameOf = (name: Ast.ModuleExportName): string => name.type === "Literal" ? name.value : name.name

const nameOfImport = (one: Ast.ImportDeclarationSpecifier): string =>
  one.type === "ImportSpecifier" ? nameOf(one.imported) : one.type === "ImportNamespaceSpecifier" ? "*" : "default"

const modules = new Map<string, SourceModule>()

/** Each source is read once. */
export const moduleOf = (file: string): SourceModule => {
  const known = modules.get(file) ?? new SourceModule(file)
  modules.set(file, known)
  return known
}

/** The module that declares a name, which this module declares, imports or re-exports. */
export const declaring = (
  module: SourceModule,
  name: string
): { readonly module: SourceModule; readonly declaration: Declaration; readonly name: string } | undefined => {
  const declaration = module.declarations.get(name)
  if (declaration !== undefined) return { module, declaration, name }
  const imported = module.imports.get(name)
  if (imported?.file !== undefined && imported.name !== "*") return declaring(moduleOf(imported.file), imported.name)
  if (imported !== undefined) return undefined
  for (const [local, { file }] of module.imports) {
    const found = local.startsWith("*") && file !== undefined ? declaring(moduleOf(file), name) : undefined
    if (found !== undefined) return found
  }
  return undefined
}
