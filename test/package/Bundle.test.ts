/**
 * What a page loads for a minimal WebGPU program: it allocates, writes and reads. The package is built as it is
 * published, and bundled by esbuild and by Vite, with code splitting and as one file. Counted are the kB, minified and
 * gzipped, that the page loads at first, less those of a minimal Effect program that uses the same parts of Effect (a
 * Schema error, options by a Schema, and spans: 20 kB together). Further tests cover what such a bundle loads later, and
 * failures of these loads.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { build as esbuild } from "esbuild"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { build as vite } from "vite"
import { afterAll } from "vitest"

const root = join(import.meta.dirname, "../..")
mkdirSync(join(root, "test-results"), { recursive: true })
const scratch = mkdtempSync(join(root, "test-results/bundle-"))
afterAll(() => rmSync(scratch, { recursive: true }))

/**
 * The package as it is installed. The folder is a package of its own, because otherwise the name would resolve to this
 * repository.
 */
const install = (): void => {
  writeFileSync(join(scratch, "package.json"), JSON.stringify({ type: "module" }))
  const { status, stderr, stdout } = spawnSync(process.execPath, ["scripts/build.ts", "--into", scratch, "."], {
    cwd: root,
    encoding: "utf8"
  })
  strictEqual(status, 0, stdout + stderr)
}

const effectAlone = `
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
class Why extends Schema.TaggedClass("Why")("Why", {
  code: Schema.UndefinedOr(Schema.Number),
  kind: Schema.Literals(["a", "b"]),
  names: Schema.Array(Schema.String),
  over: Schema.optional(Schema.Struct({ old: Schema.Boolean, at: Schema.optionalKey(Schema.Number) }))
}) {}
const Options = Schema.Struct({
  most: Schema.optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))).annotate({ unit: "bytes" }),
  policy: Schema.optional(Schema.declare((value) => typeof value === "function"))
})
console.log(Schema.is(Options)({ most: 1 }), Schema.resolveAnnotations(Options.fields.most))
class Failure extends Schema.TaggedError("Failure")("Failure", { why: Schema.Union([Why]) }) {}
const program = Effect.scoped(Effect.gen(function*() {
  const open = Effect.fn("open")(function*() { yield* Effect.annotateCurrentSpan("code", 1) })
  yield* Effect.useSpan("opening", {}, open)
  return yield* new Failure({ why: new Why({ kind: "a", names: [] }) })
}))
Effect.runPromise(Effect.provide(program, Layer.empty)).then(console.log)`

/** The same, with the imports of programs on Node. Schema stays: esbuild would keep all of it. */
const effectByRoot = effectAlone
  .replace(
    `import * as Effect from "effect/Effect"\nimport * as Layer from "effect/Layer"`,
    `import { Effect, Layer } from "effect"`
  )

/** How a program imports, and which layers it takes for its pool and its device. */
interface Program {
  readonly imports: "modules" | "entry points"
  readonly pool: "layer" | "layerSmall"
  readonly device: "WebGpu" | "WebGpuMemory"
}

const importsOf = ({ device, imports }: Program): string => {
  if (imports === "modules") {
    const modules = ["BufferPool", "CommandQueue", device].map((name) =>
      `import * as ${name} from "effect-gpu-pool/${name}"`
    )
    return ["Effect", "Layer"].map((name) => `import * as ${name} from "effect/${name}"`).concat(modules).join("\n")
  }
  return `import { Effect, Layer } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { ${device} } from "effect-gpu-pool/webgpu"`
}

const minimal = (program: Program): string => `
${importsOf(program)}
const program = Effect.scoped(Effect.gen(function*() {
  const x = yield* BufferPool.allocate(4096)
  yield* CommandQueue.write(x, new Float32Array(1024).fill(2))
  return yield* CommandQueue.read(x, Float32Array)
}))
const gpu = BufferPool.${program.pool}().pipe(Layer.provideMerge(${program.device}.layer()))
Effect.runPromise(Effect.provide(program, gpu)).then(console.log)`

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

