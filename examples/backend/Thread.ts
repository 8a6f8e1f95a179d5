/** One thread, seen from the program: it gets tasks and answers them in order. */
import { Worker } from "node:worker_threads"
import type { Answer, Task } from "./Task.ts"

export type Answered = (answer: Answer) => void

/** The memory of a task that is transferred to the thread instead of being shared with it. */
const movedWith = (task: Task): Array<ArrayBuffer> =>
  task._tag === "copy"
    ? [task.from.memory, task.to.memory].filter((memory): memory is ArrayBuffer => memory instanceof ArrayBuffer)
    : []

export class Thread {
  readonly #worker = new Worker(new URL("./threadMain.ts", import.meta.url))
  /** The callbacks of the answers, in their order. The first answer says that the thread has started. */
  readonly #waiting: Array<Answered>
  #problem: string | undefined

  /** Calls `started` when the thread can take tasks, or could not start, and `ended` when it has ended. */
  constructor(started: Answered, ended: (why: string) => void) {
    this.#waiting = [started]
    this.#worker.on("message", (answer: Answer) => this.#waiting.shift()!(answer))
    this.#worker.on("error", (cause: unknown) => {
      this.#problem = cause instanceof Error ? cause.message : String(cause)
    })
    // Node emits this after an error too. No callback may wait for a thread that has ended.
    this.#worker.on("exit", (code: number) => {
      this.#problem ??= `it ended with exit code ${code}`
      ended(this.#problem)
      for (const waiting of this.#waiting.splice(0)) waiting({ problem: this.#problem, memory: undefined })
    })
  }

  send(task: Task, answered: Answered): void {
    if (this.#problem !== undefined) return answered({ problem: this.#problem, memory: undefined })
    this.#waiting.push(answered)
    this.#worker.postMessage(task, movedWith(task))
  }

  /** Ends the thread, also in the middle of a task. */
  end(): Promise<unknown> {
    return this.#worker.terminate()
  }
}
