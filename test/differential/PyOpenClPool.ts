/**
 * PyOpenCL's MemoryPool in a process of its own, which lives as long as the layer: starting Python and an OpenCL driver
 * takes longer than thousands of pool operations.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { python } from "../support/required.ts"

/** `release` ends a lease early, `close` by the end of its owner; `nth` counts the live ones, oldest first. */
export type Operation =
  | { readonly op: "allocate"; readonly size: number }
  | { readonly op: "release" | "close"; readonly nth: number }
  | { readonly op: "freeHeld" | "stopHolding" }

/** PyOpenCL's counters, under our names. */
export interface Counters {
  readonly heldBlocks: number
  readonly activeBlocks: number
  readonly managedBytes: number
  readonly activeBytes: number
}

export interface Trace {
  /** After each operation. */
  readonly counters: ReadonlyArray<Counters>
  /** The cl_mem behind each allocation. */
  readonly addresses: ReadonlyArray<string>
}

export class PyOpenClPool extends Context.Service<PyOpenClPool, {
  /** Runs a sequence on a pool of its own, with the default number of leading bits. */
  readonly run: (operations: ReadonlyArray<Operation>) => Promise<Trace>
  /** The block size of each size, without allocating. */
  readonly blockSizes: (leadingBits: number, sizes: ReadonlyArray<number>) => Promise<ReadonlyArray<number>>
}>()("test/PyOpenClPool") {
  static readonly layer: Layer.Layer<PyOpenClPool> = Layer.effect(
    PyOpenClPool,
    Effect.map(
      Effect.acquireRelease(Effect.promise(() => Driver.start()), (driver) => Effect.promise(() => driver.stop())),
      (driver) => ({
        run: (operations) => driver.ask<Trace>({ operations }),
        blockSizes: (leadingBits, sizes) => driver.ask<ReadonlyArray<number>>({ leadingBits, sizes })
      })
    )
  )
}

const script = join(import.meta.dirname, "pyopencl_pool.py")

interface Waiter {
  readonly resolve: (answer: string) => void
  readonly reject: (error: Error) => void
}

/** The script answers in order, so the next line is the answer to the oldest request. */
class Driver {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #exit: Promise<ReadonlyArray<unknown>>
  readonly #waiting: Array<Waiter> = []
  #ended: Error | undefined = undefined
  #stderr = ""

  static async start(): Promise<Driver> {
    const interpreter = python()
    if (interpreter === undefined) throw new Error("no python3")
    const driver = new Driver(spawn(interpreter, [script]))
    await driver.#nextLine()
    return driver
  }

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    this.#exit = once(child, "close")
    this.#exit.then(([code]) => this.#end(`ended with ${String(code)}`), (error) => this.#end(String(error)))
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text
    })
    // if the process is gone, its end is reported with its last output
    child.stdin.on("error", () => {})
    createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line))
  }

  async ask<Answer>(request: unknown): Promise<Answer> {
    const answer = this.#nextLine()
    this.#child.stdin.write(`${JSON.stringify(request)}\n`)
    return JSON.parse(await answer) as Answer
  }

  async stop(): Promise<void> {
    this.#child.stdin.end()
    const [code] = await this.#exit
    if (code !== 0) throw this.#ended ?? new Error(`PyOpenCL ended with ${String(code)}`)
  }

  #nextLine(): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#ended === undefined) this.#waiting.push({ resolve, reject })
      else reject(this.#ended)
    })
  }

  #end(how: string): void {
    this.#ended = new Error(`the process with PyOpenCL ${how}: ${this.#stderr.trim()}`)
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended)
  }
}
