/** The examples of README.md, docs/ and the docstrings: each compiles, and each that is a program runs to its end. */
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { pathToFileURL } from "node:url"
import { afterAll } from "vitest"
import {
  type Device,
  type Example,
  examplesOfMarkdown,
  examplesOfSource,
  executable,
  inPlace
} from "./support/examples.ts"
import { importedModules } from "./support/imports.ts"
import { packages } from "./support/packages.ts"
import { type Backend, describeWith } from "./support/required.ts"

const root = join(import.meta.dirname, "..")

const filesOf = (folder: string, extension: string): ReadonlyArray<string> =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(extension)).map((file) => join(folder, file)).sort()
    : []

const contentOf = (file: string): string => readFileSync(join(root, file), "utf8")

const sources = packages.flatMap(({ folder }) => filesOf(join(folder, "src"), ".ts"))

const documents = [...packages.map(({ folder }) => join(folder, "README.md")), ...filesOf("docs", ".md")].filter((
  file
) => existsSync(join(root, file)))

const examples = [
  ...documents.flatMap((file) => examplesOfMarkdown(file, contentOf(file))),
  ...sources.flatMap((file) => examplesOfSource(file, contentOf(file)))
]

// inside the repository, where the package can import itself by name, and outside node_modules, where Node strips no types
mkdirSync(join(root, "test-results"), { recursive: true })
const scratch = mkdtempSync(join(root, "test-results/docs-"))
afterAll(() => rmSync(scratch, { recursive: true }))

const place = ({ file, line }: Example): string => `${file}:${line}`
const fileName = ({ file, line }: Example): string => `${file.replaceAll(/[\\/]/g, "+")}+${line}.ts`

const write = (folder: string, example: Example, code: string): string => {
  const path = join(scratch, folder, fileName(example))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, code)
  return path
}

const run = async (args: ReadonlyArray<string>): Promise<{ status: number | null; output: string }> => {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", resolve)
  })
  const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { status, output: stdout + stderr }
}

/** Compilers and stack traces name the files written here; a reader wants the document and its line. */
const asInDocuments = (output: string): string =>
  output.replaceAll(
    /[^\s()]*?([^/\\\s()]+)\+\d+\.ts(?:\((\d+),(\d+)\)|:(\d+):(\d+))/g,
    (_, file: string, ...at: ReadonlyArray<string | undefined>) =>
      [file.replaceAll("+", "/"), at[0] ?? at[2], at[1] ?? at[3]].join(":")
  )

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

const compile = (fences: ReadonlyArray<Example>) => {
  // the compiler rejects a project without files, but a document may have no examples
  const nothing = { file: "nothing", line: 1, code: "export {}", runs: false }
  const files = [nothing, ...fences].map((example) => write("compiled", example, inPlace(example)))
  const project = join(scratch, "compiled/tsconfig.json")
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
  writeFileSync(project, JSON.stringify({ extends: "../../../tsconfig.json", compilerOptions, include: [], files }))
  return run([tsc, "--pretty", "false", "-p", project])
}

const backendOf: Record<string, Backend> = {
  "effect-gpu-pool/webgpu": "webgpu",
  "effect-gpu-pool/opencl": "opencl",
  webgpu: "webgpu"
}

/** The backends that an example needs, from the entry points that it imports. */
const backendsOf = ({ code, file }: Example): ReadonlyArray<Backend> => {
  const modules = importedModules(`${file}.ts`, code).map(({ specifier }) => specifier)
  return [...new Set(modules.flatMap((entry) => backendOf[entry] ?? []))].sort()
}

interface Program {
  readonly title: string
  readonly needs: ReadonlyArray<Backend>
  readonly examples: ReadonlyArray<Example>
}

const groupsOf = <A>(
  values: ReadonlyArray<A>,
  key: (value: A) => string
): ReadonlyArray<readonly [string, Array<A>]> => {
  const groups = new Map<string, Array<A>>()
  for (const value of values) groups.set(key(value), [...groups.get(key(value)) ?? [], value])
  return [...groups]
}

/** The part of the repository: a top-level folder. */
const partOf = ({ file }: Example): string => /^[^/]+/.exec(file)?.[0] ?? file

/**
 * The examples of one part of the repository run in one process, one after the other, because loading takes longest.
 */
const programs: ReadonlyArray<Program> = groupsOf(
  examples.filter(({ runs }) => runs),
  (example) => [partOf(example), ...backendsOf(example)].join(", ")
).map(([title, [first, ...others]]) => ({
  title,
  needs: first === undefined ? [] : backendsOf(first),
  examples: first === undefined ? [] : [first, ...others]
}))

/** A program that runs examples one after the other, on a device if one is given. */
const mainOf = (examples: ReadonlyArray<Example>, device?: Device): string => {
  const calls = examples.map((example) => {
    const path = write(`run ${device?.layer ?? ""}`, example, executable(example, device))
    return `await run(${JSON.stringify(place(example))}, () => import(${JSON.stringify(pathToFileURL(path))}))`
  })
  const run = "const run = (place, load) => load().catch((cause) => { throw new Error(`${place} fails`, { cause }) })"
  return [run, ...calls].join("\n")
}

