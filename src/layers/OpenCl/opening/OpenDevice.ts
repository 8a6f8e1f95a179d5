/**
 * An open OpenCL device: its context and queue, and the buffers that are alive on it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import type * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { portableAlignment } from "../../../domain/data/BufferRange.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../../domain/GpuError.ts"
import type { ProbedDevice } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceContext } from "../../../services/device/DeviceContext.ts"
import * as KnownQueues from "../../../services/device/queues/KnownQueues.ts"
import { DeviceQueues } from "../../../services/device/queues/QueueOrder.ts"
import { CL_MEM_ALLOC_HOST_PTR, hostFlags, memoryFlags, regionFlags } from "../memory/MemoryFlags.ts"
import { LiveObjects, OpenClBuffer, wholeOf } from "../memory/OpenClObject.ts"
import { OpenClPart, SubBuffers } from "../memory/SubBuffers.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, onMemory } from "../OpenClError.ts"
import { isVersion12, makeInfo } from "./OpenClDevices.ts"
import {
  type Candidate,
  nameOf,
  type OpenClDevice,
  type OpenClPlatform,
  select,
  type Selection
} from "./OpenClPlatform.ts"
import { noDevice } from "./UnavailableOpenCl.ts"

const CL_CONTEXT_PLATFORM = 0x1084n
const CL_INVALID_BUFFER_SIZE = -61
const CL_BUFFER_CREATE_TYPE_REGION = 0x1220
const CL_QUEUE_PROFILING_ENABLE = 2
const CL_INVALID_QUEUE_PROPERTIES = -35

/** What a program can say of all memory and queues of a device. */
export interface DeviceSettings {
  readonly hostMemory?: boolean | undefined
  readonly byteGranular?: boolean | undefined
  /** Whether its queues are profiled, where the device can do that. */
  readonly profiled?: boolean | undefined
}

export class OpenDevice {
  readonly api: OpenClApi
  readonly platform: OpenClPlatform
  readonly device: OpenClDevice
  /** Its id, as functions take lists of devices; alive as long as they may read it. */
  readonly list = new BigUint64Array(new ArrayBuffer(8))
  readonly context: bigint
  readonly queue: bigint
  readonly info: DeviceInfo
  readonly queues: DeviceQueues
  readonly driverObjects: DriverObjects
  readonly status = new DeviceStatus("opencl")
  /**
   * What all buffers and images get beside their own flags: CL_MEM_ALLOC_HOST_PTR or 0. On a CPU device all memory is
   * the host's. With the flag its driver allocates at once, and fails when there is none. Without it PoCL 3.1 aborts
   * the process when the first use finds no memory.
   */
  readonly hostMemoryFlag: number
  readonly #buffers = new LiveObjects<OpenClBuffer>(this, "clReleaseMemObject")
  /** The buffers that pools have split. */
  readonly #split = new Map<OpenClBuffer, SubBuffers>()
  readonly #profiled: boolean
  readonly #code = new Int32Array(new ArrayBuffer(4))
  readonly #region = new BigUint64Array(new ArrayBuffer(16))
  /** Objects that can be released only when no command is under way. */
  readonly atClose: Array<() => void> = []
  /** The same, for objects that may be made over buffers: they are released before the buffers. */
  readonly beforeBuffers: Array<() => void> = []
  /** Whether these have been released. */
  closed = false
  /** Keeps memory for as long as commands under way may use it; set by the first queue. */
  keepUntilEnded: (memory: ArrayBuffer) => void = constVoid

  constructor(
    api: OpenClApi,
    { device, platform }: Candidate,
    handles: { readonly context: bigint; readonly queue: bigint },
    driverObjects: DriverObjects,
    { byteGranular = false, hostMemory = device.type === "cpu", profiled = false }: DeviceSettings
  ) {
    this.api = api
    this.platform = platform
    this.device = device
    this.list[0] = device.id
    this.context = handles.context
    this.queue = handles.queue
    this.driverObjects = driverObjects
    this.info = makeInfo(platform, device, byteGranular ? 1 : portableAlignment.bytes)
    this.queues = KnownQueues.add(this.info, new DeviceQueues())
    this.#profiled = profiled
    this.hostMemoryFlag = hostMemory ? CL_MEM_ALLOC_HOST_PTR : 0
  }

