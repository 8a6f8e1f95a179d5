/** The queue: every command is a job of the pipeline from the moment in which it is recorded. */
import { Effect, Exit } from "effect"
import { GpuError } from "effect-gpu-pool"
import type { DeviceBuffer, QueueDriver } from "effect-gpu-pool/backend"
import { dispatchTasks } from "./Dispatching.ts"
import { driverError } from "./DriverErrors.ts"
import { unshared } from "./Memory.ts"
import type { Pipeline } from "./Pipeline.ts"
import type { Answer, Rows, Task } from "./Task.ts"
import type { WorkersBuffer } from "./WorkersBuffer.ts"
import type { WorkersDevice } from "./WorkersDevice.ts"

type Driver = QueueDriver.QueueDriver["Service"]

/** How a region lies in memory. */
type Layout = Omit<Rows, "memory">

interface Failure {
  readonly log: string
  readonly command: string
}

/** A fiber that waits until the commands up to a position have run. */
interface Waiter {
  readonly position: number
  readonly wake: () => void
}

export class WorkersQueue implements Driver {
  readonly #device: WorkersDevice
  readonly #pipeline: Pipeline
  readonly #threads: number
  /** How many commands were recorded, and how many of those have ended. */
  #recorded = 0
  #ended = 0
  /** Failures of commands, until a finish or read takes them. */
  #failures: Array<Failure> = []
  readonly #waiters = new Set<Waiter>()

  constructor(device: WorkersDevice, pipeline: Pipeline, threads: number) {
    this.#device = device
    this.#pipeline = pipeline
    this.#threads = threads
  }

  readonly writeUnsafe: Driver["writeUnsafe"] = (target, offset, data) =>
    this.#write([data.byteLength, 1, 1], target, row(offset), data.slice())

