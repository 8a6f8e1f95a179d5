/**
 * The backend's side of a command queue, on one in-order OpenCL queue.
 *
 * Every enqueue is non-blocking, and host data goes through memory of its own that is kept until the command has ended.
 * Each command has an event: it says when that memory is free, and whether the command failed.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import * as BytePattern from "../../../domain/data/BytePattern.ts"
import { allocate } from "../../../domain/data/HostData.ts"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import { DeviceImage } from "../../../services/device/DeviceImage.ts"
import { commandsPerFlush, type QueueDriver, type ReadAnswer } from "../../../services/device/QueueDriver.ts"
import { orLost } from "../../../services/device/queues/OrLost.ts"
import { queueClosed } from "../../../services/device/queues/Queue.ts"
import type { OrderedQueue, QueueOrder } from "../../../services/device/queues/QueueOrder.ts"
import type { OpenClKernel } from "../kernels/OpenClKernel.ts"
import { handleOf, placeOf, wholeOf } from "../memory/OpenClObject.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, onDevice, onMemory } from "../OpenClError.ts"
import { isVersion12 } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import * as BufferMapping from "./BufferMapping.ts"
import { OpenClMappings } from "./OpenClMapping.ts"
import { QueueWait } from "./QueueWait.ts"
import { RecordedCommands } from "./RecordedCommands.ts"
import {
  type ArgumentsOf,
  CL_NON_BLOCKING,
  dispatchRecording,
  type Enqueue,
  type Enqueuing,
  type ReadArgumentsOf,
  type Recorder,
  type Recording
} from "./Recorder.ts"
import * as RectangleTransfers from "./RectangleTransfers.ts"

type Driver = QueueDriver["Service"]

const CL_MIGRATE_MEM_OBJECT_HOST = 1
const CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 2

/** A pattern of 1 to 32 words. */
type Words = Uint32Array<ArrayBuffer>

/** Bytes of host memory for a pattern, where the device cannot fill by itself: a multiple of every pattern. */
const patternBytes = 1024 * 1024

/** What a queue that the program opens has besides the first one. */
export interface FurtherQueue {
  readonly handle: bigint
  readonly label: string | undefined
  /** Lost with the device, and ended when the queue closes. */
  readonly status: DeviceStatus
}

export class OpenClQueue implements Driver, Recorder, OrderedQueue {
  readonly order: QueueOrder
  /** The cl_command_queue. */
  readonly handle: bigint
  readonly #device: OpenDevice
  readonly #status: DeviceStatus
  readonly #commands: RecordedCommands
  readonly #wait: QueueWait
  /** The mappings of buffers and images. */
  readonly mappings: OpenClMappings
  readonly #canFillAndMigrate: boolean
  readonly #event = new BigUint64Array(new ArrayBuffer(8))
  readonly #awaited = new BigUint64Array(new ArrayBuffer(8))
  readonly #memory = new BigUint64Array(new ArrayBuffer(8))
  readonly #pattern = new Uint32Array(new ArrayBuffer(4))
  readonly #globalSize = new Uint32Array(new ArrayBuffer(24))
  readonly #localSize = new Uint32Array(new ArrayBuffer(24))
  /** Came with OpenCL 1.2. */
  readonly migrateUnsafe?: NonNullable<Driver["migrateUnsafe"]>
  /** Commands since the last flush. */
  #unflushed = 0

  constructor(device: OpenDevice, further?: FurtherQueue) {
    this.#device = device
    this.handle = further?.handle ?? device.queue
    this.#status = further?.status ?? device.status
    this.order = device.queues.add(this, further?.label)
    this.#commands = new RecordedCommands(device.api, device.status, device.driverObjects)
    this.#wait = new QueueWait(device.api, this.#commands)
    this.mappings = new OpenClMappings(device, this)
    this.#canFillAndMigrate = isVersion12(device.device)
    if (further === undefined) device.keepUntilEnded = this.#keepUntilEnded
    if (!this.#canFillAndMigrate) return
    this.migrateUnsafe = (objects, to, contentUndefined) => {
      const flags = (to === "host" ? CL_MIGRATE_MEM_OBJECT_HOST : 0) |
        (contentUndefined ? CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED : 0)
      const wholes = movableWholes(objects, contentUndefined)
      return wholes.length === 0 ? Exit.void : this.#migrate(wholes, objects, flags, CommandLabel.migrate(objects, to))
    }
  }

  readonly writeUnsafe: Driver["writeUnsafe"] = (target, offset, data) => {
    const memory = allocate(data.byteLength)
    if (memory === undefined) return Exit.fail(outOfMemory(data.byteLength))
    new Uint8Array(memory).set(data)
    return this.#write(target, offset, memory, data.byteLength, CommandLabel.write(data.byteLength, target))
  }

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, sourceOffset, target, targetOffset, bytes) => {
    const label = CommandLabel.copy(bytes, source, target)
    const [from, to] = [placeOf(source), placeOf(target)]
    if (isGpuError(from)) return Exit.fail(from)
    if (isGpuError(to)) return Exit.fail(to)
    return this.enqueue(
      { call: "clEnqueueCopyBuffer", bytes, label, buffers: [source, target] },
      from.handle,
      to.handle,
      from.start + sourceOffset,
      to.start + targetOffset,
      bytes
    )
  }

