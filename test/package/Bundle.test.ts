/**
 * What a page loads for a minimal WebGPU program: it allocates, writes and reads. The package is built as it is published, and
 * bundled with its code split; what is counted is what the page loads at first, beyond what a minimal program on Effect alone
 * loads, minified and gzipped. The limit is in kB.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { build as esbuild } from "esbuild"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll } from "vitest"

const root = join(import.meta.dirname, "../..")
mkdirSync(join(root, "test-results"), { recursive: true })
const scratch = mkdtempSync(join(root, "test-results/bundle-"))
afterAll(() => rmSync(scratch, { recursive: true }))

const run = (args: ReadonlyArray<string>): void => {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  strictEqual(status, 0, stdout + stderr)
}

/** The package as it is installed. The folder is a package of its own, or the name would lead back to this repository. */
const install = (): void => {
  const home = join(scratch, "node_modules/effect-gpu-pool")
  mkdirSync(home, { recursive: true })
  cpSync(join(root, "package.json"), join(home, "package.json"))
  writeFileSync(join(scratch, "package.json"), JSON.stringify({ type: "module" }))
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")
  run([
    tsc,
    "-p",
    join(root, "tsconfig.build.json"),
    "--outDir",
    join(home, "dist"),
    "--declaration",
    "false",
    "--declarationMap",
    "false",
    "--sourceMap",
    "false"
  ])
  run(["scripts/pure.ts", join(home, "dist")])
}

const effectAlone = `
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
const program = Effect.scoped(Effect.gen(function*() { return yield* Effect.succeed(1) }))
Effect.runPromise(Effect.provide(program, Layer.empty)).then(console.log)`

const minimal = (imports: string): string => `
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
${imports}
const program = Effect.scoped(Effect.gen(function*() {
  const x = yield* BufferPool.allocate(4096)
  yield* CommandQueue.write(x, new Float32Array(1024).fill(2))
  return yield* CommandQueue.read(x, Float32Array)
}))
const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))
Effect.runPromise(Effect.provide(program, gpu)).then(console.log)`

/** The way of Effect's own modules; esbuild leaves nothing out of a namespace that another module exports. */
const program = minimal(
  ["BufferPool", "CommandQueue", "WebGpu"].map((name) => `import * as ${name} from "effect-gpu-pool/${name}"`).join(
    "\n"
  )
)

/** What a page loads at first, and which modules are in it. */
interface Loaded {
  readonly bytes: number
  readonly modules: ReadonlyArray<string>
}

interface Chunk {
  readonly code: string
  readonly isEntry: boolean
  readonly imports: ReadonlyArray<string>
  readonly modules: ReadonlyArray<string>
}

/** The entry with all that it imports at once. */
const loadedAtFirst = (chunks: ReadonlyMap<string, Chunk>): Loaded => {
  const names = new Set([...chunks].filter(([, { isEntry }]) => isEntry).map(([name]) => name))
  for (const name of names) for (const next of chunks.get(name)!.imports) names.add(next)
  const loaded = [...names].map((name) => chunks.get(name)!)
  return {
    bytes: loaded.reduce((bytes, { code }) => bytes + gzipSync(code).length, 0),
    modules: loaded.flatMap(({ modules }) => modules)
  }
}

const byEsbuild = async (program: string): Promise<Loaded> => {
  const { metafile, outputFiles } = await esbuild({
    stdin: { contents: program, resolveDir: scratch },
    absWorkingDir: scratch,
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    outdir: "out",
    logLevel: "silent"
  })
  const chunks = Object.entries(metafile.outputs).map(([name, { entryPoint, imports, inputs }]) =>
    [name, {
      code: outputFiles.find(({ path }) => path.endsWith(name))!.text,
      isEntry: entryPoint === "<stdin>",
      imports: imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path),
      modules: Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path)
    }] as const
  )
  return loadedAtFirst(new Map(chunks))
}

/** What it is now: whoever makes it less lowers the limit. */
const most = 81

describe("a minimal WebGPU program", () => {
  install()

  it("loads little", async () => {
    const loaded = await byEsbuild(program)
    const added = loaded.bytes - (await byEsbuild(effectAlone)).bytes
    assert.isAtMost(added, most * 1000, `it adds ${(added / 1000).toFixed(1)} kB to Effect`)
  })

  it("has no expressions, no kernels made of them, and no arrays", async () => {
    const { modules } = await byEsbuild(program)
    assert.isTrue(modules.some((path) => path.endsWith("/BufferPool.js")))
    assert.deepStrictEqual(modules.filter((path) => /dist\/(?:kernels|array)\//.test(path)), [])
  })
})
