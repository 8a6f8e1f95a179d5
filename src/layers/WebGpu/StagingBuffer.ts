/**
 * Staging memory, and its mapping in place: the memory that the driver maps is what the program gets.
 *
 * The specification lets no program transfer a mapped ArrayBuffer, and browsers obey. What npm `webgpu` maps in Node can be
 * transferred: to unmap or destroy the GPUBuffer then, or its device, would leave the program an array over freed memory.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpubuffer-getmappedrange
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { isDetached, lend } from "../../domain/data/DetachMemory.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import { takeUnsafe } from "../../services/buffers/mapping/MappedMemory.ts"
import { driverError, inScopes, isOutOfMemory, type ScopedFailure, thrown } from "./commands/ErrorScopes.ts"
import { ask } from "./opening/AwaitDevice.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import { roundUp4, WebGpuBuffer } from "./WebGpuBuffer.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

/** The numbers of GPUMapMode. */
const mapMode = { read: 0x1, write: 0x2 }

/** Devices with memory that a program has taken. A collected GPUBuffer would free it. */
const kept = new Set<OpenDevice>()

export class StagingBuffer extends WebGpuBuffer {
  readonly #opened: OpenDevice
  /** Settles when the device has answered the mapping that is under way. */
  #mapping: Promise<unknown> | undefined = undefined
  /** The mapped memory, as the program has it. */
  #lent: ArrayBuffer | undefined = undefined

  constructor(
    opened: OpenDevice,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    gpu: WebGpuHandle.Buffer
  ) {
    super(opened.info, size, usage, label, gpu)
    this.#opened = opened
  }

  /**
   * Call it in the synchronous step that has checked the range and submitted the earlier work. `recorded` waits for the
   * failures of that work.
   */
  override readonly mapUnsafe: NonNullable<WebGpuBuffer["mapUnsafe"]> = (from, bytes, recorded) => {
    const size = roundUp4(bytes)
    const contents = Deferred.makeUnsafe<ArrayBuffer, GpuError>()
    let isMapped = false
    let isGivenUp = false
    const cancel = ask<ArrayBuffer>({
      status: this.#opened.status,
      call: "GPUBuffer.mapAsync",
      start: async () => {
        // The device answers a mapping that was given up before it can begin another.
        if (this.#mapping !== undefined) await this.#mapping
        const failures = isGivenUp || this.destroyed ? [] : await this.#map(from, size)
        // The destroy has ended the mapping, as an unmap would have.
        if (isGivenUp || this.destroyed) return Exit.succeed(new ArrayBuffer(0))
        if (failures.length > 0) return Exit.fail(failureOf(failures, bytes))
        isMapped = true
        return Exit.succeed(this.#lend(from, size))
      },
      abandon: () => {
        isGivenUp = true
        this.#abandon()
      }
    }, (exit) => Deferred.doneUnsafe(contents, exit))
    return {
      memory: Effect.flatMap(Deferred.await(contents), (contents) => Effect.as(recorded, contents)),
      unmapUnsafe: () => {
        cancel()
        // The fiber that waits for the memory learns that the mapping has ended.
        Deferred.doneUnsafe(contents, Exit.succeed(new ArrayBuffer(0)))
        if (!isMapped) return Exit.void
        isMapped = false
        return this.#unmap() ? Exit.void : Exit.fail(takeUnsafe(this))
      }
    }
  }

  /** Asks the device to map bytes, and returns what failed. */
  async #map(from: number, size: number): Promise<ReadonlyArray<ScopedFailure>> {
    const mode = this.usage === BufferUsage.download ? mapMode.read : mapMode.write
    let mapping: Promise<ScopedFailure | undefined> | undefined
    const scoped = inScopes(this.#opened.device, () => {
      mapping = this.gpu.mapAsync(mode, from, size).then(() => undefined, thrown)
    })
    this.#mapping = mapping
    const [failures, failure] = [await scoped, await mapping]
    if (this.#mapping === mapping) this.#mapping = undefined
    return failure === undefined ? failures : [...failures, failure]
  }

  /** Mapped memory for the program, until it is unmapped. */
  #lend(from: number, size: number): ArrayBuffer {
    guardDestroy(this.#opened)
    return this.#lent = lend(this.gpu.getMappedRange(from, size))
  }

  /** Stops waiting for the driver. Until it answers, no other owner may have the memory. */
  #abandon(): void {
    this.distrust()
    // Deno refuses to unmap a destroyed buffer.
    void this.#mapping?.then(() => this.destroyed ? undefined : this.gpu.unmap())
  }

  /** Gives mapped memory back to the driver, which detaches it. False where the program has taken it. */
  #unmap(): boolean {
    if (this.checkTaken()) return false
    this.#lent = undefined
    this.gpu.unmap()
    return true
  }

  /** A mapping under way is waited for: when one is cut short, Dawn's binding may settle its promise twice, which ends the process. */
  override destroyGpu(): boolean {
    if (this.checkTaken()) return false
    if (this.#mapping === undefined) return super.destroyGpu()
    void this.#mapping.then(() => super.destroyGpu())
    return true
  }

  /**
   * Whether the program has transferred the mapped memory: then the buffer must never be unmapped or destroyed, for as long as the
   * process lives. It only looks: Deno copies what is mapped when it is unmapped, so nothing may detach it before.
   */
  checkTaken(): boolean {
    const { taken } = this.#opened
    // What was unmapped by other code is detached as well.
    if (this.#lent !== undefined && isDetached(this.#lent) && this.gpu.mapState !== "unmapped") {
      taken.add(this)
      kept.add(this.#opened)
    }
    return taken.has(this)
  }
}

const failureOf = (failures: ReadonlyArray<ScopedFailure>, bytes: number): GpuError =>
  isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUBuffer.mapAsync", failures, [])

const guarded = new WeakSet<WebGpuHandle.Device>()

/**
 * Replaces `destroy` of the device, which the program may call too: while a program has taken memory, the device only
 * counts as lost. A device that other code has opened stays as it is.
 */
const guardDestroy = ({ buffers, device, isShared, status, taken }: OpenDevice): void => {
  if (isShared || guarded.has(device)) return
  guarded.add(device)
  const destroy = device.destroy.bind(device)
  const value = (): void => {
    for (const buffer of buffers) if (buffer instanceof StagingBuffer) buffer.checkTaken()
    if (taken.size === 0) destroy()
    else status.lose("destroyed, except for memory that the program has transferred to another ArrayBuffer")
  }
  Reflect.defineProperty(device, "destroy", { value, configurable: true, writable: true })
}
