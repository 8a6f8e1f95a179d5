/**
 * Shared virtual memory of one open device: its allocations, and the buffers over them.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type * as BufferUsage from "../../../domain/BufferUsage.ts"
import type * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { detachMemory } from "../../../domain/data/DetachMemory.ts"
import { type GpuError, invalidRequest, isGpuError, outOfMemory } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../../services/buffers/BufferMemory.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { OpenClQueue } from "../commands/OpenClQueue.ts"
import { kernelAccessFlag, usedFlags } from "../memory/MemoryFlags.ts"
import { allocationOf, OpenClBuffer } from "../memory/OpenClObject.ts"
import { onMemory } from "../OpenClError.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { SvmAllocation } from "./SvmAllocation.ts"
import { capabilitiesOf, type Grain, missingProblem, type SvmCapabilities } from "./SvmCapabilities.ts"

const CL_MEM_SVM_FINE_GRAIN_BUFFER = 1024
const CL_MEM_SVM_ATOMICS = 2048

export interface SvmKind {
  readonly grain: Grain
  readonly atomics: boolean
  /** Bytes, a power of two; 0 is the device's own choice. */
  readonly alignment: number
}

export class SvmMemory {
  readonly device: OpenDevice
  readonly queue: OpenClQueue
  /** The first queue, which lives as long as the memory. */
  readonly #first: OpenClQueue
  readonly #code = new Int32Array(new ArrayBuffer(4))
  #capabilities: SvmCapabilities | undefined

  constructor(device: OpenDevice, queue: OpenClQueue, first: OpenClQueue = queue) {
    this.device = device
    this.queue = queue
    this.#first = first
  }

  /** Where the ends of mappings and bindings are recorded: their own queue, or the first one when that is closed. */
  get lastingQueue(): OpenClQueue {
    return this.queue.isClosed ? this.#first : this.queue
  }

  get capabilities(): SvmCapabilities {
    return this.#capabilities ??= capabilitiesOf(this.device.api, this.device.device)
  }

  /**
   * Makes a buffer on new memory: a cl_mem over it, which OpenCL allows, so that everything that works on buffers works on
   * it. The caller has checked that the device has the kind, and a buffer of `bytes` bytes.
   */
  createUnsafe(
    bytes: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    kind: SvmKind
  ): Exit.Exit<OpenClBuffer, GpuError> {
    const { api, context, driverObjects, info, status } = this.device
    // CL_MEM_ALLOC_HOST_PTR is left out: the memory is the host's anyway.
    const address = api.clSVMAlloc(context, kernelAccessFlag(usage) | grainFlags(kind), bytes, kind.alignment)
    // There is no code. The caller has checked all other causes of a null.
    if (address === null) return Exit.fail(outOfMemory(bytes))
    driverObjects.add("svm")
    const memory = api.clCreateBuffer(context, usedFlags(usage), bytes, address, this.#code)
    if (memory === null) {
      this.#freeNow(address)
      return Exit.fail(onMemory(status, bytes, { call: "clCreateBuffer", code: this.#code[0]! }))
    }
    const allocation = new SvmAllocation(address, kind.grain, this.#freeUnsafe)
    const buffer = new OpenClBuffer(memory, info, bytes, usage, label, undefined, allocation)
    this.device.adoptUnsafe(buffer)
    return Exit.succeed(buffer)
  }

  /**
   * Frees the memory after all commands that are recorded now. Where that cannot be enqueued, frees it when the layer
   * closes, or at once if it has closed.
   */
  readonly #freeUnsafe = (allocation: SvmAllocation): Exit.Exit<void, GpuError> => {
    const { abandoned, address, shown } = allocation
    // Views have ended, unless a program destroyed the buffer under them.
    for (const view of shown) if (!detachMemory(view)) allocation.taken = true
    shown.clear()
    const { atClose, closed, driverObjects, status } = this.device
    if (allocation.taken) {
      driverObjects.leave("svm")
      return Exit.void
    }
    const freed = abandoned || status.error !== undefined ? undefined : this.#recordFree(address)
    if (freed !== undefined && Exit.isSuccess(freed)) {
      driverObjects.remove("svm")
      return freed
    }
    if (closed) this.#freeNow(address)
    else atClose.push(() => this.#freeNow(address))
    return freed ?? Exit.void
  }

  #recordFree(address: bigint): Exit.Exit<void, GpuError> {
    const addresses = new BigUint64Array(new ArrayBuffer(8)).fill(address)
    const ordered = this.#first.order.afterAll()
    if (Exit.isFailure(ordered)) return ordered
    return this.#first.enqueue(
      { call: "clEnqueueSVMFree", bytes: 0, label: () => "free shared memory", memory: addresses.buffer },
      1,
      addresses,
      null,
      null
    )
  }

  #freeNow(address: bigint): void {
    this.device.api.clSVMFree(this.device.context, address)
    this.device.driverObjects.remove("svm")
  }
}

const grainFlags = ({ atomics, grain }: SvmKind): number =>
  (grain === "fine" ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0) | (atomics ? CL_MEM_SVM_ATOMICS : 0)

export interface SvmTarget {
  /** The lease or device buffer that the program passed. */
  readonly owner: BufferLike.BufferLike
  /** The device buffer of it. */
  readonly buffer: DeviceBuffer
  readonly allocation: SvmAllocation
  /** Where the buffer begins: a region's own address. */
  readonly address: bigint
}

/**
 * The address of a buffer, for an operation that needs the usage `usage` and the host access `host`; `undefined` for a
 * buffer of 0 bytes, which has none.
 */
export const targetOf = (
  svm: SvmMemory,
  operation: string,
  owner: BufferLike.BufferLike,
  usage: BufferUsage.BufferUsage,
  host?: BufferUsageRules.HostAccess
): SvmTarget | GpuError | undefined => {
  const { device } = svm
  const missing = device.status.error ?? missingProblem(operation, svm.capabilities)
  if (missing !== undefined) return missing
  const buffer = BufferMemory.of(operation, owner, device, usage, host)
  if (buffer === undefined || isGpuError(buffer)) return buffer
  const allocation = allocationOf(buffer)
  if (allocation === undefined) {
    return invalidRequest(
      operation,
      "the buffer is not in shared virtual memory",
      "Allocate it from Svm.layerPool, or use CommandQueue and Mapping, which work on every buffer."
    )
  }
  return { owner, buffer, allocation, address: allocation.address + BigInt(buffer.origin) }
}
