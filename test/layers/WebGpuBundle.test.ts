import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { isBuiltin } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

const bundle = (contents: string, platform: "browser" | "node", outfile: string) =>
  build({
    stdin: { contents, resolveDir: join(import.meta.dirname, "../..") },
    bundle: true,
    minify: true,
    format: "esm",
    platform,
    conditions: ["effect-gpu-pool:source"],
    metafile: true,
    logLevel: "silent",
    outfile
  })

const inFolder = async (use: (folder: string) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-gpu-pool-"))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("WebGpu bundles", () => {
  it("for a browser without Node modules, and without npm webgpu", () =>
    inFolder(async (folder) => {
      const entries = ["index", "images", "backend", "machine", "webgpu"].map((entry) => `./src/${entry}.ts`)
      const everything = [...entries, "@effect-gpu-pool/arrays"].map((entry) => `export * from "${entry}"`).join("; ")
      const { metafile } = await bundle(everything, "browser", join(folder, "bundle.js"))
      const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
      strictEqual(imports.length, 0)
      const inputs = Object.keys(metafile.inputs)
      assert.isFalse(inputs.some((file) => isBuiltin(file) || file.includes("node_modules/webgpu/")))
      assert.isTrue(inputs.includes("src/layers/WebGpu/opening/Dawn.ts"))
    }))

  it("with the test kit for a page, without Node modules, drivers and fast-check", () =>
    inFolder(async (folder) => {
      const { metafile } = await bundle(
        `export * from "./packages/testing/src/index.ts"`,
        "browser",
        join(folder, "bundle.js")
      )
      strictEqual(Object.values(metafile.outputs).flatMap((output) => output.imports).length, 0)
      const inputs = Object.keys(metafile.inputs)
      assert.isTrue(inputs.includes("packages/testing/src/DeviceTests.ts"))
      const unwanted = [
        "node_modules/fast-check/",
        "node_modules/koffi/",
        "src/devices/",
        "packages/testing/src/properties/"
      ]
      for (const part of unwanted) assert.isFalse(inputs.some((file) => file.includes(part)), part)
    }))

  it("for Node, and says so where npm webgpu is not installed", () =>
    inFolder(async (folder) => {
      const program = `
        import * as Effect from "effect/Effect"
        import * as Layer from "effect/Layer"
        import { WebGpu } from "./src/webgpu.ts"
        const error = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(WebGpu.layer()))))
        process.stdout.write(error.reason._tag + ": " + error.message)`
      const outfile = join(folder, "bundle.mjs")
      await bundle(program, "node", outfile)
      const said = execFileSync(process.execPath, [outfile], { cwd: folder, encoding: "utf8" })
      assert.include(said, "DeviceUnavailable")
      assert.include(said, "the package is not installed")
      assert.include(said, "npm install webgpu")
    }))
})
