/**
 * Writes `exports` of every package.json: the entry points, and for each module that one of them exports a path of its
 * own, `effect-gpu-pool/BufferPool`, as Effect has it. With `--check` it only says whether they are up to date.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

type Entry = readonly [path: string, file: string]

/** Each package by its folder: its entry points, and their files in its `src`. */
const packages: Readonly<Record<string, ReadonlyArray<Entry>>> = {
  ".": [
    [".", "index"],
    ["./images", "images"],
    ["./kernels", "kernels"],
    ["./allocators", "allocators"],
    ["./backend", "backend"],
    ["./machine", "machine"],
    ["./devices", "devices"],
    ["./webgpu", "webgpu"],
    ["./opencl", "opencl"],
    ["./host", "host"]
  ],
  "packages/arrays": [[".", "index"]],
  "packages/observability": [[".", "index"]],
  "packages/testing": [[".", "index"], ["./properties", "properties"]],
  "packages/schedules": [[".", "index"]],
  "packages/interop": [
    ["./effect", "effect"],
    ["./install", "install"],
    ["./node", "node"],
    ["./observe", "observe"],
    ["./ort", "ort"],
    ["./page", "page"],
    ["./tfjs", "tfjs"]
  ],
  "packages/fleet": [[".", "index"], ["./ledger", "ledger"]],
  // It is a program.
  "packages/cli": []
}

const root = join(import.meta.dirname, "..")

/** The modules of the package that an entry point exports: their names, and their files in `src` without the extension. */
const modulesOf = (folder: string, file: string): ReadonlyArray<Entry> =>
  [
    ...readFileSync(join(root, folder, `src/${file}.ts`), "utf8").matchAll(
      /^export (?:type )?\* as (\w+) from "\.\/(.+)\.ts"$/gm
    )
  ]
    .map(([, name, module]) => [`./${name!}`, module!])

const conditions = (file: string) => ({
  "effect-gpu-pool:source": `./src/${file}.ts`,
  types: `./dist/${file}.d.ts`,
  default: `./dist/${file}.js`
})

const exportsOf = (folder: string, entries: ReadonlyArray<Entry>) => {
  const modules = entries.flatMap(([, file]) => modulesOf(folder, file))
  const repeated = modules.filter(([path], index) => modules.findIndex(([other]) => other === path) !== index)
  if (repeated.length > 0) throw new Error(`two entry points export ${repeated.map(([path]) => path).join(", ")}`)
  const sorted = [...modules].sort(([one], [other]) => one < other ? -1 : 1)
  return {
    ...Object.fromEntries([...entries, ...sorted].map(([path, file]) => [path, conditions(file)])),
    "./package.json": "./package.json"
  }
}

for (const [folder, entries] of Object.entries(packages)) {
  const manifest = join(root, folder, "package.json")
  const before = readFileSync(manifest, "utf8")
  const exports = exportsOf(folder, entries)
  const after = `${JSON.stringify({ ...JSON.parse(before) as object, exports }, undefined, 2)}\n`
  if (!process.argv.includes("--check")) {
    writeFileSync(manifest, after)
  } else if (after !== before) {
    console.error(`exports of ${folder}/package.json are not those of its entry points: run npm run exports`)
    process.exitCode = 1
  }
}
