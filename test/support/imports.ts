import { parseSync, Visitor } from "oxc-parser"

export interface ImportedModule {
  /** `<computed>` for a dynamic import whose specifier is not a literal, so that nothing hides behind an expression. */
  readonly specifier: string
  readonly line: number
}

/** Every module that a source names: imports and re-exports, of values and of types, dynamic ones and `import("x").T`. */
export const importedModules = (path: string, code: string): ReadonlyArray<ImportedModule> => {
  const { errors, program } = parseSync(path, code)
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`)
  const found: Array<ImportedModule> = []
  const add = (node: { readonly start: number; readonly type: string; readonly value?: unknown } | null): void => {
    if (node === null) return
    const specifier = typeof node.value === "string" ? node.value : "<computed>"
    found.push({ specifier, line: code.slice(0, node.start).split("\n").length })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source)
  }).visit(program)
  return found
}
