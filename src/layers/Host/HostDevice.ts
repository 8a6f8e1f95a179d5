/**
 * One open host device: its memory, its worker, and the faults that a test planned for it.
 *
 * @internal
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import * as DriverHint from "../../domain/device/DriverHint.ts"
import { DriverObjects } from "../../domain/device/DriverObjects.ts"
import { driverError as makeDriverError, type GpuError, invalidRequest, outOfMemory } from "../../domain/GpuError.ts"
import type { TaskQueue } from "../../services/calls/Tasks.ts"
import type { DeviceBuffer, Part } from "../../services/device/DeviceBuffer.ts"
import type { HostMode } from "../../services/device/DeviceContext.ts"
import type { DeviceSampler } from "../../services/device/DeviceSampler.ts"
import type { Delays, Faults } from "./Faults.ts"
import { HostBuffer, type HostMemory } from "./HostMemory.ts"
import { HostWorker } from "./HostWorker.ts"

/** The failure of a call or command, as a driver would report it. */
export const driverError = (call: string, log: string, commands: ReadonlyArray<string>): GpuError =>
  makeDriverError({
    backend: "host",
    call,
    log,
    commands,
    hint: DriverHint.forCommands(commands)
  })

export class HostDevice {
  readonly info: DeviceInfo
  readonly faults: Faults
  readonly status = new DeviceStatus("host")
  readonly driverObjects = new DriverObjects()
  readonly tasks: TaskQueue
  readonly worker: HostWorker
  readonly memory: HostMemory
  readonly #latency: Duration.Duration | undefined
  /** Buffers that were not destroyed. */
  readonly #live = new Set<HostBuffer>()
  readonly #samplers = new Set<DeviceSampler>()
  readonly #woken: Array<HostWorker> = []
  readonly #detach: () => void

  constructor(options: {
    readonly info: DeviceInfo
    readonly faults: Faults
    readonly latency: Duration.Duration | undefined
    readonly memory: HostMemory
    readonly tasks: TaskQueue
  }) {
    this.info = options.info
    this.tasks = options.tasks
    this.worker = new HostWorker(options.tasks.next)
    this.faults = options.faults
    this.memory = options.memory
    this.#latency = options.latency
    this.#detach = this.faults.attach(this.status)
    this.status.onLost((error) => this.worker.abandon(error))
    this.driverObjects.add("device")
  }

  /** Counts an operation; the error if the device is lost, by this operation or before. */
  operation(): GpuError | undefined {
    if (this.status.error === undefined) this.faults.operation(this.status)
    return this.status.error
  }

  delay(kind: keyof Delays): Duration.Duration | undefined {
    return this.faults.delayOf(kind) ?? this.#latency
  }

  /** The error of using these buffers, or `undefined`. */
  problem(operation: string, buffers: ReadonlyArray<HostBuffer>): GpuError | undefined {
    return buffers.some(({ isTaken }) => isTaken) ? takenProblem(operation) : undefined
  }

