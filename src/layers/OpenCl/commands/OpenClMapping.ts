/**
 * Memory of a buffer or an image that the driver has mapped for the program.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import { detachMemory } from "../../../domain/data/DetachMemory.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DriverMapping, MapAccess } from "../../../services/device/QueueDriver.ts"
import { leaveUnsafe, memoryAt } from "../memory/DriverMemory.ts"
import type { Pointer } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import { isVersion12 } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type { Recorder } from "./Recorder.ts"

const CL_MAP_READ = 1
const CL_MAP_WRITE = 2
const CL_MAP_WRITE_INVALIDATE_REGION = 4

/** What to map, and the calls that do it. */
export interface MapCall {
  readonly memory: DeviceBuffer | DeviceImage
  /** A cl_mem that keeps the memory alive. */
  readonly handle: bigint
  /** The OpenCL function. */
  readonly call: string
  readonly unmapCall: string
  /** Bytes of the part that is mapped. */
  readonly bytes: number
  /** Returns the address, or null with the code set. */
  readonly map: (queue: bigint, event: Pointer, code: Int32Array<ArrayBuffer>) => bigint | null
  readonly unmap: (queue: bigint, event: Pointer, address: bigint) => number
  /** Called with the code, when the command of `map` fails after it was enqueued. */
  readonly failed?: ((code: number) => void) | undefined
  /** Returns the failure code of another mapping's command that this mapping relies on, or `undefined`. */
  readonly failure?: (() => number | undefined) | undefined
  /** Views of the same memory, which other code may have detached already. */
  readonly shown?: Set<ArrayBuffer> | undefined
}

/** The mappings of one queue that have not ended. */
export class OpenClMappings {
  readonly #device: OpenDevice
  readonly #queue: Recorder
  readonly #live = new Set<DriverMapping>()
  readonly #code = new Int32Array(new ArrayBuffer(4))

  constructor(device: OpenDevice, queue: Recorder) {
    this.#device = device
    this.#queue = queue
  }

  /** The cl_map_flags for what a program does. */
  flagsOf(access: MapAccess): number {
    if (access === "read") return CL_MAP_READ
    if (access === "readwrite") return CL_MAP_READ | CL_MAP_WRITE
    return isVersion12(this.#device.device) ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_WRITE
  }

  /** `spanOf` returns the bytes from the first mapped one to the last, and is called when the driver has answered. */
  map(given: MapCall, spanOf: () => number): Exit.Exit<DriverMapping, GpuError> {
    const { bytes, call, memory } = given
    let address: bigint | null = null
    const recorded = this.#queue.recordAwaited(
      { call, bytes, label: CommandLabel.map(bytes, memory), failed: given.failed, ...usedBy(memory) },
      (queue, event) => {
        this.#code[0] = OpenClCode.success
        address = given.map(queue, event, this.#code)
        return this.#code[0]
      }
    )
    if (Exit.isFailure(recorded)) return Exit.failCause(recorded.cause)
    if (address === null) return Exit.fail(driverError({ call, code: this.#code[0]! }))
    this.#device.driverObjects.add("mapping")
    const mapping = this.#mapped(given, address, spanOf(), recorded.value)
    this.#live.add(mapping)
    return Exit.succeed(mapping)
  }

  /** `ended` waits for the driver to have mapped the memory. */
  #mapped(given: MapCall, address: bigint, span: number, ended: Effect.Effect<void, GpuError>): DriverMapping {
    const { call, failure, handle, memory, shown } = given
    let view: ArrayBuffer | undefined
    const mapping: DriverMapping = {
      // The mapping may have ended while the device was busy: then there is no memory to view.
      memory: Effect.flatMap(ended, () => {
        if (!this.#live.has(mapping)) return Exit.succeed(new ArrayBuffer(0))
        const code = failure?.()
        if (code !== undefined) return Exit.fail(driverError({ call, code }))
        view ??= memoryAt(this.#device.api, address, span)
        shown?.add(view)
        return Exit.succeed(view)
      }),
      // The driver gets the memory back only when no program can reach it any more.
      unmapUnsafe: () => {
        if (!this.#live.delete(mapping)) return Exit.void
        // Views of shared memory that was freed are detached already.
        const isCutOff = view === undefined || (shown !== undefined && !shown.delete(view)) || detachMemory(view)
        if (isCutOff) return this.#unmap(given, address)
        // The program has transferred the memory.
        this.#device.driverObjects.leave("mapping")
        return Exit.fail(leaveUnsafe(this.#device.api, memory, handle))
      }
    }
    return mapping
  }

  #unmap({ memory, unmap, unmapCall }: MapCall, address: bigint): Exit.Exit<void, GpuError> {
    const { driverObjects, status } = this.#device
    const recorded = this.#queue.recordReturn(
      { call: unmapCall, bytes: 0, label: CommandLabel.unmap(memory), ...usedBy(memory) },
      (queue, event) => {
        const code = unmap(queue, event, address)
        if (code === OpenClCode.success) driverObjects.remove("mapping")
        return code
      }
    )
    return status.error === undefined ? recorded : Exit.void
  }

  /** Ends what is left, when the queue closes. */
  endAll(): void {
    for (const mapping of this.#live) mapping.unmapUnsafe()
  }
}

const usedBy = (memory: DeviceBuffer | DeviceImage) =>
  memory instanceof DeviceBuffer ? { buffers: [memory] } : { images: [memory] }
