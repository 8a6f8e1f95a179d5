/**
 * Compiles the programs of scripts/consumer as users would, with the package as scripts/lint-package.sh has installed it in
 * the folder given: under each compiler, with and without the DOM's types, with and without declarations of WebGPU. The
 * declarations of everything that they import are checked too (`skipLibCheck` is off), and the program `entries`, which is
 * made there, imports every entry point.
 *
 * The package must be without an error everywhere. Others are not in some of these: each configuration names the packages
 * that have errors of their own there, and that list is checked too.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { isWhole } from "../test/support/explore.ts"

interface Consumer {
  readonly compiler: string
  readonly lib: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
  readonly module: "NodeNext" | "Bundler"
  readonly programs: ReadonlyArray<string>
  /** Packages with errors of their own in this configuration, whoever uses them. */
  readonly faulty: ReadonlyArray<string>
}

const require = createRequire(import.meta.url)
const folder = process.argv[2] ?? "."

/** The lowest that fast-check's and Node's declarations compile with, as target and as library. */
const language = "ES2020"

const pages = ["entries", "handles", "declared", "page"]
const undeclared = ["entries", "handles", "undeclared"]

/** The DOM's library declares WebGPU in all but this one. */
const oldest = "typescript-5.9"
const between = "typescript-6.0"
const newest = "typescript"

/** Every compiler, with the DOM and without; the oldest and the newest under either way to resolve modules. */
const everywhere = [oldest, between, newest].flatMap((compiler): ReadonlyArray<Consumer> => {
  const programs = compiler === oldest ? undeclared : pages
  const page = { compiler, lib: [language, "DOM"], types: [], programs, faulty: [] }
  // `effect` names URLs, streams and keys: the DOM declares them all, Node not all of them
  const server = { compiler, lib: [language], programs: undeclared, faulty: ["effect"] }
  return [
    { ...page, module: "NodeNext" },
    { ...server, module: "Bundler", types: ["node"] },
    // what is wrong under one way to resolve modules shows with the oldest or the newest
    ...(compiler === between ? [] : [
      { ...page, module: "Bundler" as const },
      { ...server, module: "NodeNext" as const, types: [] }
    ])
  ]
})

/** Where declarations of WebGPU may come from, beside the DOM's library. */
const declarations: ReadonlyArray<Consumer> = [
  ...[oldest, newest].flatMap((compiler): ReadonlyArray<Consumer> => [
    {
      compiler,
      module: "NodeNext",
      lib: [language, "DOM"],
      types: ["@webgpu/types"],
      programs: ["handles", "declared", "page", "dawn"],
      // where the DOM's library declares WebGPU too, the two contradict each other
      faulty: compiler === oldest ? [] : ["@webgpu/types", compiler]
    },
    {
      compiler,
      module: "NodeNext",
      lib: [language],
      types: ["node"],
      programs: ["handles", "declared", "dawn"],
      // npm `webgpu` brings @webgpu/types along, which name the DOM
      faulty: ["@webgpu/types", "effect"]
    }
  ]),
  {
    compiler: newest,
    module: "NodeNext",
    lib: [language],
    types: [],
    programs: ["odd", "undeclared"],
    faulty: ["effect"]
  },
  {
    compiler: newest,
    module: "NodeNext",
    lib: [language, "WebWorker"],
    types: [],
    programs: pages,
    faulty: ["effect"]
  }
]

/** The example of a backend: nothing that the declarations leave out is needed for one. */
const backend: Consumer = {
  compiler: newest,
  module: "NodeNext",
  lib: ["ES2022", "DOM"],
  types: ["node"],
  programs: ["backend/Workers"],
  faulty: []
}

const all = [...everywhere, ...declarations, backend]

/** All in `.ci/run`, and otherwise a page and a server under the oldest compiler and the newest, and the backend. */
const consumers = isWhole ?
  all :
  all.filter((consumer) =>
    consumer === backend ||
    (everywhere.includes(consumer) && consumer.module === "NodeNext" && consumer.compiler !== between)
  )

const nameOf = ({ compiler, lib, module, programs, types }: Consumer): string =>
  [`${compiler}, ${module}, lib ${lib.join(" ")}`, `types [${types.join(" ")}]`, programs.join(" ")].join(", ")

const configOf = ({ lib, module, programs, types }: Consumer) => ({
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    target: language,
    lib,
    types,
    ...(module === "NodeNext" ? { module } : { module: "ESNext", moduleResolution: module })
  },
  files: programs.map((program) => `${program}.ts`)
})

const tscOf = (compiler: string): string => join(dirname(require.resolve(`${compiler}/package.json`)), "bin/tsc")

/** Of the file that an error is in; ours where it is a program, or in no file. */
const packageOf = (error: string): string => {
  const inside = /^[^(]*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(error.replace(/^.*node_modules\//, "node_modules/"))
  const name = inside?.[1] ?? "effect-gpu-pool"
  return name.startsWith("@typescript/") ? "typescript" : name
}

const compile = async (consumer: Consumer, index: number): Promise<boolean> => {
  const project = join(folder, `tsconfig.${index}.json`)
  writeFileSync(project, JSON.stringify(configOf(consumer)))
  const child = spawn(process.execPath, [tscOf(consumer.compiler), "--pretty", "false", "-p", project], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, "close")])
  const errors = output.split("\n").filter((line) => /error TS\d+:/.test(line))
  if (errors.length === 0 && status !== 0) throw new Error(`${nameOf(consumer)}: exit code ${status}: ${output}`)
  return report(consumer, errors)
}

const report = (consumer: Consumer, errors: ReadonlyArray<string>): boolean => {
  const faults = consumer.faulty.map((name) => ({
    name,
    count: errors.filter((error) => packageOf(error) === name).length
  }))
  const problems = [
    ...errors.filter((error) => !consumer.faulty.includes(packageOf(error))),
    ...faults.filter(({ count }) => count === 0).map(({ name }) => `${name} has no errors any more: list it no longer`)
  ]
  const theirs = faults.map(({ count, name }) => `, ${count} errors of ${name}'s own`).join("")
  console.log(`${problems.length === 0 ? "compiles" : "DOES NOT COMPILE"}: ${nameOf(consumer)}${theirs}`)
  for (const problem of problems) console.log(`  ${problem}`)
  return problems.length === 0
}

const waiting = [...consumers.entries()]
const results: Array<boolean> = []
const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    results.push(await compile(next[1], next[0]))
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work))

if (results.includes(false)) process.exitCode = 1
else console.log(`package: ${results.length} kinds of consumers compile`)