  readonly createBuffer: DeviceContext["Service"]["createBuffer"] = (bytes, usage, label) =>
    Effect.suspend(() =>
      this.#create(memoryFlags(this.driverUsage(usage), this.hostMemoryFlag), bytes, null, usage, label)
    )

  readonly createFromHost: DeviceContext["Service"]["createFromHost"] = (data, mode, usage, label) =>
    Effect.suspend(() => {
      const problem = BufferRequest.problem("DeviceContext.createFromHost", data.byteLength, usage, label)
      if (problem !== undefined) return problem
      const flags = hostFlags(this.driverUsage(usage), mode, this.hostMemoryFlag)
      const created = this.#create(flags, data.byteLength, data, usage, label)
      if (Exit.isSuccess(created) && mode === "use") created.value.pinned = data
      return created
    })

  readonly createRegionUnsafe: DeviceContext["Service"]["createRegionUnsafe"] = (
    { origin, parent, within },
    size,
    usage,
    label
  ) => {
    const flags = regionFlags(this.driverUsage(usage), this.driverUsage(parent.usage))
    const memory = this.createSubBufferUnsafe(parent, origin, size, flags)
    if (isGpuError(memory)) return Exit.fail(memory)
    return Exit.succeed(
      this.#add(new OpenClBuffer(memory, this.info, size, usage, label, { parent, origin, within }))
    )
  }

