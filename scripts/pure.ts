/**
 * Marks the calls that initialise a module of the build as pure, as Effect's own build does: what a constant or a class needs
 * is then left out where a bundler finds that nothing uses it. No module here does anything else when it is loaded.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Ast from "oxc-parser"

const mark = "/*#__PURE__*/"

/** Of a node that is run when its module is loaded: what functions do is not. */
const callsIn = (node: unknown): ReadonlyArray<number> => {
  if (Array.isArray(node)) return node.flatMap(callsIn)
  if (typeof node !== "object" || node === null) return []
  const { start, type } = node as Ast.Node
  if (["ArrowFunctionExpression", "FunctionExpression", "ClassBody"].includes(type)) return []
  const inside = Object.values(node).flatMap(callsIn)
  return type === "CallExpression" || type === "NewExpression" ? [start, ...inside] : inside
}

const placesIn = (statement: Ast.Statement | Ast.Directive): ReadonlyArray<number> => {
  const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
  if (declaration?.type === "ClassDeclaration") return callsIn(declaration.superClass)
  return declaration?.type === "VariableDeclaration"
    ? declaration.declarations.flatMap(({ init }) => callsIn(init))
    : []
}

/** The module with its marks. */
const marked = (file: string, code: string): string => {
  const places = [...new Set(Ast.parseSync(file, code).program.body.flatMap(placesIn))].sort((one, other) =>
    other - one
  )
  return places.reduce((text, at) => text.slice(0, at) + mark + text.slice(at), code)
}

/** Marks every module of a folder. */
export const markPure = (folder: string): void => {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, name)
    if (name.endsWith(".js")) writeFileSync(file, marked(file, readFileSync(file, "utf8")))
  }
}
