/**
 * The host backend's queue: records commands, submits them together, and reports their failures where they are awaited.
 *
 * @internal
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as CommandLabel from "../../domain/arguments/CommandLabel.ts"
import { messageOf, thrownPlace } from "../../domain/arguments/Format.ts"
import { allocate } from "../../domain/data/HostData.ts"
import { byteLength, packed } from "../../domain/data/RectangleRows.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"
import { commandsPerFlush, type QueueDriver, type ReadAnswer } from "../../services/device/QueueDriver.ts"
import type { CommandMemory } from "../../services/device/queues/MemoryUses.ts"
import { orLost } from "../../services/device/queues/OrLost.ts"
import { queueClosed } from "../../services/device/queues/Queue.ts"
import type { DeviceQueues, OrderedQueue, QueueOrder } from "../../services/device/queues/QueueOrder.ts"
import { copyPieces, copyRectPieces, dispatch, fill, type HostCommand } from "./HostCommand.ts"
import { driverError, type HostDevice } from "./HostDevice.ts"
import type { HostKernel } from "./HostKernel.ts"
import type { HostBuffer } from "./HostMemory.ts"
import { HostWorker, immediate } from "./HostWorker.ts"
import type { HostImage } from "./images/HostImage.ts"

type Driver = QueueDriver["Service"]

/** A command and its planned fault. */
type Recorded = { readonly command: HostCommand; readonly fault: string | undefined }

/** A fiber that waits until the first `position` commands have ended. */
type PositionWaiter = { readonly position: number; readonly done: () => void }

/** How a read copies the bytes of a buffer into its result. */
type Reading = (source: HostBuffer, result: ArrayBuffer) => Generator<number, void>

type Failure = { readonly call: string; readonly log: string; readonly commands: ReadonlyArray<string> }

/** What a queue that the program opens has besides the first one. */
export interface FurtherQueue {
  readonly label: string | undefined
  /** Lost with the device, and ended when the queue closes. */
  readonly status: DeviceStatus
}

export class HostQueue implements Driver, OrderedQueue {
  readonly order: QueueOrder
  readonly #device: HostDevice
  readonly #running: { readonly clock: Clock.Clock; readonly rangeItems: number }
  readonly #status: DeviceStatus
  readonly #worker: HostWorker
  #recorded: Array<Recorded> = []
  /** Failures of commands that have run, until the next finish or read. */
  #failures: Array<Failure> = []
  #willFlush = false
  /** How many commands were submitted, and how many of those have ended. */
  #submitted = 0
  #ended = 0
  readonly #positionWaiters = new Set<PositionWaiter>()
  #forgetLoss: () => void = constVoid

  constructor(
    device: HostDevice,
    /** How kernels run: so many items in one task, and timed by this clock. */
    running: { readonly clock: Clock.Clock; readonly rangeItems: number },
    queues: DeviceQueues,
    further?: FurtherQueue
  ) {
    this.#device = device
    this.#running = running
    this.#status = further?.status ?? device.status
    this.#worker = further === undefined ? device.worker : new HostWorker(device.tasks.next)
    this.order = queues.add(this, further?.label)
    if (further === undefined) {
      device.afterUses = this.#afterUses
      device.waitsForOthers = this.#waitsForOthers
    } else this.#forgetLoss = device.status.onLost((error) => this.#worker.abandon(error))
  }

  /**
   * Like GPUQueue.writeBuffer it is not recorded: the recorded commands are submitted first, then the write at once.
   */
  readonly writeUnsafe: Driver["writeUnsafe"] = (target, offset, data) => {
    const buffer = own(target)
    const problem = this.#device.problem("CommandQueue.write", [buffer]) ?? this.#operation()
    if (problem !== undefined) return Exit.fail(problem)
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    const ordered = this.#inOrder({ buffers: [buffer] })
    if (Exit.isFailure(ordered)) return ordered
    const fault = this.#device.faults.calls.commands.next()
    if (fault === undefined && this.#worker.idle) new Uint8Array(buffer.memory, buffer.base + offset).set(data)
    else {
      const kept = data.slice()
      const command = {
        label: CommandLabel.write(kept.byteLength, buffer),
        buffers: [buffer],
        pieces: () => copyPieces(kept.buffer, 0, buffer.memory, buffer.base + offset, kept.byteLength)
      }
      this.#submit({ command, fault })
      this.#noteUse(command)
    }
    this.#worker.run()
    return Exit.void
  }

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, sourceOffset, target, targetOffset, bytes) => {
    const [from, to] = [own(source), own(target)]
    return this.recordUnsafe("CommandQueue.copy", {
      label: CommandLabel.copy(bytes, from, to),
      buffers: [from, to],
      pieces: () => copyPieces(from.memory, from.base + sourceOffset, to.memory, to.base + targetOffset, bytes)
    })
  }

