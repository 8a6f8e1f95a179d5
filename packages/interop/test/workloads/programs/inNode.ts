/** Random programs of several libraries on one device, in a process of their own. */
import type { InstallationStats, InstallOptions } from "@effect-gpu-pool/interop/install"
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import type { LibraryName } from "./libraries.ts"
import type { Case } from "./Program.ts"

/** What the process is told first. */
export interface Order {
  readonly libraries: ReadonlyArray<LibraryName>
  /** Whether each program runs after the other, instead of in turns. */
  readonly alone: boolean
  /** Of the pool under the device; none without them. */
  readonly options: InstallOptions | undefined
}

export interface Answer {
  /** Digests of the results of each program. */
  readonly results: ReadonlyArray<ReadonlyArray<string>>
  /** Errors that no scope of a program has caught. */
  readonly errors: ReadonlyArray<string>
  readonly stats: InstallationStats | undefined
}

export class Programs {
  readonly #child: ChildProcess
  #stderr = ""

  private constructor(child: ChildProcess) {
    this.#child = child
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text
    })
  }

  static async open(order: Order): Promise<Programs> {
    const child = fork(join(import.meta.dirname, "child.ts"), {
      // Not those of the test runner.
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      serialization: "advanced"
    })
    const programs = new Programs(child)
    await programs.#ask(order)
    return programs
  }

  run(one: Case): Promise<Answer> {
    return this.#ask(one) as Promise<Answer>
  }

  /** Ends the process, and with it the device. */
  close(): void {
    this.#child.disconnect()
  }

  /** What the process answers. */
  #ask(message: Order | Case): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const child = this.#child
      const ended = (): void => reject(new Error(`the programs' process has ended:\n${this.#stderr}`))
      child.once("exit", ended)
      child.once("message", (answer) => {
        child.off("exit", ended)
        resolve(answer)
      })
      child.send(message)
    })
  }
}