  /**
   * Resumes a worker that waits for another queue. Workers that wake each other run one after the other, not nested.
   */
  wake(worker: HostWorker): void {
    this.#woken.push(worker)
    if (this.#woken.length > 1) return
    while (this.#woken.length > 0) {
      this.#woken[0]!.run()
      this.#woken.shift()
    }
  }

  /** Waits until what is submitted now has run. */
  readonly settled: Effect.Effect<void, GpuError> = Effect.suspend(() => this.worker.wait(() => Exit.void))

  /**
   * Whether commands of earlier owners on further queues may still use a buffer; the first queue then waits for them.
   * Set by the first queue.
   */
  waitsForOthers: (buffer: HostBuffer) => boolean = () => false

  /** Does something once all submitted commands on a buffer have run; at once if there are none. Set by the first queue. */
  afterUses: (buffer: HostBuffer, done: () => void) => void = (_, done) => done()

  readonly createBuffer = (
    bytes: number,
    usage: BufferUsage,
    label?: string | undefined,
    isDeferred = false,
    kind: HostBuffer["kind"] = "buffer"
  ): Effect.Effect<HostBuffer, GpuError> => {
    const create = () => this.#create(bytes, kind, () => this.memory.create(this.info, bytes, usage, label))
    return isDeferred ? Effect.suspend(create) : this.#afterDelay(create)
  }

  readonly createFromHost = (
    data: Uint8Array<ArrayBuffer>,
    mode: HostMode,
    usage: BufferUsage,
    label?: string | undefined,
    kind: HostBuffer["kind"] = "buffer"
  ): Effect.Effect<HostBuffer, GpuError> => {
    const { byteLength } = data
    if (mode === "use") {
      return Effect.suspend(() =>
        this.#create(data.byteLength, kind, () => HostBuffer.using(this.info, data, usage, label))
      )
    }
    // Creates and copies in one step: between two steps the layer may close and free the memory.
    return this.#afterDelay(() => {
      if (data.byteLength !== byteLength) return Exit.fail(driverError("createBuffer", "the data is gone", []))
      const created = this.#create(byteLength, kind, () => this.memory.create(this.info, byteLength, usage, label))
      if (Exit.isSuccess(created)) new Uint8Array(created.value.memory).set(data)
      return created
    })
  }

  readonly createRegionUnsafe = (
    part: Part,
    size: number,
    usage: BufferUsage,
    label?: string | undefined,
    kind: HostBuffer["kind"] = "region"
  ): Exit.Exit<HostBuffer, GpuError> => {
    return Exit.succeed(this.#add((part.parent as HostBuffer).region(part, size, usage, label), kind))
  }

  readonly partUnsafe = (whole: DeviceBuffer, begin: number, bytes: number): HostBuffer =>
    (whole as HostBuffer).part(begin, bytes)

  readonly destroyBufferUnsafe = (buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
    if (buffer.destroyed) return Exit.void
    this.operation()
    const fault = this.faults.calls.frees.next()
    this.#destroy(buffer as HostBuffer)
    return fault === undefined ? Exit.void : Exit.fail(driverError("destroyBuffer", fault, []))
  }

  addSampler(sampler: DeviceSampler): void {
    this.driverObjects.add("sampler")
    this.#samplers.add(sampler)
  }

  /** A second time does nothing. */
  removeSampler(sampler: DeviceSampler): void {
    if (this.#samplers.delete(sampler)) this.driverObjects.remove("sampler")
    sampler.destroyed = true
  }

  /** Later calls find a lost device. Then all memory is freed, in use or not. */
  close(): void {
    this.status.lose("its layer is closed")
    this.#detach()
    for (const buffer of this.#live) this.#destroy(buffer)
    for (const sampler of this.#samplers) this.removeSampler(sampler)
    this.driverObjects.remove("device")
  }

  #afterDelay(create: () => Exit.Exit<HostBuffer, GpuError>): Effect.Effect<HostBuffer, GpuError> {
    return Effect.suspend(() => {
      const delay = this.delay("allocations")
      const created = Effect.suspend(create)
      // Callers are uninterruptible so that no created memory is lost. During the delay there is none yet.
      return delay === undefined ? created : Effect.andThen(Effect.interruptible(Effect.sleep(delay)), created)
    })
  }

  #create(bytes: number, kind: HostBuffer["kind"], make: () => HostBuffer | GpuError): Exit.Exit<HostBuffer, GpuError> {
    const made = this.#allocationProblem(bytes) ?? make()
    return made instanceof HostBuffer ? Exit.succeed(this.#add(made, kind)) : Exit.fail(made)
  }

  /** The planned failure of this allocation, or the loss of the device. */
  #allocationProblem(bytes: number): GpuError | undefined {
    const lost = this.operation()
    if (lost !== undefined) return lost
    const fault = this.faults.calls.allocations.next()
    if (fault === "OutOfMemory") return outOfMemory(bytes)
    return fault === "DriverError" ? driverError("createBuffer", "a planned fault", []) : undefined
  }

  #add(buffer: HostBuffer, kind: HostBuffer["kind"]): HostBuffer {
    buffer.kind = kind
    this.driverObjects.add(kind)
    this.#live.add(buffer)
    return buffer
  }

  /** The memory is freed with the last buffer over it; the driver object counts until then. */
  #destroy(buffer: HostBuffer): void {
    buffer.destroyed = true
    this.#live.delete(buffer)
    if (buffer.parent !== undefined) {
      this.driverObjects.remove(buffer.kind)
      buffer.regionEnded()
    }
    if (buffer.isGone) this.#release(buffer.root as HostBuffer)
  }

  /** Frees the memory after the submitted work that uses it, as a device does. */
  #release(buffer: HostBuffer): void {
    this.driverObjects.remove(buffer.kind)
    this.afterUses(buffer, () => this.memory.release(buffer))
  }
}

const takenProblem = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "the buffer's memory was transferred to another ArrayBuffer",
    "Copy the view of Host.bytes with slice(), and transfer the copy."
  )
