/** What makes a queue of threads: one job after the other, each on as many threads as it has tasks. */
import type { GpuError } from "effect-gpu-pool"
import type { DeviceStatus } from "effect-gpu-pool/backend"
import type { Answer, Task } from "./Task.ts"
import type { Threads } from "./Threads.ts"

export interface Job {
  /** Called when the jobs before have ended. A job without tasks then ends at once. */
  readonly tasks: () => ReadonlyArray<Task>
  /** Called once, in order: with the answers, or with the error of the lost device. */
  readonly done: (answers: ReadonlyArray<Answer> | GpuError.GpuError) => void
}

export class Pipeline {
  readonly #threads: Threads
  readonly #status: DeviceStatus.DeviceStatus
  readonly #jobs: Array<Job> = []
  #busy = false

  constructor(threads: Threads, status: DeviceStatus.DeviceStatus) {
    this.#threads = threads
    this.#status = status
  }

  enqueue(job: Job): void {
    this.#jobs.push(job)
    this.#next()
  }

  /** Runs jobs until one has to wait for threads; their answer calls this again. */
  #next(): void {
    while (!this.#busy && this.#jobs.length > 0) {
      this.#busy = true
      const { done, tasks } = this.#jobs.shift()!
      const finished = (answers: ReadonlyArray<Answer>): void => {
        done(this.#status.error ?? answers)
        this.#busy = false
      }
      const parts = this.#status.error === undefined ? tasks() : []
      if (parts.length === 0) finished([])
      else {
        this.#threads.run(parts, (answers) => {
          finished(answers)
          this.#next()
        })
      }
    }
  }
}
