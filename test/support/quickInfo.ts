/**
 * What an editor shows over a name: TypeScript's language service on a program against declarations. This is TypeScript
 * 6, because TypeScript 7 runs the service only in another process, and most editors still use an earlier version.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript-6.0"

/** A name in the program. */
export interface Export {
  /** The entry point's number, the namespace and the member: `e0.BufferPool.layer`. */
  readonly path: string
  readonly isType: boolean
  readonly isValue: boolean
  /** The fewest arguments of each call signature; empty for what is no function. */
  readonly arities: ReadonlyArray<number>
}

/** `export type { A } from "./a.ts"` exports no value, also where A is a class. */
const isTypeAlone = ({ declarations = [] }: ts.Symbol): boolean =>
  declarations.some((at) => ts.isExportSpecifier(at) && (at.isTypeOnly || at.parent.parent.isTypeOnly))

/** A folder with a program: `entries.ts` exports entry points as namespaces. */
export class Editor {
  readonly #folder: string
  readonly #service: ts.LanguageService
  #code = ""
  #version = 0

  constructor(folder: string) {
    this.#folder = folder
    const options: ts.CompilerOptions = {
      strict: true,
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
      skipLibCheck: true,
      types: []
    }
    const written = join(folder, "written.ts")
    this.#service = ts.createLanguageService({
      // Without it every query reads every file again.
      getProjectVersion: () => String(this.#version),
      getScriptFileNames: () => [join(folder, "entries.ts"), written],
      getScriptVersion: (file) => file === written ? String(this.#version) : "0",
      getScriptSnapshot: (file) => {
        if (file === written) return ts.ScriptSnapshot.fromString(this.#code)
        return ts.sys.fileExists(file) ? ts.ScriptSnapshot.fromString(readFileSync(file, "utf8")) : undefined
      },
      getCurrentDirectory: () => folder,
      getCompilationSettings: () => options,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      fileExists: (file) => file === written || ts.sys.fileExists(file),
      readFile: ts.sys.readFile,
      readDirectory: ts.sys.readDirectory,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories
    })
  }

  /** Every export of the entry points, and of the namespaces that they export. */
  exports(): ReadonlyArray<Export> {
    const program = this.#service.getProgram()!
    const checker = program.getTypeChecker()
    const source = program.getSourceFile(join(this.#folder, "entries.ts"))!
    const found: Array<Export> = []
    const visit = (path: string, named: ts.Symbol, depth: number): void => {
      const symbol = (named.flags & ts.SymbolFlags.Alias) === 0 ? named : checker.getAliasedSymbol(named)
      if (depth < 2 && (symbol.flags & ts.SymbolFlags.Module) !== 0) {
        for (const member of checker.getExportsOfModule(symbol)) visit(`${path}.${member.name}`, member, depth + 1)
        return
      }
      const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0 && !isTypeAlone(named)
      const signatures = isValue ? checker.getTypeOfSymbolAtLocation(symbol, source).getCallSignatures() : []
      found.push({
        path,
        isType: (symbol.flags & ts.SymbolFlags.Type) !== 0,
        isValue,
        arities: signatures.map(({ parameters }) =>
          parameters.filter(({ valueDeclaration: at }) =>
            at === undefined || !ts.isParameter(at) ||
            (!checker.isOptionalParameter(at) && at.dotDotDotToken === undefined)
          ).length
        )
      })
    }
    for (const entry of checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)) visit(entry.name, entry, 0)
    return found
  }

  /** The documentation that the editor shows over the last name of each of these statements, on a line of its own. */
  hover(
    imports: string,
    statements: ReadonlyArray<{ readonly code: string; readonly at: string }>
  ): ReadonlyArray<string> {
    return this.#infos(imports, statements).map((info) => ts.displayPartsToString(info?.documentation))
  }

  /** The names and types that it shows there. */
  types(
    imports: string,
    statements: ReadonlyArray<{ readonly code: string; readonly at: string }>
  ): ReadonlyArray<string> {
    return this.#infos(imports, statements).map((info) => ts.displayPartsToString(info?.displayParts))
  }

  #infos(
    imports: string,
    statements: ReadonlyArray<{ readonly code: string; readonly at: string }>
  ): ReadonlyArray<ts.QuickInfo | undefined> {
    this.#version++
    const starts: Array<number> = []
    this.#code = `${imports}\n`
    for (const { at, code } of statements) {
      starts.push(this.#code.length + code.indexOf(at) + at.lastIndexOf(".") + 1)
      this.#code += `${code}\n`
    }
    const file = join(this.#folder, "written.ts")
    return starts.map((start) => this.#service.getQuickInfoAtPosition(file, start))
  }
}
