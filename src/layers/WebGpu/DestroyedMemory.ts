/**
 * Memory of destroyed buffers that the driver still keeps.
 *
 * Dawn frees a destroyed buffer when a submit that came after the destroy completes. A loop that never submits would use
 * up the address space, or the process's 65,530 mappings; so would one that never waits, on a device that works more
 * slowly than the program asks. And Dawn keeps the heaps of the worst moment until the device is closed.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../domain/GpuError.ts"
import { submitNothing } from "./commands/SubmittedWork.ts"
import { awaitDevice } from "./opening/AwaitDevice.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"

/** An empty submit and its completion take some 10 µs. */
const destroysPerSubmit = 64
const bytesPerSubmit = 4 * 2 ** 20

/** So many destroyed bytes may always await their return; beyond that, as many as the live buffers have. */
const allowedBytes = 16 * 2 ** 20

export class DestroyedMemory {
  readonly #opened: OpenDevice
  /** Bytes on their way back, those of {@link #unsubmittedBytes} included. */
  #bytes = 0
  #unsubmittedBytes = 0
  #destroysSinceSubmit = 0
  /** Settles when the driver has freed everything destroyed before the last submit of this class. */
  #returned: Promise<unknown> = Promise.resolve()

  constructor(opened: OpenDevice) {
    this.#opened = opened
  }

  /** Counts a buffer that was destroyed just now. */
  add(bytes: number): void {
    this.#bytes += bytes
    this.#unsubmittedBytes += bytes
    this.#destroysSinceSubmit++
    if (this.#destroysSinceSubmit >= destroysPerSubmit || this.#unsubmittedBytes >= bytesPerSubmit) this.#submit()
  }

  /**
   * Waits while too many destroyed bytes await their return, compared with `liveBytes` of live buffers. `undefined`
   * where there is nothing to wait for, as mostly.
   */
  room(liveBytes: number): Effect.Effect<void, GpuError> | undefined {
    if (this.#bytes <= Math.max(allowedBytes, liveBytes)) return undefined
    return awaitDevice<void>({
      status: this.#opened.status,
      call: "GPUQueue.onSubmittedWorkDone",
      start: async () => {
        if (this.#destroysSinceSubmit > 0) this.#submit()
        await this.#returned
        return Exit.void
      }
    })
  }

  /** A lost device may never settle a promise, and has no memory left. */
  #submit(): void {
    const bytes = this.#unsubmittedBytes
    this.#unsubmittedBytes = 0
    this.#destroysSinceSubmit = 0
    if (this.#opened.status.error !== undefined) return
    const returned = (): void => {
      this.#bytes -= bytes
    }
    submitNothing(this.#opened)
    this.#returned = this.#opened.device.queue.onSubmittedWorkDone().then(returned, returned)
  }
}
