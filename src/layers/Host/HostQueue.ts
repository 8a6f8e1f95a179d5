/**
 * The host backend's queue: records commands, submits them together, and reports their failures where they are awaited.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { messageOf, thrownPlace } from "../../domain/arguments/ShownValue.ts"
import { allocate } from "../../domain/data/HostData.ts"
import { byteLength, packed } from "../../domain/data/RectangleRows.ts"
import { type GpuError, invalidRequest, isGpuError, outOfMemory } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"
import { commandsPerFlush, type QueueDriver, type ReadAnswer } from "../../services/device/QueueDriver.ts"
import * as HostCommand from "./HostCommand.ts"
import { driverError, type HostDevice } from "./HostDevice.ts"
import { HostKernel } from "./HostKernel.ts"
import type { HostBuffer } from "./HostMemory.ts"
import { immediate, type Job } from "./HostWorker.ts"
import type { HostImage } from "./images/HostImage.ts"

type Driver = QueueDriver["Service"]

/** A command and its planned fault. */
type Recorded = { readonly command: HostCommand.HostCommand; readonly fault: string | undefined }

/** A fiber that waits for its turn in the queue. */
type Waiter<A> = { readonly resume: (result: Effect.Effect<A, GpuError>) => void; interrupted: boolean }

/** A fiber that waits for the first commands. */
type PositionWaiter = { readonly position: number; readonly done: () => void }

/** How a read copies the bytes of a buffer into its result. */
type Reading = (source: HostBuffer, result: ArrayBuffer) => Generator<number, void>

type Failure = { readonly call: string; readonly log: string; readonly commands: ReadonlyArray<string> }

export class HostQueue implements Driver {
  readonly #device: HostDevice
  readonly #rangeItems: number
  #recorded: Array<Recorded> = []
  /** Failures of commands that have run, until the next finish or read. */
  #failures: Array<Failure> = []
  #flushAtEndOfTurn = false
  /** Commands that were submitted, and of them those that have ended. */
  #submitted = 0
  #ended = 0
  readonly #positionWaiters = new Set<PositionWaiter>()

  constructor(device: HostDevice, rangeItems: number) {
    this.#device = device
    this.#rangeItems = rangeItems
  }

  /**
   * Like GPUQueue.writeBuffer it is not recorded: the recorded commands are submitted first, then the write at once.
   */
  readonly writeUnsafe: Driver["writeUnsafe"] = (target, offset, data) => {
    const buffer = own(target)
    const problem = this.#device.problem("CommandQueue.write", [buffer]) ?? this.#device.operation()
    if (problem !== undefined) return Exit.fail(problem)
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    const fault = this.#device.faults.nextCommand()
    if (fault === undefined && this.#device.worker.idle) new Uint8Array(buffer.memory, buffer.base + offset).set(data)
    else this.#submit({ command: HostCommand.write(buffer, offset, data.slice()), fault })
    this.#device.worker.run()
    return Exit.void
  }

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, sourceOffset, target, targetOffset, bytes) =>
    this.recordUnsafe(
      "CommandQueue.copy",
      HostCommand.copy(own(source), sourceOffset, own(target), targetOffset, bytes)
    )

  readonly copyRectUnsafe: Driver["copyRectUnsafe"] = (extent, source, from, target, to) =>
    this.recordUnsafe("CommandQueue.copyRect", HostCommand.copyRect(extent, own(source), from, own(target), to))