/** With code splitting, or as one file, which includes everything that the page could load later. */
const byEsbuild = async (program: string, splitting = true): Promise<Loaded> => {
  const { metafile, outputFiles } = await esbuild({
    stdin: { contents: program, resolveDir: scratch },
    absWorkingDir: scratch,
    bundle: true,
    minify: true,
    splitting,
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

/** With Vite, whose bundler follows Rollup. */
const byVite = async (program: string, splitting = true): Promise<Loaded> => {
  const input = join(scratch, "page.ts")
  writeFileSync(input, program)
  const built = await vite({
    root: scratch,
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input, ...(splitting ? {} : { output: { codeSplitting: false } }) }
    }
  })
  const output = Array.isArray(built) ? built.flatMap(({ output }) => output) : "output" in built ? built.output : []
  const chunks = output.flatMap((chunk) =>
    chunk.type === "chunk"
      ? [[chunk.fileName, { ...chunk, modules: Object.keys(chunk.modules) }] as const]
      : []
  )
  return loadedAtFirst(new Map(chunks))
}

const bundlers = { esbuild: byEsbuild, Vite: byVite } as const

/**
 * The current sizes, in kB and with 0.2 to spare: at first, and as one file. A change that makes one smaller should lower
 * it, here and in docs/runtimes.md.
 */
const most = [
  { bundler: "esbuild", imports: "modules", pool: "layerSmall", device: "WebGpuMemory", first: 47.1, whole: 48.7 },
  { bundler: "Vite", imports: "modules", pool: "layerSmall", device: "WebGpuMemory", first: 46.8, whole: 48.3 },
  { bundler: "esbuild", imports: "modules", pool: "layer", device: "WebGpuMemory", first: 57.4, whole: 63.1 },
  { bundler: "Vite", imports: "modules", pool: "layer", device: "WebGpuMemory", first: 56.8, whole: 61.9 },
  { bundler: "esbuild", imports: "modules", pool: "layer", device: "WebGpu", first: 66.6, whole: 113.4 },
  { bundler: "Vite", imports: "modules", pool: "layer", device: "WebGpu", first: 63.6, whole: 112.8 },
  { bundler: "esbuild", imports: "entry points", pool: "layer", device: "WebGpu", first: 74.5, whole: 120.3 },
  { bundler: "Vite", imports: "entry points", pool: "layer", device: "WebGpu", first: 63.4, whole: 112.9 }
] as const

const full: Program = { imports: "modules", pool: "layer", device: "WebGpu" }
const small: Program = { imports: "modules", pool: "layerSmall", device: "WebGpuMemory" }
const program = minimal(full)

describe("a minimal WebGPU program", () => {
  install()

  for (const { bundler, first, whole, ...one } of most) {
    it(`is small by ${bundler}, of ${one.imports}, with BufferPool.${one.pool} and ${one.device}`, async () => {
      const bundle = bundlers[bundler]
      const effect = (await bundle(one.imports === "modules" ? effectAlone : effectByRoot)).bytes
      const added = [
        (await bundle(minimal(one))).bytes - effect,
        (await bundle(minimal(one), false)).bytes - effect
      ]
      const text = added.map((bytes) => (bytes / 1000).toFixed(1)).join(" and ")
      for (const [index, limit] of [first, whole].entries()) {
        assert.isAtMost(added[index]!, limit * 1000, `it adds ${text} kB to Effect`)
      }
    })
  }

  it("has no code of what its layers leave out", async () => {
    const out =
      /\/(?:Kernel|Wgsl(?!Language)|CheckedImages|WebGpuImages|Rectangle|Budget|JointRequests|WaitQueue|Idle(?!Decay)|Deadlock(?!Marks))\w*\.js$/
    for (const bundle of Object.values(bundlers)) {
      const { modules } = await bundle(minimal(small), false)
      assert.deepStrictEqual(modules.filter((path) => out.test(path)), [])
    }
  })

  it("has the pool", async () => {
    const { modules } = await byEsbuild(program)
    assert.isTrue(modules.some((path) => path.endsWith("/BufferPool.js")))
  })

  it("loads no more of images than the service's key and what a device says of itself at once", async () => {
    const { modules } = await byEsbuild(program)
    const images = modules.flatMap((path) => /dist\/(.*\bimages\/.*)\.js$/.exec(path)?.slice(1) ?? [])
    assert.deepStrictEqual(images.sort(), [
      "domain/images/ImageUsageRules",
      "layers/WebGpu/images/ImageDriver",
      "layers/WebGpu/images/WebGpuImageFormat",
      "services/images/Images"
    ])
  })

  it("compiles and dispatches no kernel, moves no rectangle, and misses no GPU", async () => {
    const later = [
      "domain/kernel/Kernel",
      "domain/kernel/KernelSupport",
      "domain/data/Rectangle",
      "domain/kernel/ReservedWords",
      "domain/kernel/SourceNesting",
      "domain/data/ValueType",
      "layers/WebGpu/kernels/BindGroups",
      "layers/WebGpu/opening/Dawn",
      "layers/WebGpu/opening/UnavailableGpu",
      "layers/WebGpu/kernels/WebGpuKernel",
      "layers/WebGpu/kernels/WgslSource",
      "layers/WebGpu/StagingBuffer",
      "services/device/CompiledKernels",
      "services/queue/DispatchArguments",
      "services/queue/RectangleCommands"
    ]
    const { modules } = await byEsbuild(program)
    for (const name of later) {
      assert.isTrue(existsSync(join(scratch, `node_modules/effect-gpu-pool/dist/${name}.js`)), name)
      assert.isFalse(modules.some((path) => path.endsWith(`/dist/${name}.js`)), name)
    }
  })
})

/**
 * Uses a buffer, and then every part that is loaded later, on the null device of Dawn, which needs no driver. With an
 * argument, the files are missing at first, as on a page that went offline, and the program tries again when they
 * exist.
 */
const everyPart = `
import { renameSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { create } from "webgpu"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as ImageFormat from "effect-gpu-pool/ImageFormat"
import * as Images from "effect-gpu-pool/Images"
import * as ImageShape from "effect-gpu-pool/ImageShape"
import * as Kernel from "effect-gpu-pool/Kernel"
import * as KernelArgument from "effect-gpu-pool/KernelArgument"
import * as WebGpu from "effect-gpu-pool/WebGpu"
const nothing = Kernel.make({ name: "nothing", args: [KernelArgument.VectorArg("f32", "x")], body: { wgsl: "" } })
const image = Effect.flatMap(Images.make(ImageShape.image2d(4, 4), ImageFormat.rgba8), (image) =>
  Effect.as(Effect.andThen(Images.fill(image, 0), Images.read(image, Uint8Array)), "image"))
const rectangle = (x) => Effect.as(CommandQueue.readRect(x, Uint8Array, { region: [4, 2] }), "rectangle")
const dispatch = (x) => Effect.as(CommandQueue.dispatch(nothing, { x }, 4), "dispatch")
const move = (from, to) => Effect.sync(() => {
  for (const file of process.argv.slice(2)) renameSync(file + from, file + to)
})
const said = (error) => error.reason._tag + ": " + error.message
const program = Effect.scoped(Effect.gen(function*() {
  const x = yield* BufferPool.allocate(64)
  const parts = [image, rectangle(x), dispatch(x)]
  yield* move("", ".gone")
  yield* CommandQueue.write(x, new Float32Array(16))
  const offline = []
  if (process.argv.length > 2) for (const part of parts) offline.push(yield* Effect.match(part, { onFailure: said, onSuccess: String }))
  yield* move(".gone", "")
  const online = []
  for (const part of parts) online.push(yield* part)
  yield* CommandQueue.finish
  return { offline, online }
}))
const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFrom(create(["backend=null"]))))
const none = Effect.flip(Effect.scoped(Layer.build(WebGpu.layerFrom({ requestAdapter: async () => null }))))
const result = await Effect.runPromise(Effect.provide(program, gpu))
console.log(JSON.stringify({ ...result, none: said(await Effect.runPromise(none)) }))`

describe("what a bundle loads later", () => {
  const folder = join(scratch, "later")
  const run = (...gone: ReadonlyArray<string>) => {
    const args = [join(folder, "stdin.js"), ...gone]
    const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" })
    strictEqual(status, 0, stdout + stderr)
    return JSON.parse(stdout) as Record<"offline" | "online", ReadonlyArray<string>> & { readonly none: string }
  }
  const chunks = (async () => {
    const { metafile } = await esbuild({
      stdin: { contents: everyPart, resolveDir: scratch },
      absWorkingDir: scratch,
      bundle: true,
      splitting: true,
      metafile: true,
      format: "esm",
      platform: "browser",
      external: ["node:fs", "webgpu"],
      outdir: folder,
      chunkNames: "[name]-[hash]",
      logLevel: "silent"
    })
    return Object.entries(metafile.outputs)
  })()

  it("works", async () => {
    await chunks
    const { none, online } = run()
    assert.deepStrictEqual(online, ["image", "rectangle", "dispatch"])
    assert.match(none, /^DeviceUnavailable: /)
  })

  it("fails with an error while it cannot be loaded, and works when it can", async () => {
    const imported = (await chunks).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined || entryPoint === "<stdin>" ? [] : [join(scratch, path)]
    )
    const { offline, online } = run(...imported)
    const names = ["services/images/CheckedImages", "services/queue/LazyCommands", "services/queue/LazyCommands"]
    for (const [index, name] of names.entries()) {
      assert.match(
        offline[index]!,
        new RegExp(`^DriverError: effect-gpu-pool: import of ${name} failed.*: .+ call again`)
      )
    }
    assert.deepStrictEqual(online, ["image", "rectangle", "dispatch"])
  })
})
