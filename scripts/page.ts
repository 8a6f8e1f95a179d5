/**
 * Bundles the script and the style sheet of the viewer's page into a module, `npm run page`: the package is shipped as plain
 * modules, and the file that the viewer writes must have both in it. `npm ci`, the compiler's scripts, the tests and the build do it
 * first, so the module is not in the repository.
 */
import { build } from "esbuild"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const target = join(root, "packages/observability/src/viewer/PageText.ts")

const license = `/*! With uPlot, https://github.com/leeoniya/uPlot
${readFileSync(join(root, "node_modules/uplot/LICENSE"), "utf8").trim()}
*/`

const scriptOf = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: ["packages/observability/src/viewer/page/main.ts"],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    platform: "browser",
    target: "es2023",
    charset: "ascii",
    conditions: ["effect-gpu-pool:source"],
    legalComments: "none",
    banner: { js: license }
  })
  const script = outputFiles.map(({ text }) => text).join("")
  // it stands in an element of a document, which these would end
  if (/<\/script|<!--/i.test(script)) throw new Error("the script of the page cannot stand in a document")
  return script
}

const styleOf = async (): Promise<string> => {
  const contents = ["node_modules/uplot/dist/uPlot.min.css", "packages/observability/src/viewer/page/page.css"]
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n")
  const { outputFiles } = await build({
    stdin: { contents, loader: "css" },
    minify: true,
    write: false,
    charset: "ascii"
  })
  return outputFiles.map(({ text }) => text).join("")
}

const hashOf = (text: string): string => `sha256-${createHash("sha256").update(text).digest("base64")}`

const moduleOf = (script: string, style: string): string =>
  `/**
 * The script and the style sheet of the viewer's page, bundled by scripts/page.ts, and what a policy of the page names them by.
 *
 * @internal
 */
export const script = ${JSON.stringify(script)}
export const style = ${JSON.stringify(style)}
export const scriptHash = ${JSON.stringify(hashOf(script))}
export const styleHash = ${JSON.stringify(hashOf(style))}
`

/** Writes the module, if it is not there or its sources make another one; the name is that of vitest for what runs before tests. */
export const setup = async (): Promise<void> => {
  const before = existsSync(target) ? readFileSync(target, "utf8") : undefined
  const after = moduleOf(await scriptOf(), await styleOf())
  if (after !== before) writeFileSync(target, after)
}

if (import.meta.main) await setup()
