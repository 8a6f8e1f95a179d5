/**
 * The queue of a WebGPU device: records commands, submits them in flushes, and follows each flush's errors.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type * as Scope from "effect/Scope"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { LazyModule } from "../../../services/calls/LazyModule.ts"
import { commandsPerFlush, type QueueDriver, type ReadAnswer } from "../../../services/device/QueueDriver.ts"
import type { UniformRing } from "../kernels/UniformRing.ts"
import type { WebGpuKernel } from "../kernels/WebGpuKernel.ts"
import { awaitEnd } from "../opening/AwaitDevice.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf, type WebGpuBuffer } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { writeBytes } from "./ByteCopies.ts"
import { type EncodedCommand, type Pattern, Temporaries } from "./EncodedCommand.ts"
import { inScopes, type ScopedFailure } from "./ErrorScopes.ts"
import { FillPattern, type Words } from "./FillPattern.ts"
import * as Readback from "./Readback.ts"
import { ReadBuffers } from "./ReadBuffers.ts"
import { RecordedCommands } from "./RecordedCommands.ts"
import type { Scratch } from "./Scratch.ts"
import { submitNothing, SubmittedWork } from "./SubmittedWork.ts"

export const make = (
  opened: OpenDevice,
  later: LazyModule<ScratchPart>,
  rectangles: Rectangles
): Effect.Effect<WebGpuQueue, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new WebGpuQueue(opened, later, rectangles)),
    (queue) => Effect.sync(() => queue.close())
  )

type Driver = QueueDriver["Service"]

/** A program that does not wait has several submits under way. */
const mostSpare = 16

/** The code of scratch memory, which is loaded before the first buffer is split or bound. */
export interface ScratchPart {
  readonly Scratch: new(opened: OpenDevice) => Scratch
}

/** The commands on rectangles of a queue, which some layers leave out. */
export type Rectangles = (
  queue: WebGpuQueue,
  opened: OpenDevice
) => Pick<Driver, "copyRectUnsafe" | "writeRectUnsafe" | "readRectUnsafe">

/** A read in a submit, as {@link Readback.Submit} has it. */
interface SubmittedReading {
  readonly label: CommandLabel.CommandLabel
  readonly encode: (encoder: WebGpuHandle.CommandEncoder) => void
  readonly submitted: () => void
}

export class WebGpuQueue implements Driver {
  readonly #opened: OpenDevice
  readonly #device: WebGpuHandle.Device
  /** Set by the first dispatch. */
  #uniforms: UniformRing | undefined
  readonly #pattern: FillPattern
  readonly #scratch: LazyModule<Scratch>
  readonly #temporaries: Temporaries
  readonly #reads: ReadBuffers
  readonly #work: SubmittedWork
  #commands = new RecordedCommands()
  /** Whether a microtask will submit them. */
  #isFlushedSoon = false
  /** Empty lists, of submits that have ended. */
  readonly #spare: Array<RecordedCommands> = []
  readonly copyRectUnsafe!: Driver["copyRectUnsafe"]
  readonly writeRectUnsafe!: Driver["writeRectUnsafe"]
  readonly readRectUnsafe!: Driver["readRectUnsafe"]

  constructor(opened: OpenDevice, later: LazyModule<ScratchPart>, rectangles: Rectangles) {
    this.#opened = opened
    this.#device = opened.device
    this.#pattern = new FillPattern(opened)
    this.#scratch = later.map(({ Scratch }) => new Scratch(opened))
    this.#temporaries = new Temporaries(opened, this.#scratch)
    this.#reads = new ReadBuffers(opened)
    this.#work = new SubmittedWork(opened.device.queue)
    Object.assign(this, rectangles(this, opened))
  }

  readonly writeUnsafe: Driver["writeUnsafe"] = (target, offset, data) =>
    this.write(
      "GPUQueue.writeBuffer",
      CommandLabel.write(data.byteLength, target),
      () => writeBytes(this.#device.queue, gpuOf(target), target.origin + offset, data)
    )

  /** Writes by calls of the device. Recorded work is submitted first, since the device does a write when it is called. */
  write(call: string, label: CommandLabel.CommandLabel, calls: () => void): Exit.Exit<void, GpuError> {
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    this.#follow(call, inScopes(this.#device, calls), () => [label()])
    return Exit.void
  }

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, sourceOffset, target, targetOffset, bytes) => {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    this.#commands.copy(source, sourceOffset, target, targetOffset, bytes)
    return this.#recorded()
  }