  readonly writeRectUnsafe: Driver["writeRectUnsafe"] = (extent, target, to, rows) =>
    this.recordUnsafe("CommandQueue.writeRect", HostCommand.writeRect(extent, own(target), to, rows))

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, offset, bytes, pattern) =>
    this.fillWideUnsafe(target, offset, bytes, [pattern])

  readonly fillWideUnsafe: Driver["fillWideUnsafe"] = (target, offset, bytes, patterns) =>
    this.recordUnsafe("CommandQueue.fill", HostCommand.fill(own(target), offset, bytes, patterns))

  readonly dispatchUnsafe: Driver["dispatchUnsafe"] = (dispatch) => {
    const { compiled, images, vectors } = dispatch
    if (!(compiled instanceof HostKernel)) {
      return Exit.fail(invalidRequest(
        "CommandQueue.dispatch",
        `kernel "${compiled.kernel.name}" was compiled for another backend`,
        "Take it from the KernelCache of this device."
      ))
    }
    const buffers = [
      ...vectors.map(({ buffer }) => own(buffer)),
      ...images.map((image) => (image as HostImage).buffer)
    ]
    return this.recordUnsafe(
      "CommandQueue.dispatch",
      HostCommand.dispatch(compiled, dispatch, buffers, this.#rangeItems)
    )
  }

  readonly flushUnsafe: Driver["flushUnsafe"] = () => {
    const lost = this.#device.status.error
    if (lost !== undefined) return Exit.fail(lost)
    if (this.#recorded.length === 0) return Exit.void
    const batch = this.#recorded
    this.#recorded = []
    if (batch.some(({ command }) => command.buffers.some((buffer) => buffer.destroyed))) this.#refuse(batch)
    else for (const recorded of batch) this.#submit(recorded)
    this.#device.worker.run()
    return Exit.void
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, offset, bytes, answer) =>
    this.#readUnsafe(
      source,
      bytes,
      (own, result) => HostCommand.copyPieces(own.memory, own.base + offset, result, 0, bytes),
      answer
    )

  readonly readRectUnsafe: Driver["readRectUnsafe"] = (extent, source, from, answer) =>
    this.#readUnsafe(
      source,
      byteLength(extent),
      (own, result) => HostCommand.copyRectPieces(extent, own, from, { memory: result, base: 0 }, packed(extent)),
      answer
    )

  readonly positionUnsafe: Driver["positionUnsafe"] = () => this.#submitted + this.#recorded.length

  readonly endedUnsafe: Driver["endedUnsafe"] = () => this.#ended

  readonly awaitPosition: Driver["awaitPosition"] = (position) =>
    Effect.flatMap(this.awaitEnded(position), () => this.#takeFailures() ?? Exit.void)

  readonly awaitEnded: Driver["awaitEnded"] = (position) =>
    Effect.callback<void, GpuError>((resume) => {
      const { status } = this.#device
      const settle = (error: GpuError | undefined): void => resume(error ?? Exit.void)
      const lost = this.#operationAfterFlush()
      if (lost !== undefined || this.#ended >= position) return settle(lost)
      const waiter: PositionWaiter = {
        position,
        done: () => {
          stop()
          settle(status.error)
        }
      }
      this.#positionWaiters.add(waiter)
      const stop = status.onLost((error) => {
        this.#positionWaiters.delete(waiter)
        resume(error)
      })
      return Effect.sync(() => {
        stop()
        this.#positionWaiters.delete(waiter)
      })
    })

  readonly finish: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    this.#await<void>((waiter) =>
      this.#operationAfterFlush() ?? immediate(() => {
        this.#device.memory.settle()
        if (!waiter.interrupted) waiter.resume(this.#takeFailures() ?? Exit.void)
      })
    )
  )

  /** Host and device have the same memory. */
  readonly migrateUnsafe = (): Exit.Exit<void, GpuError> => {
    const lost = this.#device.operation()
    return lost === undefined ? Exit.void : Exit.fail(lost)
  }

  /** The creation has allocated the memory already. */
  readonly touch: Driver["touch"] = () => this.#alive

  /** Leaves failures of recorded work to the next finish or read. */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    this.#await<void>((waiter) =>
      this.#device.operation() ?? immediate(() => {
        this.#device.memory.settle()
        waiter.resume(Exit.void)
      })
    )
  )

  /** The device may have been lost before the result arrived. */
  readonly #alive: Effect.Effect<void, GpuError> = Effect.suspend(() => this.#device.status.error ?? Effect.void)

  /** Ends a wait for the result at once. */
  readonly #lost: Effect.Effect<never, GpuError> = Effect.callback((resume) => {
    const stop = this.#device.status.onLost((error) => resume(Exit.fail(error)))
    return Effect.sync(stop)
  })

  /** Records a command on buffers of this backend. */
  recordUnsafe(operation: string, command: HostCommand.HostCommand): Exit.Exit<void, GpuError> {
    const problem = this.#device.problem(operation, command.buffers) ?? this.#device.operation()
    if (problem !== undefined) return Exit.fail(problem)
    this.#recorded.push({ command, fault: this.#device.faults.nextCommand() })
    if (this.#recorded.length >= commandsPerFlush) return this.flushUnsafe()
    if (!this.#flushAtEndOfTurn) {
      this.#flushAtEndOfTurn = true
      this.#device.turns.atEnd(this.#endOfTurn)
    }
    return Exit.void
  }

  /** Commands that were recorded for a device that is now lost or closed never run: the flush does nothing. */
  readonly #endOfTurn = (): void => {
    this.#flushAtEndOfTurn = false
    this.flushUnsafe()
  }

  #submit({ command, fault }: Recorded): void {
    this.#submitted += 1
    this.#device.worker.enqueue({ pieces: this.#attempt(command, fault), finished: () => this.#commandsEnded(1) })
  }

  #commandsEnded(count: number): void {
    this.#ended += count
    for (const waiter of this.#positionWaiters) {
      if (waiter.position > this.#ended) continue
      this.#positionWaiters.delete(waiter)
      waiter.done()
    }
  }

  *#attempt(command: HostCommand.HostCommand, fault: string | undefined): Generator<number, void> {
    if (fault !== undefined) return this.#fail("run", fault, [command.label()])
    try {
      yield* command.pieces()
    } catch (cause) {
      this.#fail("run", thrownPlace(cause), [command.label()])
    }
  }

  /** A submit that uses a destroyed buffer fails as a whole, at its place in the queue, as on WebGPU. */
  #refuse(batch: ReadonlyArray<Recorded>): void {
    const destroyed = new Set(batch.flatMap(({ command }) => command.buffers.filter((buffer) => buffer.destroyed)))
    const log = `destroyed before the submit of commands that use it: ${
      [...destroyed].map(({ label }) => label ?? "(no label)").join(", ")
    }`
    this.#submitted += batch.length
    this.#device.worker.enqueue(immediate(() => {
      this.#fail("submit", log, batch.map(({ command }) => command.label()))
      this.#commandsEnded(batch.length)
    }))
  }

  #fail(call: string, log: string, commands: ReadonlyArray<string>): void {
    this.#failures.push({ call, log, commands })
  }

  /** All failures since the last call, as one error: each is reported once. */
  #takeFailures(): GpuError | undefined {
    const failures = this.#failures
    const [first] = failures
    if (first === undefined) return undefined
    this.#failures = []
    const log = failures.map(({ log }) => log).join("; ")
    return driverError(first.call, log, failures.flatMap(({ commands }) => commands))
  }

  #operationAfterFlush(): GpuError | undefined {
    const lost = this.#device.operation()
    if (lost === undefined) this.flushUnsafe()
    return lost ?? this.#device.status.error
  }

  /** The bytes are copied at the read's place in the queue; a free of the memory comes later in the queue. */
  #readUnsafe(source: DeviceBuffer, bytes: number, copy: Reading, answer: ReadAnswer): () => void {
    const delay = this.#device.delay("reads")
    const delayed: ReadAnswer = (result) =>
      answer(
        delay === undefined ?
          result :
          Effect.tap(result, () => Effect.timeoutOrElse(this.#lost, { duration: delay, orElse: () => this.#alive }))
      )
    return this.#begin<ArrayBuffer>((waiter) => {
      const buffer = own(source)
      const problem = this.#device.problem("CommandQueue.read", [buffer])
      if (problem !== undefined) return problem
      this.#device.faults.nextRead()
      return this.#operationAfterFlush() ?? this.#readJob(waiter, bytes, (result) => copy(buffer, result))
    }, delayed)
  }

  #readJob(
    waiter: Waiter<ArrayBuffer>,
    bytes: number,
    copy: (result: ArrayBuffer) => Generator<number, void>
  ): Job {
    let result: ArrayBuffer | GpuError | undefined
    const start = () => {
      if (!waiter.interrupted) result = this.#takeFailures() ?? allocate(bytes) ?? outOfMemory(bytes)
    }
    const pieces = function*() {
      start()
      try {
        if (result instanceof ArrayBuffer) yield* copy(result)
      } catch (cause) {
        result = driverError("read", messageOf(cause), [])
      }
    }
    const finished = () => {
      if (result !== undefined) waiter.resume(isGpuError(result) ? result : Exit.succeed(result))
    }
    return { pieces: pieces(), finished }
  }

  #await<A>(makeJob: (waiter: Waiter<A>) => Job | GpuError): Effect.Effect<A, GpuError> {
    return Effect.callback<A, GpuError>((resume) => Effect.sync(this.#begin(makeJob, resume)))
  }

  /**
   * Waits for a job's place in the queue. It is created and queued in one step, so that the device cannot be lost
   * between the two. A fiber that gives up leaves the job in the queue, where it takes no failures from others.
   */
  #begin<A>(makeJob: (waiter: Waiter<A>) => Job | GpuError, resume: Waiter<A>["resume"]): () => void {
    const waiter: Waiter<A> = { resume, interrupted: false }
    const job = makeJob(waiter)
    if (isGpuError(job)) resume(job)
    else {
      this.#device.worker.enqueue({ ...job, abandoned: (error) => resume(Exit.fail(error)) })
      this.#device.worker.run()
    }
    return () => {
      waiter.interrupted = true
    }
  }
}

/** A mistake in a kernel's body, or memory that the program has transferred meanwhile. */

/** Whose it is is checked before, and again with the command. */
const own = (buffer: DeviceBuffer): HostBuffer => buffer as HostBuffer
