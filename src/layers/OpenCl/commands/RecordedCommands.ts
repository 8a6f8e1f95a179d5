/**
 * The commands of one in-order queue that have not been seen to end: their events, the memory that they use, and what
 * to call them when they fail.
 *
 * @internal
 */
import type { CommandLabel } from "../../../domain/arguments/CommandLabel.ts"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { Dispatch } from "../../../services/device/QueueDriver.ts"
import * as InfoQuery from "../InfoQuery.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, onDevice } from "../OpenClError.ts"

const CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3
const CL_COMPLETE = 0
const CL_PROFILING_COMMAND_QUEUED = 0x1280
const CL_PROFILING_COMMAND_SUBMIT = 0x1281
const CL_PROFILING_COMMAND_START = 0x1282
const CL_PROFILING_COMMAND_END = 0x1283

/** One command. */
export interface Command {
  readonly label: CommandLabel
  /** Host memory that the driver reads or writes until the command ends. */
  readonly memory?: ArrayBuffer | undefined
  /** The device memory that it uses: when it fails, that memory may not exist. */
  readonly buffers?: ReadonlyArray<DeviceBuffer> | undefined
  readonly images?: ReadonlyArray<DeviceImage> | undefined
  /** It only waits for another queue, which reports its own failures. */
  readonly onlyWaits?: boolean | undefined
  /**
   * Called with the failure, for callers that need the outcome of this command: `takeError` returns each failure only
   * once.
   */
  readonly failed?: ((code: number) => void) | undefined
  /** Called when it has run, with the seconds that the device spent on it, and those before, if the queue is profiled. */
  readonly timed?: Dispatch["timed"]
}

const seconds = (nanoseconds: bigint): number => Number(nanoseconds) / 1e9

/** A command under way, with the event of its end. */
interface Recorded {
  readonly event: bigint
  readonly command: Command
}

interface Failure {
  readonly call: string
  readonly code: number
  readonly labels: ReadonlyArray<string>
}

const longCommands = 256
const longBytes = 4 * 1024 * 1024

/** Ended commands are removed from the list when they are so many, and at least half of it. */
const cutAt = 1024

/** Commands in queue order. They are counted: the n-th recorded command has ended once `ended` is at least n. */
export class RecordedCommands {
  readonly #api: OpenClApi
  readonly #status: DeviceStatus
  readonly #objects: DriverObjects
  readonly #statusValue = new Int32Array(new ArrayBuffer(4))
  /** A list of events for the driver, which reads it within the call. */
  #events = new BigUint64Array(new ArrayBuffer(8 * 64))
  #commands: Array<Recorded> = []
  /** Index of the oldest command that has not ended. */
  #first = 0
  #ended = 0
  /** Bytes of host memory that the commands use. */
  #memoryBytes = 0
  #failures: Array<Failure> = []
  /** The failure that lost the device, until the device's status has it. */
  #loss: Failure | undefined
  /** Memory of commands whose end is unknown: the driver may still use it, so it is never released. */
  readonly #abandoned: Array<ArrayBuffer> = []
  /** Memory that the first `until` recorded commands may use, in queue order. */
  readonly #kept: Array<{ readonly until: number; readonly memory: ArrayBuffer }> = []

  constructor(api: OpenClApi, status: DeviceStatus, objects: DriverObjects) {
    this.#api = api
    this.#status = status
    this.#objects = objects
  }

  /** How many commands were recorded. */
  get recorded(): number {
    return this.#ended + this.#commands.length - this.#first
  }

  /** How many of them have been seen to end. */
  get ended(): number {
    return this.#ended
  }

  /** The labels of the commands that have not been seen to end. */
  get labels(): ReadonlyArray<string> {
    return this.#commands.slice(this.#first).map(({ command }) => command.label())
  }

  /** The event of the `position`-th recorded command, which must not have been seen to end. */
  eventOf(position: number): bigint {
    return this.#commands[this.#first + position - this.#ended - 1]!.event
  }

