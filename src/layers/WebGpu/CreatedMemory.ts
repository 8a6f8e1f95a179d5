/**
 * Creation of what has memory, and the memory of destroyed objects that the driver still keeps.
 *
 * Dawn frees a destroyed buffer when a submit that came after the destroy completes. A loop that never submits would use
 * up the address space, or the process's 65,530 mappings; so would one that never waits, on a device that works more
 * slowly than the program asks. And Dawn keeps the heaps of the worst moment until the device is closed.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import { driverError, inScopes, isOutOfMemory, thrown } from "./commands/ErrorScopes.ts"
import { submitNothing } from "./commands/SubmittedWork.ts"
import { awaitDevice, awaitEnd } from "./opening/AwaitDevice.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"

/** An empty submit and its completion take some 10 µs. */
const destroysPerSubmit = 64
const bytesPerSubmit = 4 * 2 ** 20

/** So many destroyed bytes may always await their return; beyond that, as many as the live objects have. */
const allowedBytes = 16 * 2 ** 20

/** An object to create. */
export interface Creation<A> {
  /** The driver's function, for errors. */
  readonly call: string
  /** For OutOfMemory. */
  readonly bytes: number
  /** Why it cannot be created now, asked in the step in which it would be. */
  readonly problem?: (() => GpuError | undefined) | undefined
  /** Calls the driver, and counts the object. */
  readonly make: () => A
  /** Gives it its first contents, in the same step. */
  readonly fill?: ((made: A) => void) | undefined
  readonly destroy: (made: A) => void
}

/** The memory of the buffers, or of the images, of one device. */
export class CreatedMemory {
  readonly #opened: OpenDevice
  #liveBytes = 0
  /** Bytes on their way back, those of {@link #unsubmittedBytes} included. */
  #bytes = 0
  #unsubmittedBytes = 0
  #destroysSinceSubmit = 0
  /** Settles when the driver has freed everything destroyed before the last submit of this class. */
  #returned: Promise<unknown> = Promise.resolve()

  constructor(opened: OpenDevice) {
    this.#opened = opened
  }

  /** Creates an object in error scopes, once there is room for it. */
  create<A>(creation: Creation<A>): Effect.Effect<A, GpuError> {
    return Effect.suspend(() => {
      const request = Effect.suspend(() => this.#opened.status.error ?? creation.problem?.() ?? this.#request(creation))
      return this.#bytes <= Math.max(allowedBytes, this.#liveBytes) ? request : Effect.andThen(this.#room(), request)
    })
  }

  /**
   * Creates an object in this step, without a wait for room or for the driver's answer. Where that is a refusal, the object is not to be
   * reused, and the next command that waits fails: `onRefusal` is called.
   */
  createDeferred<A>(creation: Creation<A>, onRefusal: (made: A) => void): Exit.Exit<A, GpuError> {
    const { bytes, call, destroy, fill, make } = creation
    const { device, failures, status } = this.#opened
    const problem = status.error ?? creation.problem?.()
    if (problem !== undefined) return Exit.fail(problem)
    let made: A | undefined
    let error: GpuError | undefined
    const answered = inScopes(device, () => {
      try {
        made = make()
        fill?.(made)
      } catch (cause) {
        error = driverError(call, [thrown(cause)], [])
      }
    })
    if (error !== undefined || made === undefined) {
      if (made !== undefined) destroy(made)
      return Exit.fail(error ?? outOfMemory(bytes))
    }
    const refused = made
    failures.follow(call, answered, () => {
      onRefusal(refused)
      return []
    }, bytes)
    return Exit.succeed(made)
  }

  /** Counts an object of so many bytes. */
  add(bytes: number): void {
    this.#liveBytes += bytes
  }

  /** Counts an object that was destroyed just now, or that stays with the program. */
  remove(bytes: number, isDestroyed: boolean): void {
    this.#liveBytes -= bytes
    if (!isDestroyed) return
    this.#bytes += bytes
    this.#unsubmittedBytes += bytes
    this.#destroysSinceSubmit++
    if (this.#destroysSinceSubmit >= destroysPerSubmit || this.#unsubmittedBytes >= bytesPerSubmit) this.#submit()
  }

  #request<A>({ bytes, call, destroy, fill, make }: Creation<A>): Effect.Effect<A, GpuError> {
    let made: A | undefined
    // A failed creation still gives an object, invalid but normal to look at: it is destroyed and never handed out.
    const abandon = (): void => {
      if (made !== undefined) destroy(made)
    }
    const start = async () => {
      const failures = await inScopes(this.#opened.device, () => {
        made = make()
        fill?.(made)
      })
      if (failures.length === 0 && made !== undefined) return Exit.succeed(made)
      abandon()
      return Exit.fail(isOutOfMemory(failures) ? outOfMemory(bytes) : driverError(call, failures, []))
    }
    return awaitDevice<A>({ status: this.#opened.status, call, start, abandon })
  }

  /** Waits until fewer destroyed bytes await their return. */
  #room(): Effect.Effect<void, GpuError> {
    return awaitEnd(this.#opened.status, "GPUQueue.onSubmittedWorkDone", () => {
      if (this.#destroysSinceSubmit > 0) this.#submit()
      return this.#returned
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
