/**
 * Empties the declarations of internal modules. A module whose heading says `@internal` is internal as a whole: the compiler leaves
 * out what is marked itself, and knows no mark for a file.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const heading = /^\/\*\*(?:(?!\*\/)[^])*@internal/

/** Of the modules in the folder `source`, whose build is in `built`. */
export const emptyInternal = (source: string, built: string): void => {
  for (const file of globSync("**/*.ts", { cwd: source })) {
    if (!heading.test(readFileSync(join(source, file), "utf8"))) continue
    const declarations = join(built, file.replace(/\.ts$/, ".d.ts"))
    // the viewer's page is bundled, and no part of the build itself
    if (!existsSync(declarations)) continue
    writeFileSync(declarations, "export {}\n")
    rmSync(`${declarations}.map`, { force: true })
  }
}