  /** The events of those of the first `position` commands whose status is not complete now. */
  unendedUpTo(position: number): BigUint64Array<ArrayBuffer> {
    const commands = this.#commands.slice(this.#first, this.#first + position - this.#ended)
    const events = commands.map(({ event }) => event).filter((event) => this.#statusOf(event) > CL_COMPLETE)
    const list = new BigUint64Array(new ArrayBuffer(8 * events.length))
    list.set(events)
    return list
  }

  /** Takes over an event that the driver has just given for a command. */
  add(event: bigint, command: Command): void {
    const { memory } = command
    this.#objects.add("event")
    this.#commands.push({ event, command })
    if (memory !== undefined) this.#memoryBytes += memory.byteLength
  }

  /** Keeps memory for as long as the commands recorded so far may use it. */
  keep(memory: ArrayBuffer): void {
    if (this.recorded > this.#ended) this.#kept.push({ until: this.recorded, memory })
  }

  /** Remembers the failure of a call that belongs to no command's event. */
  fail(call: string, code: number): void {
    this.#addFailure({ call, code, labels: this.labels })
    this.#reportLoss()
  }

  /**
   * Whether commands under way keep so much memory that it pays to ask which have ended. Each question is a call, and
   * takes locks that the driver's own threads need.
   */
  get isLong(): boolean {
    return this.#commands.length - this.#first >= longCommands || this.#memoryBytes >= longBytes
  }

  /** Releases the commands at the front that have ended. */
  sweep(): void {
    this.#endEnded()
    this.#reportLoss()
  }

  /** Releases the commands up to the `target`-th, after a wait for all of them that returned `code`. */
  settle(target: number, code: number): void {
    const commands = this.#commands.slice(this.#first, this.#first + target - this.#ended)
    const statuses = this.#synchronized(commands.map(({ event }) => this.#statusOf(event)))
    commands.forEach((recorded, index) => {
      const status = statuses[index]!
      const { memory } = recorded.command
      if (status > CL_COMPLETE) {
        if (memory !== undefined) this.#abandoned.push(memory)
        this.#abandoned.push(...this.#kept.map((kept) => kept.memory))
        this.#kept.length = 0
      }
      this.#end(recorded, status > CL_COMPLETE ? code : status)
    })
    this.sweep()
  }

  /**
   * The error of everything that failed since the last call. Each failure is returned once, so that it is reported in
   * one place.
   */
  takeError(): GpuError | undefined {
    const [first] = this.#failures
    if (first === undefined) return undefined
    const failures = this.#failures
    this.#failures = []
    // A command that only waited for a failed one is not the cause.
    const cause = failures.find((failure) => failure.code !== OpenClCode.waitedEventFailed) ?? first
    return driverError({
      call: cause.call,
      code: cause.code,
      log: failures.length === 1 ? "recorded work failed" : `recorded work failed in ${failures.length} places`,
      commands: failures.flatMap((failure) => failure.labels)
    })
  }

  #statusOf(event: bigint): number {
    const code = this.#api.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4, this.#statusValue, null)
    return code === OpenClCode.success ? this.#statusValue[0]! : code
  }

  #endEnded(): void {
    const statuses: Array<number> = []
    for (let at = this.#first; at < this.#commands.length; at++) {
      const status = this.#statusOf(this.#commands[at]!.event)
      if (status > CL_COMPLETE) break
      statuses.push(status)
    }
    for (const status of this.#synchronized(statuses)) this.#end(this.#commands[this.#first]!, status)
  }

  /**
   * Waits for those of the oldest commands whose status is complete, so that the host sees what they have left in its memory:
   * a status is no synchronization point of OpenCL, and there are drivers that store the bytes of a read only when
   * somebody waits for it. This wait is not for the device. Returns the statuses, with its code where it fails.
   *
   * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clGetEventInfo
   */
  #synchronized(statuses: ReadonlyArray<number>): ReadonlyArray<number> {
    if (this.#events.length < statuses.length) {
      this.#events = new BigUint64Array(new ArrayBuffer(8 * 2 * statuses.length))
    }
    let count = 0
    statuses.forEach((status, index) => {
      if (status === CL_COMPLETE) this.#events[count++] = this.#commands[this.#first + index]!.event
    })
    if (count === 0) return statuses
    const code = this.#api.clWaitForEvents(count, this.#events)
    return code === OpenClCode.success ? statuses : statuses.map((status) => status === CL_COMPLETE ? code : status)
  }

  #end({ command, event }: Recorded, status: number): void {
    if (status < CL_COMPLETE && command.onlyWaits !== true) this.#failed(command, status)
    if (command.timed !== undefined && status === CL_COMPLETE) this.#reportTime(command.timed, event)
    if (this.#api.clReleaseEvent(event) === OpenClCode.success) this.#objects.remove("event")
    if (command.memory !== undefined) this.#memoryBytes -= command.memory.byteLength
    this.#ended += 1
    this.#first += 1
    while (this.#kept[0] !== undefined && this.#kept[0].until <= this.#ended) this.#kept.shift()
    if (this.#first === this.#commands.length || (this.#first >= cutAt && this.#first * 2 >= this.#commands.length)) {
      this.#commands = this.#commands.slice(this.#first)
      this.#first = 0
    }
  }

  /**
   * Reports how long a command ran, and how long it waited. Queues without profiling have no times, and some drivers return nonsense for
   * commands that never began.
   */
  #reportTime(timed: NonNullable<Dispatch["timed"]>, event: bigint): void {
    const at = (what: number) => InfoQuery.word(this.#api.clGetEventProfilingInfo, event, what)
    const begun = at(CL_PROFILING_COMMAND_START)
    const ended = begun === undefined ? undefined : at(CL_PROFILING_COMMAND_END)
    if (begun === undefined || ended === undefined || ended < begun) return
    const [queued, submitted] = [at(CL_PROFILING_COMMAND_QUEUED), at(CL_PROFILING_COMMAND_SUBMIT)]
    const isOrdered = queued !== undefined && submitted !== undefined && queued <= submitted && submitted <= begun
    const waits = isOrdered ? { queued: seconds(submitted - queued), submitted: seconds(begun - submitted) } : undefined
    timed(seconds(ended - begun), waits)
  }

  #failed(command: Command, code: number): void {
    for (const buffer of command.buffers ?? []) buffer.distrust()
    for (const image of command.images ?? []) image.distrust()
    command.failed?.(code)
    this.#addFailure({ call: "a command", code, labels: [command.label()] })
  }

  #addFailure(failure: Failure): void {
    this.#failures.push(failure)
    if (OpenClCode.isDeviceLost(failure.code)) this.#loss ??= failure
  }

  /**
   * Marks the device as lost. Must be a method's last action: a subscriber may at once sweep, wait, or close the layer,
   * and would release the event of a half-ended command a second time.
   */
  #reportLoss(): void {
    const loss = this.#loss
    if (loss === undefined) return
    this.#loss = undefined
    onDevice(this.#status, { ...loss, commands: loss.labels })
  }
}
