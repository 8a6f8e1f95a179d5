/**
 * Empties the declarations of internal modules. A module whose heading says `@internal` is internal as a whole: the compiler leaves
 * out what is marked itself, and knows no mark for a file.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const folder = process.argv[2] ?? "dist"
const heading = /^\/\*\*(?:(?!\*\/)[^])*@internal/

for (const file of globSync("**/*.ts", { cwd: "src" })) {
  if (!heading.test(readFileSync(join("src", file), "utf8"))) continue
  const declarations = join(folder, file.replace(/\.ts$/, ".d.ts"))
  // the viewer's page is bundled, and no part of the build itself
  if (!existsSync(declarations)) continue
  writeFileSync(declarations, "export {}\n")
  rmSync(`${declarations}.map`)
}