  readonly copyRectUnsafe: Driver["copyRectUnsafe"] = (extent, source, from, target, to) =>
    RectangleTransfers.copy(this, this.#device.platform, extent, source, from, target, to)

  readonly writeRectUnsafe: Driver["writeRectUnsafe"] = (extent, target, to, rows) =>
    RectangleTransfers.write(this, extent, target, to, rows.buffer)

  readonly readRectUnsafe: Driver["readRectUnsafe"] = (extent, source, from, answer) =>
    RectangleTransfers.readUnsafe(this, extent, source, from, answer)

  readonly mapUnsafe: NonNullable<Driver["mapUnsafe"]> = (buffer, offset, bytes, access) =>
    BufferMapping.map(this.#device, this.mappings, buffer, offset, bytes, access)

  readonly positionUnsafe: Driver["positionUnsafe"] = () => this.#commands.recorded

  readonly endedUnsafe: Driver["endedUnsafe"] = () => {
    this.#wait.sweep()
    return this.#commands.ended
  }

  readonly awaitPosition: Driver["awaitPosition"] = (position) =>
    Effect.flatMap(this.awaitEnded(position), () => this.#commands.takeError() ?? Exit.void)

  readonly awaitEnded: Driver["awaitEnded"] = (position) => this.#endedUpTo(() => position, true)

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, offset, bytes, pattern) => {
    this.#pattern[0] = pattern
    return this.#fill(target, offset, bytes, this.#pattern)
  }

  readonly fillWideUnsafe: Driver["fillWideUnsafe"] = (target, offset, bytes, patterns) =>
    this.#fill(target, offset, bytes, Uint32Array.from(patterns))

  readonly dispatchUnsafe: Driver["dispatchUnsafe"] = (dispatch) => {
    const kernel = dispatch.compiled as OpenClKernel
    const { api, status } = this.#device
    if (this.#status.error !== undefined) return Exit.fail(this.#status.error)
    const recording = dispatchRecording(dispatch)
    const set = kernel.parameters.set(api, kernel.handle, dispatch)
    if (isGpuError(set)) return Exit.fail(set)
    if (set !== OpenClCode.success) {
      return Exit.fail(onDevice(status, { call: "clSetKernelArg", code: set, commands: [recording.label()] }))
    }
    const { count, range } = dispatch
    const dimensions = range === undefined ? 1 : 3
    for (let dimension = 0; dimension < dimensions; dimension++) {
      const items = range === undefined ? count : range[dimension]!
      const ofGroup = kernel.localSize[dimension]!
      setSize(this.#globalSize, dimension, Math.ceil(items / ofGroup) * ofGroup)
      setSize(this.#localSize, dimension, ofGroup)
    }
    return this.enqueue(recording, kernel.handle, dimensions, null, this.#globalSize, this.#localSize)
  }

  /**
   * Makes the driver find memory for a fresh buffer, as PyOpenCL's ImmediateAllocator does: the enqueue itself fails
   * without memory. The caller that created the buffer then releases it.
   */
  readonly touch: Driver["touch"] = (buffer) =>
    Effect.suspend(() => this.#canFillAndMigrate ? this.touchUnsafe(buffer) : this.#writeFirstBytes(buffer))

  /** The same for a buffer or an image, from OpenCL 1.2 on. */
  touchUnsafe(object: DeviceBuffer | DeviceImage): Exit.Exit<void, GpuError> {
    return this.#migrate([object], [object], CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, CommandLabel.touch(object))
  }

  readonly flushUnsafe: Driver["flushUnsafe"] = () => {
    if (this.#unflushed === 0) return Exit.void
    const { status } = this.#device
    if (this.#status.error !== undefined) return Exit.fail(this.#status.error)
    const code = this.#flush()
    if (code !== OpenClCode.success) {
      return Exit.fail(onDevice(status, { call: "clFlush", code, commands: this.#commands.labels }))
    }
    this.#wait.sweepIfLong()
    return Exit.void
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, offset, bytes, answer) => {
    const place = placeOf(source)
    if (isGpuError(place)) {
      answer(place)
      return constVoid
    }
    return this.enqueueReads(
      { call: "clEnqueueReadBuffer", bytes, label: CommandLabel.read(bytes, source), buffers: [source] },
      answer,
      [[place.handle, CL_NON_BLOCKING, place.start + offset, bytes]]
    )
  }

  readonly finish: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    Effect.flatMap(this.#allEnded, () => this.#commands.takeError() ?? Exit.void)
  )

  /**
   * The driver frees a released buffer once the last command on it has ended, on any queue, also on one that is closing. Failures
   * stay for the next finish.
   */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    if (!this.order.queues.several) return this.#allEnded
    const waits = Array.from(this.order.queues.open, ({ queue }) => {
      const own = queue as OpenClQueue
      const position = own.#commands.recorded
      return own.#endedUpTo(() => position, true, own.#device.status)
    })
    return Effect.all(waits, { discard: true })
  })

  readonly markUnsafe = (): void => {
    this.record(
      {
        call: "clEnqueueMarkerWithWaitList",
        bytes: 0,
        label: () => "wait for the program's commands",
        onlyWaits: true
      },
      (queue, event) => this.#device.api.clEnqueueMarkerWithWaitList(queue, 0, null, event)
    )
  }

  /** Whether this further queue is closing or closed while its device is open. */
  get isClosed(): boolean {
    return this.#status.error !== undefined && this.#device.status.error === undefined
  }

  /** Enqueues a marker that waits for the event of the other queue's command, which is flushed first. */
  readonly waitForUnsafe: OrderedQueue["waitForUnsafe"] = (other, position) => {
    const there = other as OpenClQueue
    const flushed = there.flushUnsafe()
    // A flush may see commands end, and release their events.
    if (Exit.isFailure(flushed) || there.#commands.ended >= position) return flushed
    this.#awaited[0] = there.#commands.eventOf(position)
    return this.record(
      { call: "clEnqueueMarkerWithWaitList", bytes: 0, label: () => "wait for another queue", onlyWaits: true },
      (queue, event) => this.#device.api.clEnqueueMarkerWithWaitList(queue, 1, this.#awaited, event)
    )
  }

  record(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError> {
    if (this.#status.error !== undefined) return Exit.fail(this.#status.error)
    if (this.order.queues.several) {
      const ordered = this.order.before(recording)
      if (Exit.isFailure(ordered)) return ordered
    }
    return this.#enqueued(enqueue(this.handle, this.#event), recording)
  }

  enqueue<Call extends Enqueuing>(recording: Recording<Call>, ...args: ArgumentsOf<Call>): Exit.Exit<void, GpuError> {
    return this.record(recording, this.#calling(recording.call, args))
  }

  recordAwaited(recording: Recording, enqueue: Enqueue): Exit.Exit<Effect.Effect<void, GpuError>, GpuError> {
    let failure: GpuError | undefined
    const recorded = this.record({
      ...recording,
      failed: (code) => {
        failure = driverError({ call: recording.call, code, commands: [recording.label()] })
        recording.failed?.(code)
      }
    }, enqueue)
    if (Exit.isFailure(recorded)) return Exit.failCause(recorded.cause)
    const position = this.#commands.recorded
    const ended = this.#endedUpTo(() => position)
    return Exit.succeed(Effect.flatMap(ended, () => this.#commands.takeError() ?? failure ?? Exit.void))
  }

  enqueueReads<Call extends Enqueuing>(
    recording: Recording<Call>,
    answer: ReadAnswer,
    reads: ReadonlyArray<ReadArgumentsOf<Call>>
  ): () => void {
    const memory = allocate(recording.bytes)
    answer(memory === undefined ? outOfMemory(recording.bytes) : this.#readInto(memory, recording, reads))
    return constVoid
  }

  #readInto<Call extends Enqueuing>(
    memory: ArrayBuffer,
    recording: Recording<Call>,
    reads: ReadonlyArray<ReadArgumentsOf<Call>>
  ): Effect.Effect<ArrayBuffer, GpuError> {
    let ended: Effect.Effect<void, GpuError> | undefined
    for (const args of reads) {
      const read = this.recordAwaited({ ...recording, memory }, this.#calling(recording.call, [...args, memory]))
      if (Exit.isFailure(read)) return Exit.failCause(read.cause)
      ended = ended === undefined ? read.value : Effect.andThen(ended, read.value)
    }
    return Effect.as(ended ?? Effect.void, memory)
  }

  recordReturn(recording: Recording, enqueue: Enqueue): Exit.Exit<void, GpuError> {
    return this.#enqueued(enqueue(this.handle, this.#event), recording)
  }

  /**
   * Ends the queue: later calls get a typed error, work under way ends, and no native wait is left when the queue is
   * released.
   */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#device.status.lose("its layer is closed")
    return this.#drained
  })

  /** Ends a further queue in the same way, and releases it. */
  readonly closeFurther: Effect.Effect<void> = Effect.suspend(() => {
    // Until its commands have ended this queue counts as open, and other fibers flush it when they free memory. Flush
    // it now, since a flush after `status.end` would fail.
    this.#submitAll()
    this.#status.end(queueClosed(this.order.label))
    return Effect.andThen(
      this.#drained,
      Effect.sync(() => {
        this.order.queues.remove(this.order)
        const code = this.#device.api.clReleaseCommandQueue(this.handle)
        if (code === OpenClCode.success) this.#device.driverObjects.remove("queue")
      })
    )
  })

  readonly #drained: Effect.Effect<void> = Effect.suspend(() => {
    this.#submitAll()
    return Effect.callback<void>((resume) => {
      this.#wait.start(() => resume(Exit.void))
    })
  })

  /** Ends what is mapped, and submits what is recorded. */
  #submitAll(): void {
    this.mappings.endAll()
    if (this.#unflushed > 0) this.#flush()
  }

  /** Memory that commands on any queue may use. */
  readonly #keepUntilEnded = (memory: ArrayBuffer): void => {
    for (const { queue } of this.order.queues.open) (queue as OpenClQueue).#commands.keep(memory)
  }

  /** Waits for everything that is recorded now. Fails when the device is or gets lost. */
  readonly #allEnded: Effect.Effect<void, GpuError> = this.#endedUpTo(() => this.#commands.recorded)

  /**
   * Waits for the first `position()` commands, read when the wait begins. With `exact` it waits for no more than those.
   */
  #endedUpTo(
    position: () => number,
    exact: boolean = false,
    of?: DeviceStatus
  ): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const status = of ?? this.#status
      const flushed = this.flushUnsafe()
      this.#wait.sweep()
      const target = position()
      if (status.error !== undefined) return status.error
      if (Exit.isFailure(flushed) || this.#commands.ended >= target) return flushed
      return orLost(status, (done) => this.#wait.start(done, target, exact))
    })
  }

  /** Types check at the callers that the arguments fit the function. */
  #calling(call: Enqueuing, args: ReadonlyArray<unknown>): Enqueue {
    const enqueue = this.#device.api[call] as (...args: ReadonlyArray<unknown>) => number
    return (queue, event) => enqueue(queue, ...args, 0, null, event)
  }

  /** Takes the driver's answer to an enqueue. */
  #enqueued(code: number, recording: Recording): Exit.Exit<void, GpuError> {
    if (code !== OpenClCode.success) {
      const { bytes, call } = recording
      return Exit.fail(onMemory(this.#device.status, bytes, { call, code, commands: [recording.label()] }))
    }
    this.#commands.add(this.#event[0]!, recording)
    if (this.order.queues.several) this.order.recorded(recording, this.#commands.recorded)
    this.#unflushed += 1
    if (this.#unflushed === 1) queueMicrotask(this.#flushSoon)
    else if (this.#unflushed === commandsPerFlush) this.#flushUnasked()
    return Exit.void
  }

  #write(
    target: DeviceBuffer,
    offset: number,
    memory: ArrayBuffer,
    bytes: number,
    label: CommandLabel.CommandLabel
  ): Exit.Exit<void, GpuError> {
    const place = placeOf(target)
    if (isGpuError(place)) return Exit.fail(place)
    return this.enqueue(
      { call: "clEnqueueWriteBuffer", bytes, label, memory, buffers: [target] },
      place.handle,
      CL_NON_BLOCKING,
      place.start + offset,
      bytes,
      memory
    )
  }

  #fill(target: DeviceBuffer, offset: number, bytes: number, words: Words): Exit.Exit<void, GpuError> {
    if (!this.#canFillAndMigrate) return this.#fillByWriting(target, offset, bytes, words)
    const repeated = patternSize(words, offset, bytes)
    const place = placeOf(target, repeated)
    if (isGpuError(place)) return Exit.fail(place)
    return this.enqueue(
      { call: "clEnqueueFillBuffer", bytes, label: CommandLabel.fill(bytes, target), buffers: [target] },
      place.handle,
      words,
      repeated,
      place.start + offset,
      bytes
    )
  }

  /** OpenCL 1.1 cannot fill: the pattern is written, piece by piece from the same memory. */
  #fillByWriting(target: DeviceBuffer, offset: number, bytes: number, words: Words): Exit.Exit<void, GpuError> {
    const memory = new ArrayBuffer(Math.min(bytes, patternBytes))
    BytePattern.repeat(new Uint8Array(memory), new Uint8Array(words.buffer))
    for (let done = 0; done < bytes; done += memory.byteLength) {
      const part = Math.min(memory.byteLength, bytes - done)
      const exit = this.#write(target, offset + done, memory, part, CommandLabel.fill(part, target))
      if (Exit.isFailure(exit)) return exit
    }
    return Exit.void
  }

  /** Migrates buffers and images that are no parts of others, for objects that are these or in these. */
  #migrate(
    wholes: ReadonlyArray<DeviceBuffer | DeviceImage>,
    objects: ReadonlyArray<DeviceBuffer | DeviceImage>,
    flags: number,
    label: CommandLabel.CommandLabel
  ): Exit.Exit<void, GpuError> {
    const addresses = wholes.length === 1 ? this.#memory : new BigUint64Array(new ArrayBuffer(8 * wholes.length))
    addresses.set(wholes.map((object) => object instanceof DeviceBuffer ? wholeOf(object) : handleOf(object)))
    return this.enqueue(
      {
        call: "clEnqueueMigrateMemObjects",
        bytes: wholes.reduce((sum, object) => sum + bytesOf(object), 0),
        label,
        buffers: objects.filter((object) => object instanceof DeviceBuffer),
        images: objects.filter((object) => object instanceof DeviceImage)
      },
      wholes.length,
      addresses,
      flags
    )
  }

  #writeFirstBytes(buffer: DeviceBuffer): Exit.Exit<void, GpuError> {
    const bytes = Math.min(buffer.size, 4)
    return this.#write(buffer, 0, new ArrayBuffer(bytes), bytes, CommandLabel.touch(buffer))
  }

  /** Flushes, so that work starts although no fiber waits for it. */
  readonly #flushSoon = (): void => {
    if (this.#unflushed > 0 && this.#status.error === undefined) this.#flushUnasked()
  }

  /** A failed flush counts as a failure of the commands, which the next finish reports. */
  #flushUnasked(): void {
    const code = this.#flush()
    if (code !== OpenClCode.success) this.#commands.fail("clFlush", code)
    this.#wait.sweepIfLong()
  }

  #flush(): number {
    this.#unflushed = 0
    return this.#device.api.clFlush(this.handle)
  }
}

const bytesOf = (object: DeviceBuffer | DeviceImage): number =>
  object instanceof DeviceImage ? ImageFormat.imageBytes(object.format, object.shape) : object.size

/** Writes a size_t without making a bigint of it. */
const setSize = (words: Uint32Array, dimension: number, size: number): void => {
  words[2 * dimension] = size
  words[2 * dimension + 1] = size / 0x1_0000_0000
}

/**
 * How much of a pattern OpenCL is to repeat: it fills whole patterns only, from a multiple of them on. A pattern of
 * less than a word is in it more than once.
 */
const patternSize = (words: Words, offset: number, bytes: number): number =>
  words.length > 1 || (offset % 4 === 0 && bytes % 4 === 0)
    ? words.byteLength
    : offset % 2 === 0 && bytes % 2 === 0
    ? 2
    : 1

/**
 * What to migrate, each once. NVIDIA's driver 580 refuses sub-buffers or ends the process, so a region moves with the
 * buffer that it is a part of; without contents it does not move, since the rest of that buffer must keep its contents.
 */
const movableWholes = (
  objects: ReadonlyArray<DeviceBuffer | DeviceImage>,
  contentUndefined: boolean
): ReadonlyArray<DeviceBuffer | DeviceImage> => {
  const wholes = new Set<DeviceBuffer | DeviceImage>()
  for (const object of objects) {
    if (!(object instanceof DeviceBuffer) || object.parent === undefined) wholes.add(object)
    else if (!contentUndefined && !object.root.destroyed) wholes.add(object.root)
  }
  return [...wholes]
}