  readonly copyRectUnsafe: Driver["copyRectUnsafe"] = (extent, source, from, target, to) => {
    const [here, there] = [own(source), own(target)]
    return this.recordUnsafe("CommandQueue.copyRect", {
      label: CommandLabel.copyRect(extent, here, there),
      buffers: [here, there],
      pieces: () => copyRectPieces(extent, here, from, there, to)
    })
  }

  readonly writeRectUnsafe: Driver["writeRectUnsafe"] = (extent, target, to, rows) => {
    const [here, there] = [{ memory: rows.buffer, base: rows.byteOffset }, own(target)]
    return this.recordUnsafe("CommandQueue.writeRect", {
      label: CommandLabel.writeRect(extent, there),
      buffers: [there],
      pieces: () => copyRectPieces(extent, here, packed(extent), there, to)
    })
  }

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, offset, bytes, pattern) =>
    this.fillWideUnsafe(target, offset, bytes, [pattern])

  readonly fillWideUnsafe: Driver["fillWideUnsafe"] = (target, offset, bytes, patterns) => {
    const extent = [bytes, 1, 1] as const
    const element = new Uint8Array(Uint32Array.from(patterns).buffer)
    const place = { ...packed(extent), offset }
    return this.recordUnsafe("CommandQueue.fill", fill(own(target), extent, place, element))
  }

  readonly dispatchUnsafe: Driver["dispatchUnsafe"] = (given) => {
    const buffers = [
      ...given.vectors.map(({ buffer }) => own(buffer)),
      ...given.images.map((image) => (image as HostImage).buffer)
    ]
    return this.recordUnsafe(
      "CommandQueue.dispatch",
      dispatch(given.compiled as HostKernel, given, buffers, this.#running)
    )
  }

  readonly flushUnsafe: Driver["flushUnsafe"] = () => {
    const batch = this.#recorded
    if (batch.length === 0) return Exit.void
    if (this.#status.error !== undefined) return Exit.fail(this.#status.error)
    this.#recorded = []
    if (batch.some(({ command }) => command.buffers.some((buffer) => buffer.destroyed))) this.#refuse(batch)
    else for (const recorded of batch) this.#submit(recorded)
    this.#worker.run()
    return Exit.void
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, offset, bytes, answer) =>
    this.#readUnsafe(
      source,
      bytes,
      (own, result) => copyPieces(own.memory, own.base + offset, result, 0, bytes),
      answer
    )

  readonly readRectUnsafe: Driver["readRectUnsafe"] = (extent, source, from, answer) =>
    this.#readUnsafe(
      source,
      byteLength(extent),
      (own, result) => copyRectPieces(extent, own, from, { memory: result, base: 0 }, packed(extent)),
      answer
    )

  readonly positionUnsafe: Driver["positionUnsafe"] = () => this.#submitted + this.#recorded.length

  readonly endedUnsafe: Driver["endedUnsafe"] = () => this.#ended

  readonly awaitPosition: Driver["awaitPosition"] = (position) =>
    Effect.flatMap(this.awaitEnded(position), () => this.#takeFailures() ?? Exit.void)

  readonly awaitEnded: Driver["awaitEnded"] = (position) =>
    Effect.suspend(() => {
      const lost = this.#operationAfterFlush()
      if (lost !== undefined || this.#ended >= position) return lost ?? Exit.void
      return orLost(this.#status, (done) => {
        const waiter = { position, done }
        this.#positionWaiters.add(waiter)
        return () => {
          this.#positionWaiters.delete(waiter)
        }
      })
    })

  /** Nothing to mark: programs get no raw handle of this queue. */
  readonly markUnsafe = constVoid

  /** Enqueues a job that blocks this queue until `other` has ended the commands up to `position`. */
  readonly waitForUnsafe: OrderedQueue["waitForUnsafe"] = (other, position) => {
    const there = other as HostQueue
    // A lost device never runs what it has not run yet.
    if (this.#status.error !== undefined) return Exit.fail(this.#status.error)
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    const flushedThere = there.flushUnsafe()
    if (Exit.isFailure(flushedThere)) return flushedThere
    there.#positionWaiters.add({ position, done: () => this.#device.wake(this.#worker) })
    this.#submitted += 1
    this.#worker.enqueue({
      ...immediate(() => this.#commandsEnded(1)),
      isReady: () => there.#ended >= position
    })
    this.#worker.run()
    return Exit.void
  }

  readonly finish: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    this.#operationAfterFlush() ??
      this.#worker.wait(() => this.#status.error ?? this.#takeFailures() ?? Exit.void, this.#settle)
  )

  /** Host and device have the same memory. */
  readonly migrateUnsafe = (): Exit.Exit<void, GpuError> => {
    const lost = this.#operation()
    return lost === undefined ? Exit.void : Exit.fail(lost)
  }

  /** The creation has allocated the memory already. */
  readonly touch: Driver["touch"] = () => this.#alive

  /** Leaves failures of recorded work to the next finish or read. */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    (this.order.queues.first.queue as HostQueue).#settled
  )

  /** Frees memory in the order of the first queue. */
  readonly #settled: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    this.#operation() ?? this.#worker.wait(() => Exit.void, this.#settle)
  )

  readonly #settle = (): void => this.#device.memory.settle()

  /** The device may have been lost before the result arrived. */
  readonly #alive: Effect.Effect<void, GpuError> = Effect.suspend(() => this.#status.error ?? Effect.void)

  /** Never succeeds; fails when the device is lost, which ends a wait for a result. */
  readonly #lost: Effect.Effect<never, GpuError> = Effect.callback((resume) => {
    const stop = this.#status.onLost((error) => resume(Exit.fail(error)))
    return Effect.sync(stop)
  })

  /** Ends a further queue: later calls fail with its error, and submitted commands still run. */
  readonly close: Effect.Effect<void> = Effect.callback((resume) => {
    this.flushUnsafe()
    this.#status.end(queueClosed(this.order.label))
    const ended = () => {
      this.#forgetLoss()
      this.order.queues.remove(this.order)
      resume(Exit.void)
    }
    this.#worker.enqueue({ ...immediate(ended), abandoned: ended })
    this.#worker.run()
  })

  /** Records a command on buffers of this backend. */
  recordUnsafe(operation: string, command: HostCommand): Exit.Exit<void, GpuError> {
    const problem = this.#device.problem(operation, command.buffers) ?? this.#operation()
    if (problem !== undefined) return Exit.fail(problem)
    const ordered = this.#inOrder(command)
    if (Exit.isFailure(ordered)) return ordered
    this.#recorded.push({ command, fault: this.#device.faults.calls.commands.next() })
    this.#noteUse(command)
    if (this.#recorded.length >= commandsPerFlush) return this.flushUnsafe()
    if (!this.#willFlush) {
      this.#willFlush = true
      this.#device.tasks.atEnd(this.#flushSoon)
    }
    return Exit.void
  }

  /** Commands that were recorded for a device that is now lost or closed never run: the flush does nothing. */
  readonly #flushSoon = (): void => {
    this.#willFlush = false
    this.flushUnsafe()
  }

  /** Makes this queue wait for commands of the memory's earlier owners on other queues. */
  #inOrder(memory: CommandMemory): Exit.Exit<void, GpuError> {
    return this.order.queues.several ? this.order.before(memory) : Exit.void
  }

  /** Notes that the command recorded last uses the memory. */
  #noteUse(memory: CommandMemory): void {
    if (this.order.queues.several) this.order.recorded(memory, this.positionUnsafe())
  }

  /**
   * Whether earlier owners used the buffer on other queues. This queue then waits for those, and the program for this
   * queue.
   */
  readonly #waitsForOthers = (buffer: HostBuffer): boolean => {
    const { queues } = this.order
    if (!queues.several || !queues.usesOf(buffer).some((uses) => uses.isFormerlyUsedBeside(this.order))) return false
    return Exit.isSuccess(this.order.before({ buffers: [buffer] }))
  }

  /**
   * Calls `done` after the uses on all queues: the first queue waits for the others, since memory is freed in its
   * order.
   */
  readonly #afterUses = (buffer: HostBuffer, done: () => void): void => {
    const memory = { buffers: [buffer] }
    const { queues } = this.order
    if (queues.several) {
      queues.handOver(buffer)
      // It fails only on a lost device, where nothing runs any more.
      this.order.before(memory)
    }
    if (this.#worker.idle) return done()
    if (!queues.several) return this.#worker.enqueue({ ...immediate(done), abandoned: done })
    this.flushUnsafe()
    this.#submitted += 1
    const finished = () => {
      done()
      this.#commandsEnded(1)
    }
    this.#worker.enqueue({ ...immediate(finished), abandoned: done })
    this.#noteUse(memory)
  }

  #submit({ command, fault }: Recorded): void {
    this.#submitted += 1
    this.#worker.enqueue({ pieces: this.#attempt(command, fault), finished: () => this.#commandsEnded(1) })
  }

  #commandsEnded(count: number): void {
    this.#ended += count
    for (const waiter of this.#positionWaiters) {
      if (waiter.position > this.#ended) continue
      this.#positionWaiters.delete(waiter)
      waiter.done()
    }
  }

  *#attempt(command: HostCommand, fault: string | undefined): Generator<number, void> {
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
    this.#worker.enqueue(immediate(() => {
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
    const lost = this.#operation()
    if (lost === undefined) this.flushUnsafe()
    return lost ?? this.#status.error
  }

  #operation(): GpuError | undefined {
    return this.#status.error ?? this.#device.operation()
  }

  /**
   * The bytes are copied at the read's place in the queue; a free of the memory comes later in the queue. A read that is
   * cancelled stays in the queue and leaves the failures to other fibers.
   */
  #readUnsafe(source: DeviceBuffer, bytes: number, copy: Reading, answer: ReadAnswer): () => void {
    const buffer = own(source)
    const delay = this.#device.delay("reads")
    const delayed: ReadAnswer = (result) =>
      answer(
        delay === undefined ?
          result :
          Effect.tap(result, () => Effect.timeoutOrElse(this.#lost, { duration: delay, orElse: () => this.#alive }))
      )
    const problem = this.#readProblem(buffer)
    if (problem !== undefined) {
      delayed(problem)
      return constVoid
    }
    let isCancelled = false
    let result: ArrayBuffer | GpuError | undefined
    const start = () => {
      if (!isCancelled) result = this.#takeFailures() ?? allocate(bytes) ?? outOfMemory(bytes)
    }
    const pieces = function*() {
      start()
      try {
        if (result instanceof ArrayBuffer) yield* copy(buffer, result)
      } catch (cause) {
        result = driverError("read", messageOf(cause), [])
      }
    }
    const finished = () => {
      this.#commandsEnded(1)
      const ended = this.#status.error ?? result
      if (ended !== undefined) delayed(isGpuError(ended) ? ended : Exit.succeed(ended))
    }
    this.#submitted += 1
    this.#noteUse({ buffers: [buffer] })
    this.#worker.enqueue({ pieces: pieces(), finished, abandoned: (error) => delayed(Exit.fail(error)) })
    this.#worker.run()
    return () => {
      isCancelled = true
    }
  }

  #readProblem(buffer: HostBuffer): GpuError | undefined {
    const problem = this.#device.problem("CommandQueue.read", [buffer])
    if (problem !== undefined) return problem
    this.#device.faults.calls.reads.next()
    const lost = this.#operationAfterFlush()
    if (lost !== undefined) return lost
    // This fails only when the device is lost or the queue has ended.
    return Exit.isFailure(this.#inOrder({ buffers: [buffer] })) ? this.#status.error : undefined
  }
}

/** Callers check the owner, before or after this cast. */
const own = (buffer: DeviceBuffer): HostBuffer => buffer as HostBuffer
