/**
 * A buffer that the driver has mapped into the program's memory.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../domain/CommandLabel.ts"
import { detachMemory } from "../../domain/DetachMemory.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import type { DriverMapping, MapAccess } from "../../services/QueueDriver.ts"
import { memoryAt } from "./DriverMemory.ts"
import { memoryOf, OpenClBuffer } from "./OpenClBuffer.ts"
import * as OpenClCode from "./OpenClCode.ts"
import { isVersion12 } from "./OpenClDevices.ts"
import { driverError } from "./OpenClError.ts"
import type { OpenClQueue } from "./OpenClQueue.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import type { SvmAllocation } from "./svm/SvmAllocation.ts"
import { leaveUnsafe } from "./TakenMemory.ts"

const CL_NON_BLOCKING = 0
const CL_MAP_READ = 1
const CL_MAP_WRITE = 2
const CL_MAP_WRITE_INVALIDATE_REGION = 4

const flagsOf = (access: MapAccess, canInvalidate: boolean): number => {
  if (access === "read") return CL_MAP_READ
  if (access === "readwrite") return CL_MAP_READ | CL_MAP_WRITE
  return canInvalidate ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_WRITE
}

const allocationOf = (buffer: DeviceBuffer): SvmAllocation | undefined =>
  buffer instanceof OpenClBuffer ? buffer.beneath : undefined

/** Where a buffer in shared virtual memory begins, which has commands of its own for mapping. */
const addressOf = (buffer: DeviceBuffer): bigint | undefined => {
  const allocation = allocationOf(buffer)
  return allocation === undefined ? undefined : allocation.address + BigInt(buffer.origin)
}

type Queue = Pick<OpenClQueue, "recordAwaited" | "recordReturn">

/**
 * The mappings of one queue that have not ended.
 *
 * @internal
 */
export class BufferMappings {
  readonly #device: OpenDevice
  readonly #queue: Queue
  readonly #live = new Set<BufferMapping>()
  readonly #code = new Int32Array(new ArrayBuffer(4))
  /** What the driver answered last. */
  #address: bigint | null = null

  constructor(device: OpenDevice, queue: Queue) {
    this.#device = device
    this.#queue = queue
  }

  map(buffer: DeviceBuffer, offset: number, bytes: number, access: MapAccess): Exit.Exit<DriverMapping, GpuError> {
    const name = buffer.label
    const flags = flagsOf(access, isVersion12(this.#device.device))
    const shared = addressOf(buffer)
    const recorded = this.#queue.recordAwaited(
      {
        call: shared === undefined ? "clEnqueueMapBuffer" : "clEnqueueSVMMap",
        bytes,
        label: () => CommandLabel.map(bytes, name),
        buffers: [buffer]
      },
      (queue, event) => {
        const { api } = this.#device
        if (shared !== undefined) {
          this.#address = shared + BigInt(offset)
          return api.clEnqueueSVMMap(queue, CL_NON_BLOCKING, flags, this.#address, bytes, 0, null, event)
        }
        const memory = memoryOf(buffer)
        this.#address = api.clEnqueueMapBuffer(
          queue,
          memory,
          CL_NON_BLOCKING,
          flags,
          offset,
          bytes,
          0,
          null,
          event,
          this.#code
        )
        return this.#code[0]!
      }
    )
    const address = this.#address
    if (Exit.isFailure(recorded)) return Exit.failCause(recorded.cause)
    if (address === null) return Exit.fail(driverError({ call: "clEnqueueMapBuffer", code: this.#code[0]! }))
    this.#device.driverObjects.add("mapping")
    const mapping = new BufferMapping(
      this.#device,
      this.#queue,
      { buffer, address, bytes, ended: recorded.value },
      this.#live
    )
    this.#live.add(mapping)
    return Exit.succeed(mapping)
  }

  /** Ends what is left, when the queue closes. */
  endAll(): void {
    for (const mapping of this.#live) mapping.unmapUnsafe()
  }
}

interface Mapped {
  readonly buffer: DeviceBuffer
  readonly address: bigint
  readonly bytes: number
  /** Waits for the driver to have mapped it. */
  readonly ended: Effect.Effect<void, GpuError>
}

class BufferMapping implements DriverMapping {
  readonly #device: OpenDevice
  readonly #queue: Queue
  readonly #mapped: Mapped
  readonly #live: Set<BufferMapping>
  #view: ArrayBuffer | undefined = undefined
  #ended = false

  constructor(device: OpenDevice, queue: Queue, mapped: Mapped, live: Set<BufferMapping>) {
    this.#device = device
    this.#queue = queue
    this.#mapped = mapped
    this.#live = live
  }

  /** A view is only made of memory that is mapped: it may have ended while the device was busy. */
  readonly memory: Effect.Effect<ArrayBuffer, GpuError> = Effect.suspend(() =>
    Effect.map(this.#mapped.ended, () => {
      if (this.#ended) return new ArrayBuffer(0)
      const { address, bytes } = this.#mapped
      return this.#view ??= this.#show(address, bytes)
    })
  )

  /** No program can reach the memory any more by the time that the driver gets it back: else it does not. */
  readonly unmapUnsafe = (): Exit.Exit<void, GpuError> => {
    if (this.#ended) return Exit.void
    this.#ended = true
    this.#live.delete(this)
    const { address, buffer } = this.#mapped
    const { api, driverObjects, status } = this.#device
    if (!this.#cutOff()) {
      // It is the program's now.
      driverObjects.remove("mapping")
      return Exit.fail(leaveUnsafe(this.#device, buffer))
    }
    const name = buffer.label
    const shared = addressOf(buffer)
    const recorded = this.#queue.recordReturn(
      {
        call: shared === undefined ? "clEnqueueUnmapMemObject" : "clEnqueueSVMUnmap",
        bytes: 0,
        label: () => CommandLabel.unmap(name),
        buffers: [buffer]
      },
      (queue, event) => {
        const code = shared === undefined
          ? api.clEnqueueUnmapMemObject(queue, memoryOf(buffer), address, 0, null, event)
          : api.clEnqueueSVMUnmap(queue, address, 0, null, event)
        if (code === OpenClCode.success) driverObjects.remove("mapping")
        return code
      }
    )
    return status.error === undefined ? recorded : Exit.void
  }

  /** False where the program has the memory for good. */
  #cutOff(): boolean {
    const view = this.#view
    if (view === undefined) return true
    const allocation = allocationOf(this.#mapped.buffer)
    // Views of shared memory that was freed are cut off already.
    return (allocation !== undefined && !allocation.shown.delete(view)) || detachMemory(view)
  }

  #show(address: bigint, bytes: number): ArrayBuffer {
    const view = memoryAt(this.#device.api, address, bytes)
    allocationOf(this.#mapped.buffer)?.shown.add(view)
    return view
  }
}
