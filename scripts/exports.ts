/**
 * Writes `exports` of package.json: the entry points, and for each module that one of them exports a path of its own,
 * `effect-gpu-pool/BufferPool`, as Effect has it. With `--check` it only says whether they are up to date.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Each entry point, and its file in `src`. */
const entries: ReadonlyArray<readonly [path: string, file: string]> = [
  [".", "index"],
  ["./images", "images"],
  ["./allocators", "allocators"],
  ["./backend", "backend"],
  ["./kernels", "kernels"],
  ["./array", "array"],
  ["./devices", "devices"],
  ["./observability", "observability"],
  ["./webgpu", "webgpu"],
  ["./opencl", "opencl"],
  ["./host", "host"],
  ["./testing", "testing"],
  ["./testing/properties", "properties"]
]

const root = join(import.meta.dirname, "..")

/** The modules that an entry point exports: their names, and their files in `src` without the extension. */
const modulesOf = (file: string): ReadonlyArray<readonly [name: string, file: string]> =>
  [
    ...readFileSync(join(root, `src/${file}.ts`), "utf8").matchAll(
      /^export (?:type )?\* as (\w+) from "\.\/(.+)\.ts"$/gm
    )
  ]
    .map(([, name, module]) => [name!, module!])

const conditions = (file: string) => ({
  "effect-gpu-pool:source": `./src/${file}.ts`,
  types: `./dist/${file}.d.ts`,
  default: `./dist/${file}.js`
})

const modules = entries.flatMap(([, file]) => modulesOf(file)).map(([name, file]) => [`./${name}`, file] as const)
const repeated = modules.filter(([path], index) => modules.findIndex(([other]) => other === path) !== index)
if (repeated.length > 0) throw new Error(`two entry points export ${repeated.map(([path]) => path).join(", ")}`)

const sorted = [...modules].sort(([one], [other]) => one < other ? -1 : 1)
const exports = {
  ...Object.fromEntries([...entries, ...sorted].map(([path, file]) => [path, conditions(file)])),
  "./package.json": "./package.json"
}

const manifest = join(root, "package.json")
const before = readFileSync(manifest, "utf8")
const after = `${JSON.stringify({ ...JSON.parse(before) as object, exports }, undefined, 2)}\n`

if (!process.argv.includes("--check")) {
  writeFileSync(manifest, after)
} else if (after !== before) {
  console.error("exports of package.json are not those of the entry points: run npm run exports")
  process.exitCode = 1
}
