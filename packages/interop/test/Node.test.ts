/** The flag for programs that are not ours: `node --import @effect-gpu-pool/interop/node`. */
import { Recording } from "@effect-gpu-pool/observability"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll } from "vitest"

const flag = import.meta.resolve("@effect-gpu-pool/interop/node")

const scratch = mkdtempSync(join(tmpdir(), "effect-gpu-pool-observed-"))
afterAll(() => rmSync(scratch, { recursive: true }))

/** A folder of a program, which has npm `webgpu` or another package of that name. */
const folderOf = (name: string, webgpu: string | undefined): string => {
  const folder = join(scratch, name)
  const modules = join(folder, "node_modules")
  mkdirSync(modules, { recursive: true })
  if (webgpu === "installed") {
    symlinkSync(dirname(fileURLToPath(import.meta.resolve("webgpu"))), join(modules, "webgpu"))
  } else if (webgpu !== undefined) {
    mkdirSync(join(modules, "webgpu"))
    writeFileSync(join(modules, "webgpu/index.js"), webgpu)
  }
  return folder
}

interface Run {
  readonly folder: string
  readonly program: string
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

const run = ({ cwd, env, folder, program }: Run) => {
  const file = join(folder, "program.mjs")
  writeFileSync(file, program)
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--import", flag, file], {
    cwd: cwd ?? folder,
    env: { ...process.env, ...env },
    encoding: "utf8"
  })
  return { file, status, stderr, stdout }
}

/** It waits for the queue: Dawn aborts a process that ends while Dawn's threads still work, with a mutex that is gone. */
const leaking = `import { create } from "webgpu"
const gpu = create(["backend=null"])
const device = await (await gpu.requestAdapter()).requestDevice()
const kept = []
const classify = () => kept[kept.push(device.createBuffer({ size: 4096, usage: 8, label: "logits" })) - 1]
for (let step = 0; step < 3; step++) classify()
classify().destroy()
await device.queue.onSubmittedWorkDone()
console.log("done")
`

describe("node --import", () => {
  it.effect("says what was alive at the end, and writes a recording", () =>
    Effect.gen(function*() {
      const folder = folderOf("leaking", "installed")
      const recording = join(folder, "run.jsonl")
      // npm webgpu is found from the program's file, wherever it was started.
      const { file, status, stderr, stdout } = run({
        folder,
        program: leaking,
        cwd: tmpdir(),
        env: { GPU_MEMORY_RECORDING: recording }
      })
      deepStrictEqual([status, stdout], [0, "done\n"])
      assert.include(stderr, "GPU memory: 3 live, 12,288 B; at most 16,384 B\n")
      assert.match(stderr, /12,288 B {8}3 buffers "logits", oldest .*, made at classify \(file:/)
      assert.include(stderr, `classify (${pathToFileURL(file).href}:5:`)
      const { blocks, ...read } = yield* Recording.fromLines(readFileSync(recording, "utf8"))
      deepStrictEqual(blocks, [])
      deepStrictEqual(
        Array.from(Recording.events({ ...read, blocks }), ({ _tag }) => _tag),
        ["Leased", "Leased", "Leased", "Leased", "Released", "Freed"]
      )
    }))

  it("keeps the exit code of a program, however it ends", () => {
    const folder = folderOf("failing", "installed")
    const exits = run({ folder, program: `${leaking}process.exit(7)` })
    deepStrictEqual([exits.status, exits.stderr.includes("3 live, 12,288 B")], [7, true])
    const throws = run({ folder, program: `${leaking}throw new Error("its own mistake")` })
    strictEqual(throws.status, 1)
    for (const part of ["Error: its own mistake", "3 live, 12,288 B"]) assert.include(throws.stderr, part)
    const unwritable = join(folder, "absent", "run.jsonl")
    const unwritten = run({ folder, program: leaking, env: { GPU_MEMORY_RECORDING: unwritable } })
    deepStrictEqual([unwritten.status, unwritten.stdout, existsSync(unwritable)], [0, "done\n", false])
    assert.match(unwritten.stderr, /could not be written to GPU_MEMORY_RECORDING: Error: ENOENT/)
  })

  it("says that nothing is watched without npm webgpu, or with one that does not load", () => {
    const program = `console.log("works")`
    const without = run({ folder: folderOf("without", undefined), program })
    deepStrictEqual([without.status, without.stdout], [0, "works\n"])
    assert.match(without.stderr, /^GPU memory: nothing to watch, since npm webgpu is found neither /m)
    const broken = run({ folder: folderOf("broken", `throw new Error("no driver")`), program })
    deepStrictEqual([broken.status, broken.stdout], [0, "works\n"])
    assert.match(
      broken.stderr,
      /^GPU memory: nothing is watched, since npm webgpu could not be loaded: Error: no driver$/m
    )
  })
})
