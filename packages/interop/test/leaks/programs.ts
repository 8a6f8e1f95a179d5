/** Programs that leak: each has one line with the comment `leaks`. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { pathToFileURL } from "node:url"

export interface Program {
  readonly library: string
  readonly file: string
  /** How many objects its line makes at least, in five steps. */
  readonly objects: number
}

export const programs: ReadonlyArray<Program> = [
  { library: "TensorFlow.js", file: "tensorflow.mjs", objects: 5 },
  { library: "onnxruntime-web", file: "onnx.mjs", objects: 5 },
  { library: "jax-js", file: "jax.mjs", objects: 5 },
  { library: "TypeGPU", file: "typegpu.mjs", objects: 5 },
  { library: "three.js", file: "three.mjs", objects: 15 }
]

export interface Leaks {
  /** The address of the line that leaks, up to its column. */
  readonly line: string
  /** What the observation says when the program ends. */
  readonly stderr: string
  readonly recording: string
}

const flag = import.meta.resolve("@effect-gpu-pool/interop/node")

/** Runs a program under the flag that observes it. */
export const leaksOf = async ({ file }: Program): Promise<Leaks> => {
  const program = join(import.meta.dirname, file)
  const leaking = readFileSync(program, "utf8").split("\n").findIndex((line) => line.endsWith("// leaks")) + 1
  const scratch = mkdtempSync(join(tmpdir(), "effect-gpu-pool-leaks-"))
  try {
    const path = join(scratch, "recording.jsonl")
    const child = spawn(process.execPath, ["--import", flag, program], {
      env: { ...process.env, GPU_MEMORY_RECORDING: path },
      stdio: ["ignore", "ignore", "pipe"]
    })
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject)
      child.on("close", resolve)
    })
    const [code, stderr] = await Promise.all([ended, text(child.stderr)])
    if (code !== 0) throw new Error(`${file} ended with ${code}:\n${stderr}`)
    return { line: `${pathToFileURL(program).href}:${leaking}:`, stderr, recording: readFileSync(path, "utf8") }
  } finally {
    rmSync(scratch, { recursive: true })
  }
}