  readonly writeRectUnsafe: Driver["writeRectUnsafe"] = (extent, target, to, rows) =>
    this.#write(extent, target, to, rows.slice())

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, sourceOffset, target, targetOffset, bytes) =>
    this.#copy([bytes, 1, 1], source, row(sourceOffset), target, row(targetOffset))

  readonly copyRectUnsafe: Driver["copyRectUnsafe"] = (extent, source, from, target, to) =>
    this.#copy(extent, source, from, target, to)

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, offset, bytes, pattern) =>
    this.fillWideUnsafe(target, offset, bytes, [pattern])

  readonly fillWideUnsafe: Driver["fillWideUnsafe"] = (target, offset, bytes, patterns) => {
    const place = rowsOf(target, row(offset))
    const pattern = new Uint8Array(Uint32Array.from(patterns).buffer)
    return this.#record(`fill ${bytes} B -> ${named(target)}`, () => [
      { _tag: "fill", memory: own(target).memory, offset: place.offset, bytes, pattern }
    ])
  }

  readonly dispatchUnsafe: Driver["dispatchUnsafe"] = (dispatch) => {
    const tasks = dispatchTasks(dispatch, this.#threads)
    return this.#record(`dispatch ${dispatch.compiled.kernel.name} (${dispatch.count} items)`, () => tasks)
  }

  /** Nothing to flush: a command is submitted when it is recorded. */
  readonly flushUnsafe: Driver["flushUnsafe"] = () => this.#alive()

  readonly readUnsafe: Driver["readUnsafe"] = (source, offset, bytes, answer) =>
    this.#read([bytes, 1, 1], source, row(offset), answer)

  readonly readRectUnsafe: Driver["readRectUnsafe"] = (extent, source, from, answer) =>
    this.#read(extent, source, from, answer)

  readonly positionUnsafe: Driver["positionUnsafe"] = () => this.#recorded

  readonly endedUnsafe: Driver["endedUnsafe"] = () => this.#ended

  readonly awaitEnded: Driver["awaitEnded"] = (position) =>
    Effect.callback<void, GpuError.GpuError>((resume) => {
      const { status } = this.#device
      if (status.error !== undefined || this.#ended >= position) return resume(this.#alive())
      const waiter: Waiter = {
        position,
        wake: () => {
          stop()
          resume(Effect.void)
        }
      }
      this.#waiters.add(waiter)
      const stop = status.onLost(resume)
      return Effect.sync(() => {
        stop()
        this.#waiters.delete(waiter)
      })
    })

  readonly awaitPosition: Driver["awaitPosition"] = (position) =>
    Effect.andThen(this.awaitEnded(position), Effect.suspend(() => this.#takeFailures() ?? Effect.void))

  readonly finish: Driver["finish"] = Effect.suspend(() => this.awaitPosition(this.#recorded))

  /** The creation has allocated the memory already. */
  readonly touch: Driver["touch"] = () => Effect.suspend(() => this.#alive())

  readonly reclaim: Driver["reclaim"] = Effect.suspend(() => this.awaitEnded(this.#recorded))

  #alive(): Exit.Exit<void, GpuError.GpuError> {
    const { error } = this.#device.status
    return error === undefined ? Exit.void : Exit.fail(error)
  }

  #copy(
    extent: QueueDriver.Extent,
    source: DeviceBuffer.DeviceBuffer,
    from: Layout,
    target: DeviceBuffer.DeviceBuffer,
    to: Layout
  ): Exit.Exit<void, GpuError.GpuError> {
    const task = { _tag: "copy", extent, from: rowsOf(source, from), to: rowsOf(target, to) } as const
    return this.#record(`copy ${sizeOf(extent)} ${named(source)} -> ${named(target)}`, () => [task])
  }

  /** A read that is given up leaves the failures to others. */
  #read(
    extent: QueueDriver.Extent,
    source: DeviceBuffer.DeviceBuffer,
    from: Layout,
    answer: QueueDriver.ReadAnswer
  ): () => void {
    let wanted = true
    const rows = rowsOf(source, from)
    const bytes = bytesOf(extent)
    this.#pipeline.enqueue({
      tasks: () => {
        const memory = wanted ? unshared(bytes) : undefined
        return memory === undefined ? [] : [{ _tag: "copy", extent, from: rows, to: packed(extent, memory) }]
      },
      done: (answers) => {
        if (wanted) answer(GpuError.isGpuError(answers) ? answers : this.#takeFailures() ?? bytesRead(bytes, answers))
      }
    })
    return () => {
      wanted = false
    }
  }

  /** `data` belongs to the queue: it is transferred to the thread that writes it. */
  #write(
    extent: QueueDriver.Extent,
    target: DeviceBuffer.DeviceBuffer,
    to: Layout,
    data: Uint8Array<ArrayBuffer>
  ): Exit.Exit<void, GpuError.GpuError> {
    const task = { _tag: "copy", extent, from: packed(extent, data.buffer), to: rowsOf(target, to) } as const
    return this.#record(`write ${sizeOf(extent)} -> ${named(target)}`, () => [task])
  }

  #record(command: string, tasks: () => ReadonlyArray<Task>): Exit.Exit<void, GpuError.GpuError> {
    const { error } = this.#device.status
    if (error !== undefined) return Exit.fail(error)
    this.#recorded += 1
    this.#pipeline.enqueue({ tasks, done: (answers) => this.#commandEnded(command, answers) })
    return Exit.void
  }

  /** A loss of the device needs nothing here: its status reports it. */
  #commandEnded(command: string, answers: ReadonlyArray<Answer> | GpuError.GpuError): void {
    if (GpuError.isGpuError(answers)) return
    const problem = answers.find((answer) => answer.problem !== undefined)?.problem
    if (problem !== undefined) this.#failures.push({ log: problem, command })
    this.#ended += 1
    for (const waiter of this.#waiters) {
      if (waiter.position > this.#ended) continue
      this.#waiters.delete(waiter)
      waiter.wake()
    }
  }

  /** All failures since the last call, as one error: each is reported once. */
  #takeFailures(): GpuError.GpuError | undefined {
    const failures = this.#failures
    this.#failures = []
    if (failures.length === 0) return undefined
    return driverError("run", failures.map(({ log }) => log).join("; "), failures.map(({ command }) => command))
  }
}

/** The library has checked that it is a buffer of this device. */
const own = (buffer: DeviceBuffer.DeviceBuffer): WorkersBuffer => buffer as WorkersBuffer

const named = ({ label }: DeviceBuffer.DeviceBuffer): string => label ?? "(no label)"

const bytesOf = ([bytes, rows, slices]: QueueDriver.Extent): number => bytes * rows * slices

const sizeOf = ([bytes, rows, slices]: QueueDriver.Extent): string =>
  rows * slices === 1 ? `${bytes} B` : `${bytes} B x ${rows} x ${slices}`

/** Bytes that follow each other. */
const row = (offset: number): Layout => ({ offset, rowPitch: 0, slicePitch: 0 })

/** A place in a buffer, as one in its memory. */
const rowsOf = (buffer: DeviceBuffer.DeviceBuffer, { offset, rowPitch, slicePitch }: Layout): Rows => ({
  memory: own(buffer).memory,
  offset: buffer.origin + offset,
  rowPitch,
  slicePitch
})

/** Rows that follow each other. */
const packed = ([bytes, rows]: QueueDriver.Extent, memory: ArrayBuffer): Rows => ({
  memory,
  offset: 0,
  rowPitch: bytes,
  slicePitch: bytes * rows
})

/** Without memory for the bytes there was no task, and so there is no answer. */
const bytesRead = (bytes: number, [answer]: ReadonlyArray<Answer>): Exit.Exit<ArrayBuffer, GpuError.GpuError> => {
  if (answer === undefined) return Exit.fail(GpuError.outOfMemory(bytes))
  const { memory, problem = "nothing came back" } = answer
  return memory === undefined ? Exit.fail(driverError("read", problem, [])) : Exit.succeed(memory)
}