  createSubBufferUnsafe(whole: DeviceBuffer, origin: number, size: number, flags: number): bigint | GpuError {
    if (this.status.error !== undefined) return this.status.error
    this.#region[0] = BigInt(origin)
    this.#region[1] = BigInt(size)
    const memory = this.api.clCreateSubBuffer(
      wholeOf(whole),
      flags,
      CL_BUFFER_CREATE_TYPE_REGION,
      this.#region,
      this.#code
    )
    return memory ?? onMemory(this.status, size, { call: "clCreateSubBuffer", code: this.#code[0]! })
  }

  readonly partUnsafe = (whole: DeviceBuffer, begin: number, bytes: number): OpenClPart => {
    const own = whole as OpenClBuffer
    let subBuffers = this.#split.get(own)
    if (subBuffers === undefined) {
      subBuffers = new SubBuffers(this, own)
      this.#split.set(own, subBuffers)
    }
    return new OpenClPart(subBuffers, begin, bytes)
  }

  /** The part of a split buffer that has these bytes and a sub-buffer, if there is one. */
  partWith(whole: OpenClBuffer, begin: number, end: number): OpenClPart | undefined {
    return this.#split.get(whole)?.partWith(begin, end)
  }

  /** From now on a mapping or other code uses the cl_mem of a buffer: no command names a larger one. */
  keepApart(buffer: DeviceBuffer): void {
    const parts = buffer instanceof OpenClPart ? buffer.subBuffers : this.#split.get(buffer.root as OpenClBuffer)
    parts?.keepApart()
  }

  /** A further queue, in order as the first one is; the caller releases it. */
  createQueueUnsafe(): Exit.Exit<bigint, GpuError> {
    const queue = createQueue(this.api, this.context, this.device.id, this.#profiled, this.#code)
    if (queue === null) return Exit.fail(driverError({ call: "clCreateCommandQueue", code: this.#code[0]! }))
    this.driverObjects.add("queue")
    return Exit.succeed(queue)
  }

  /** The usage that the driver gets: without the flags for host access before OpenCL 1.2, which introduced them. */
  driverUsage(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return isVersion12(this.device) ? usage : usage & ~BufferUsageRules.hostAccess(usage)
  }

  /** Takes over a reference to a cl_mem that the program made, and releases it as that of any buffer. */
  adoptUnsafe(buffer: OpenClBuffer): void {
    this.#buffers.adopt(buffer)
    buffer.beneath?.retain()
  }

  /** A live buffer of this device around a cl_mem. */
  known(memory: bigint): OpenClBuffer | undefined {
    return this.#buffers.known(memory)
  }

  readonly destroyBufferUnsafe: DeviceContext["Service"]["destroyBufferUnsafe"] = (buffer) => {
    // A part ends with the buffer that it is a part of.
    if (buffer.destroyed || buffer instanceof OpenClPart) return Exit.void
    const own = buffer as OpenClBuffer
    const parts = this.#split.get(own)?.releaseUnsafe() ?? Exit.void
    this.#split.delete(own)
    const released = this.#buffers.releaseUnsafe(own)
    if (Exit.isFailure(released)) return released
    const freed = own.beneath?.releaseUnsafe() ?? Exit.void
    return Exit.isFailure(freed) ? freed : parts
  }

  /** Releases everything. The queue must be idle, and no fiber may wait for it. */
  close(): void {
    for (const release of this.beforeBuffers) release()
    this.#buffers.close(this.destroyBufferUnsafe)
    for (const release of this.atClose) release()
    this.closed = true
    if (this.api.clReleaseCommandQueue(this.queue) === OpenClCode.success) this.driverObjects.remove("queue")
    if (this.api.clReleaseContext(this.context) === OpenClCode.success) this.driverObjects.remove("context")
  }

  #create(
    flags: number,
    bytes: number,
    data: Uint8Array<ArrayBuffer> | null,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ): Exit.Exit<OpenClBuffer, GpuError> {
    if (this.status.error !== undefined) return Exit.fail(this.status.error)
    const memory = this.api.clCreateBuffer(this.context, flags, bytes, data, this.#code)
    return memory === null
      ? Exit.fail(this.#notCreated(bytes, this.#code[0]!))
      : Exit.succeed(this.#add(new OpenClBuffer(memory, this.info, bytes, usage, label)))
  }

  #add(buffer: OpenClBuffer): OpenClBuffer {
    buffer.beneath?.retain()
    return this.#buffers.add(buffer)
  }

  /**
   * The driver may refuse a size within the device's own limit where a smaller block would succeed. So the answer is
   * OutOfMemory, after which the fallback tries the exact size.
   */
  #notCreated(bytes: number, code: number): GpuError {
    if (code === CL_INVALID_BUFFER_SIZE && bytes <= this.info.limits.maxBufferSize) return outOfMemory(bytes)
    return onMemory(this.status, bytes, { call: "clCreateBuffer", code })
  }
}

/** An in-order queue, with profiling where that is wanted and the device can do it. */
const createQueue = (
  api: OpenClApi,
  context: bigint,
  device: bigint,
  profiled: boolean,
  code: Int32Array<ArrayBuffer>
): bigint | null => {
  if (profiled) {
    const queue = api.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, code)
    if (queue !== null || code[0] !== CL_INVALID_QUEUE_PROPERTIES) return queue
  }
  return api.clCreateCommandQueue(context, device, 0, code)
}

/** Opens the first candidate that can be opened, and releases what failed attempts created. */
export const openFirst = (
  api: OpenClApi,
  platforms: ReadonlyArray<OpenClPlatform>,
  selection: Selection & DeviceSettings
): OpenDevice => {
  const { candidates, tried } = select(platforms, selection)
  const failed: Array<ProbedDevice> = []
  for (const candidate of candidates) {
    const opened = open(api, candidate, selection)
    if (opened instanceof OpenDevice) return opened
    failed.push({ backend: "opencl", device: nameOf(candidate.platform, candidate.device), why: opened })
  }
  throw noDevice(platforms, selection, [...failed, ...tried])
}

/** The device, or why it cannot be opened. */
const open = (api: OpenClApi, candidate: Candidate, options: DeviceSettings): OpenDevice | string => {
  const driverObjects = new DriverObjects()
  const code = new Int32Array(new ArrayBuffer(4))
  const properties = new BigUint64Array(new ArrayBuffer(24))
  properties.set([CL_CONTEXT_PLATFORM, candidate.platform.id, 0n])
  const devices = new BigUint64Array(new ArrayBuffer(8))
  devices[0] = candidate.device.id
  const context = api.clCreateContext(properties, 1, devices, null, null, code)
  if (context === null) return `clCreateContext: ${OpenClCode.format(code[0]!)}`
  driverObjects.add("context")
  const queue = createQueue(api, context, candidate.device.id, options.profiled === true, code)
  if (queue === null) {
    api.clReleaseContext(context)
    return `clCreateCommandQueue: ${OpenClCode.format(code[0]!)}`
  }
  driverObjects.add("queue")
  return new OpenDevice(api, candidate, { context, queue }, driverObjects, options)
}
