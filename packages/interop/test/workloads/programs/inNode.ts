/** Random programs of several libraries on one device, in a process of their own. */
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import type { Case } from "./Program.ts"
import type { Answer, Order } from "./run.ts"

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
