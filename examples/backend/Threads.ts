/** The threads of one device. They live as long as its scope; when one of them dies, the device is lost. */
import { Effect, type Scope } from "effect"
import { GpuError } from "effect-gpu-pool"
import type { DeviceStatus, DriverObjects } from "effect-gpu-pool/backend"
import type { Answer, Task } from "./Task.ts"
import { Thread } from "./Thread.ts"

interface Device {
  readonly status: DeviceStatus.DeviceStatus
  readonly driverObjects: DriverObjects.DriverObjects
}

export class Threads {
  readonly #threads: ReadonlyArray<Thread>

  /** When one thread ends, the device is lost, and the other threads are ended too. */
  private constructor(count: number, { driverObjects, status }: Device, started: (answer: Answer) => void) {
    const ended = (why: string): void => {
      driverObjects.remove("thread")
      status.lose(`a thread is gone: ${why}`)
    }
    this.#threads = Array.from({ length: count }, () => {
      driverObjects.add("thread")
      return new Thread(started, ended)
    })
    status.onLost(() => void this.#end())
  }

  /** Starts `count` threads and waits until all of them are there. The scope ends them. */
  static open(count: number, device: Device): Effect.Effect<Threads, GpuError.GpuError, Scope.Scope> {
    const start = Effect.callback<Threads, GpuError.GpuError>((resume) => {
      let starting = count
      const threads = new Threads(count, device, ({ problem }) => {
        if (problem !== undefined) resume(unavailable(problem))
        else if (--starting === 0) resume(Effect.succeed(threads))
      })
    })
    return Effect.acquireRelease(start, (threads) => Effect.promise(() => threads.#end()))
  }

  get count(): number {
    return this.#threads.length
  }

  /** Gives the tasks to the threads in rotation, and calls `done` when all have ended. */
  run(tasks: ReadonlyArray<Task>, done: (answers: ReadonlyArray<Answer>) => void): void {
    const answers: Array<Answer> = []
    let missing = tasks.length
    tasks.forEach((task, index) =>
      this.#threads[index % this.count]!.send(task, (answer) => {
        answers[index] = answer
        if (--missing === 0) done(answers)
      })
    )
  }

  /** Gives the same task to every thread. */
  runOnAll(task: Task, done: (answers: ReadonlyArray<Answer>) => void): void {
    this.run(this.#threads.map(() => task), done)
  }

  #end(): Promise<unknown> {
    return Promise.all(this.#threads.map((thread) => thread.end()))
  }
}

const unavailable = (why: string): GpuError.GpuError =>
  GpuError.make(
    new GpuError.DeviceUnavailable({
      tried: [{ backend: "workers", device: "threads of this process", why }],
      hint: "Ask for fewer threads, or see why this process can start no more of them."
    })
  )
