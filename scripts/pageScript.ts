/**
 * Bundles `@effect-gpu-pool/interop/page` into one script without imports: a page that is already running loads it by its address, or has
 * it pasted into its console.
 */
import { build } from "esbuild"

/** The script of a source file. */
export const pageScript = async (source: string): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    platform: "browser",
    target: "es2022",
    charset: "ascii",
    logLevel: "silent"
  })
  return outputFiles.map(({ text }) => text).join("")
}