describe("examples", () => {
  it("compile", async () => {
    const { output, status } = await compile(examples)
    assert.strictEqual(status, 0, asInDocuments(output))
  })

  for (const [, group] of groupsOf(programs, ({ needs }) => needs.join())) {
    const needs = group[0]?.needs ?? []
    describeWith(needs, ["run", ...needs].join(" on "), () => {
      it.concurrent.each(group)("$title", async (program) => {
        const { output, status } = await run(["--input-type=module", "--eval", mainOf(program.examples)])
        assert.strictEqual(status, 0, asInDocuments(output))
      })
    })
  }
})

/** Pages whose kernels have a body for every language, so that each example gives the same on every device. */
const portable = ["docs/groups.md"]

const gpus: ReadonlyArray<{ readonly needs: Backend; readonly device: Device }> = [
  { needs: "webgpu", device: { layer: "WebGpu", from: "effect-gpu-pool/webgpu" } },
  { needs: "opencl", device: { layer: "OpenCl", from: "effect-gpu-pool/opencl" } }
]

describe("examples of portable kernels", () => {
  for (const { device, needs } of gpus) {
    describeWith([needs], `run on ${needs}`, () => {
      const found = examples.filter(({ file, runs }) => runs && portable.includes(file))

      it("are there", () => {
        assert.sameMembers([...new Set(found.map(({ file }) => file))], portable)
      })

      it("are right", async () => {
        const { output, status } = await run(["--input-type=module", "--eval", mainOf(found, device)])
        assert.strictEqual(status, 0, asInDocuments(output))
      })
    })
  }
})

const only = (markdown: string): Example => {
  const [example] = examplesOfMarkdown("doc.md", markdown)
  assert(example !== undefined)
  return example
}
const fence = (code: string, tags = ""): Example => only(`Text.\n\n\`\`\`ts${tags}\n${code}\n\`\`\`\n`)
const runAlone = (example: Example) => run(["--input-type=module", "--eval", mainOf([example])])

describe("the check itself", () => {
  it("accepts a project without examples", async () => {
    const { output, status } = await compile([])
    assert.strictEqual(status, 0, output)
  })

  it("refuses code that does not compile, with its line", async () => {
    const { output, status } = await compile([fence("export const size: number = \"4\"")])
    assert.notStrictEqual(status, 0)
    assert.match(asInDocuments(output), /^doc\.md:4:14: error TS2322/)
  })

  it("refuses a program that fails", async () => {
    const { output, status } = await runAlone(fence("throw new Error(\"boom\")"))
    assert.strictEqual(status, 1)
    assert.match(asInDocuments(output), /doc\.md:4 fails[^]* at doc\.md:4:7/)
  })

  it("refuses a program that never ends its work", async () => {
    const { status } = await runAlone(fence("await new Promise(() => {})"))
    assert.notStrictEqual(status, 0)
  })

  it.each(["1 + 1 // => 3", "console.log([1]) // => [2]", "await Promise.resolve({ a: 1 }) // => {}"])(
    "refuses a result that is another: %s",
    async (code) => {
      const { output, status } = await runAlone(fence(code))
      assert.strictEqual(status, 1)
      assert.match(output, /strictly deep-equal/)
    }
  )

  it("accepts results that are right", async () => {
    const { output, status } = await runAlone(fence("const two = 2\ntwo // => 1 + 1\nconsole.log([two]) // => [2]\n"))
    assert.strictEqual(status, 0, output)
  })

  it("runs an effect on the host, with a pool", async () => {
    const imports = "import { BufferPool } from \"effect-gpu-pool\"\n"
    const size = "BufferPool.use(8, (lease) => Effect.succeed(lease.size))"
    const effect = "import { Effect } from \"effect\"\n" + imports + size
    const right = await runAlone(fence(`${effect} // => 8`))
    assert.strictEqual(right.status, 0, right.output)
    const wrong = await runAlone(fence(`${effect} // => 9`))
    assert.match(wrong.output, /strictly deep-equal/)
  })

  it("refuses an expectation that belongs to no expression", () => {
    assert.throws(() => executable(fence("const two = 2 // => 2")), /doc\.ts:4: .* follows no expression/)
  })

  it("only compiles what is tagged no-run, and knows no other tag", () => {
    assert.isFalse(fence("f()", " no-run").runs)
    assert.throws(() => fence("f()", " norun"), /doc\.md:3: norun is no tag/)
  })

  it("finds the fences of docstrings, and their lines", () => {
    const source = "/** A module. */\n\n/**\n * Adds.\n *\n * ```ts\n * add(1)\n *\n * add(2)\n * ```\n */\nexport {}\n"
    assert.deepStrictEqual(examplesOfSource("src/A.ts", source), [
      { file: "src/A.ts", line: 7, code: "add(1)\n\nadd(2)", runs: true }
    ])
  })

  it("passes over other languages, and finds nothing in a text without fences", () => {
    assert.deepStrictEqual(examplesOfMarkdown("doc.md", "```sh\nnpm ci\n```\n"), [])
    assert.deepStrictEqual(examplesOfMarkdown("doc.md", "# Title\n"), [])
  })
})
