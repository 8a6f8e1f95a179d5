/**
 * A file through a kernel and back to a file: the result is right, memory stays within its limit, and a second run
 * removes the mask.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { describeWith } from "../support/required.ts"

const main = join(import.meta.dirname, "../../examples/stream/main.ts")

/** Runs the example with a folder of its own for temporary files. */
const run = (args: ReadonlyArray<string>, folder: string) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, ["--conditions=effect-gpu-pool:source", main, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, TMPDIR: folder }
    })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "stream-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const small = ["--max-bytes=65536", "--chunk-size=4096"]

const sha256 = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

const masked = Effect.fnUntraced(function*(backend: string) {
  const place = yield* folder
  const [plain, once, twice] = ["plain", "once", "twice"].map((name) => join(place, name)) as [string, string, string]
  writeFileSync(plain, Uint8Array.from({ length: 1_000_003 }, (_, at) => at % 251))
  const between = (from: string, to: string) =>
    run(["--backend", backend, "--in", from, "--out", to, "--in-flight=2", ...small], place)
  const { status, stderr, stdout } = yield* between(plain, once)
  assert.strictEqual(status, 0, stderr)
  assert.include(stdout, sha256(once))
  assert.notStrictEqual(sha256(once), sha256(plain))
  assert.strictEqual((yield* between(once, twice)).status, 0)
  assert.strictEqual(sha256(twice), sha256(plain))
})

describe("npm run stream", () => {
  it.live("masks a file on the host, and takes the mask off again", () => masked("host"))

  it.live("makes a file of its own, stays within its memory, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const place = yield* folder
      const { status, stderr, stdout } = yield* run(["--size=2000000", ...small], place)
      assert.strictEqual(status, 0, stderr)
      assert.match(stdout, /^1\.9 MiB through process memory/)
      assert.match(stdout, /at most, of 0\.1 MiB/)
      assert.deepStrictEqual(readdirSync(place), [])
    }))
})

describeWith(["webgpu"], "npm run stream on WebGPU", () => {
  it.live("masks a file, and takes the mask off again", () => masked("webgpu"))
})

describeWith(["opencl"], "npm run stream on OpenCL", () => {
  it.live("masks a file, and takes the mask off again", () => masked("opencl"))
})