  /** The number of the next submit where commands are recorded, else that of the last one. */
  readonly positionUnsafe = (): number => this.#work.submitted + (this.#commands.length === 0 ? 0 : 1)

  readonly endedUnsafe = (): number => {
    this.#work.ask()
    return this.#work.ended
  }

  readonly awaitPosition: Driver["awaitPosition"] = (position) =>
    Effect.andThen(this.awaitEnded(position), this.recorded)

  /** Submits only what the position needs: later commands wait for the microtask that submits them. */
  readonly awaitEnded: Driver["awaitEnded"] = (position) => {
    const flushed = Effect.suspend(() =>
      position > this.#work.submitted ? this.flushUnsafe() : this.#opened.status.error ?? Effect.void
    )
    const worked = Effect.suspend(() => this.#work.ended >= position ? Effect.void : this.#worked)
    return Effect.andThen(flushed, worked)
  }

  /** Counts a submit or a write that has just been made, and follows what becomes of it. */
  #follow(
    call: string,
    scopes: Promise<ReadonlyArray<ScopedFailure>>,
    onFailure: () => ReadonlyArray<string>
  ): void {
    this.#work.submitted += 1
    this.#opened.failures.follow(call, scopes, onFailure)
  }

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, offset, bytes, pattern) =>
    this.fillWideUnsafe(target, offset, bytes, [pattern])

  readonly fillWideUnsafe: Driver["fillWideUnsafe"] = (target, offset, bytes, patterns) => {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    let source: Pattern | undefined
    if (patterns.length > 1 || patterns[0] !== 0) {
      const made = this.pattern(patterns, bytes)
      if (Exit.isFailure(made) || made.value === undefined) return Exit.asVoid(made)
      source = made.value
    }
    this.#commands.fill(target, offset, bytes, source)
    return this.#recorded()
  }

  /**
   * The source of a fill of `bytes` bytes, at least `least` bytes large; to be recorded in the same synchronous step.
   * `undefined` where the driver failed to make it, which the next finish reports.
   */
  pattern(words: Words, bytes: number, least?: number): Exit.Exit<Pattern | undefined, GpuError> {
    const known = this.#pattern.known(words, bytes, least)
    if (known !== undefined) return Exit.succeed(known)
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return Exit.failCause(flushed.cause)
    const scopes = inScopes(this.#device, () => this.#pattern.write(words, bytes, least))
    this.#follow("GPUQueue.writeBuffer", scopes, () => {
      this.#distrust()
      return ["the pattern of a fill"]
    })
    return Exit.succeed(this.#pattern.known(words, bytes, least))
  }

  readonly dispatchUnsafe: Driver["dispatchUnsafe"] = (dispatch) => {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    const kernel = dispatch.compiled as WebGpuKernel
    const problem = kernel.record(dispatch, this.#uniforms ??= kernel.uniformRing(), this.#commands)
    return problem === undefined ? this.#recorded() : Exit.fail(problem)
  }

  record(command: EncodedCommand): Exit.Exit<void, GpuError> {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    this.#commands.add(command)
    return this.#recorded()
  }

  /** To be called when a command was added. */
  #recorded(): Exit.Exit<void, GpuError> {
    if (!this.#isFlushedSoon) {
      this.#isFlushedSoon = true
      queueMicrotask(this.#flushSoon)
    }
    return this.#commands.length < commandsPerFlush ? Exit.void : this.flushUnsafe()
  }

  readonly flushUnsafe = (): Exit.Exit<void, GpuError> => {
    const error = this.#opened.status.error
    if (error !== undefined) return Exit.fail(error)
    if (this.#commands.length === 0) return Exit.void
    void this.#submit()
    this.#reads.unused()
    return Exit.void
  }

  /** Submits what is recorded, and a read after it, in one submit. Without recorded commands the read reports its failures alone. */
  #submit(reading?: SubmittedReading): Promise<ReadonlyArray<ScopedFailure>> {
    const commands = this.#commands
    this.#commands = this.#spare.pop() ?? new RecordedCommands()
    const scopes = inScopes(this.#device, () => {
      try {
        const uniforms = this.#uniforms?.upload()
        const encoder = this.#device.createCommandEncoder()
        commands.encode(encoder, uniforms, this.#temporaries)
        reading?.encode(encoder)
        this.#device.queue.submit([encoder.finish()])
        reading?.submitted()
      } finally {
        this.#temporaries.destroy()
        commands.encoded()
      }
    })
    if (commands.length > 0) {
      this.#follow("GPUQueue.submit", scopes, () => {
        this.#distrust()
        const labels = commands.labels()
        return reading === undefined ? labels : [...labels, reading.label()]
      })
    }
    void scopes.then(() => this.#ended(commands))
    return scopes
  }

  /** Keeps the list of a submit whose failures are known for a later one. */
  #ended(commands: RecordedCommands): void {
    commands.clear()
    if (this.#spare.length < mostSpare) this.#spare.push(commands)
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, offset, bytes, answer) =>
    this.readThroughUnsafe(Readback.ofBuffer(source, offset, bytes), answer)

  readonly mapUnsafe: NonNullable<Driver["mapUnsafe"]> = (buffer, offset, bytes) => {
    const root = buffer.root as WebGpuBuffer
    return root.mapUnsafe === undefined
      ? Exit.succeed(undefined)
      : Exit.map(this.flushUnsafe(), () => root.mapUnsafe?.(buffer.origin + offset, bytes, this.recorded))
  }

  readonly touch = (): Effect.Effect<void> => Effect.void

  /** Reads after recorded work, in its submit. The answer fails with the failures of that work. */
  readThroughUnsafe(reading: Readback.Reading, answer: ReadAnswer): () => void {
    const buffer = this.#reads.take(reading.bytes)
    // The driver may refuse a new buffer, and with it all that is in the submit.
    const flushed = buffer === undefined ? this.flushUnsafe() : Exit.void
    if (Exit.isFailure(flushed)) {
      answer(Exit.failCause(flushed.cause))
      return constVoid
    }
    const isAlone = this.#commands.length === 0
    const position = this.positionUnsafe()
    return Readback.readUnsafe(this.#opened, reading, {
      buffer,
      run: (encode, submitted) => this.#submit({ label: reading.label, encode, submitted }),
      done: (buffer) => this.#reads.keep(buffer)
    }, (bytes) => {
      if (Exit.isSuccess(bytes)) this.#work.endedUpTo(position)
      answer(isAlone && Exit.isFailure(bytes) ? bytes : Effect.andThen(this.recorded, bytes))
    })
  }

  readonly finish: Driver["finish"] = Effect.suspend(() => {
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    this.#work.askAnew()
    return Effect.andThen(this.#worked, this.recorded)
  })

  /** Dawn gives destroyed memory back when a submit that came after the destroy completes. */
  readonly reclaim: Driver["reclaim"] = Effect.suspend(() => {
    const flushed = this.flushUnsafe()
    if (Exit.isFailure(flushed)) return flushed
    this.#scratch.value?.reset()
    this.#reads.reset()
    submitNothing(this.#opened)
    this.#work.askAnew()
    return this.#worked
  })

  /** Drops what was recorded and not submitted. */
  close(): void {
    this.#commands.encoded()
    this.#commands.clear()
    this.#reset()
  }

  /**
   * A microtask runs when the synchronous step that recorded the first command is over: all that a fiber records
   * without waiting goes into one submit. It never outlives the task of the event loop, so it neither keeps the process
   * alive nor meets a closed device.
   */
  readonly #flushSoon = (): void => {
    this.#isFlushedSoon = false
    this.flushUnsafe()
  }

  readonly #worked = Effect.suspend(() =>
    awaitEnd(this.#opened.status, "GPUQueue.onSubmittedWorkDone", () => this.#work.worked())
  )

  /** Fails with what went wrong in earlier flushes and writes. */
  readonly recorded = Effect.suspend(() =>
    Effect.flatMap(
      awaitEnd(this.#opened.status, "GPUDevice.popErrorScope", () => this.#opened.failures.settled),
      () => this.#opened.failures.take() ?? Effect.void
    )
  )

  /**
   * What a failed flush made or used may be invalid itself, so the next one starts afresh; commands recorded meanwhile
   * may name the old pattern and go first. Kept bind groups name the old uniform buffer and no longer match.
   */
  #distrust(): void {
    this.flushUnsafe()
    this.#reset()
  }

  #reset(): void {
    this.#uniforms?.reset()
    this.#pattern.reset()
    this.#reads.reset()
    this.#scratch.value?.reset()
  }
}
