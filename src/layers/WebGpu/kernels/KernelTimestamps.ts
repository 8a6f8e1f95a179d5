/**
 * How long dispatches run, by the timestamps of a device that has the feature for them. A timed dispatch has a pass of
 * its own, since timestamps are written where a pass begins and ends.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import { inScopes } from "../commands/ErrorScopes.ts"
import * as Readback from "../commands/Readback.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { usageBits } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

type Timed = (seconds: number) => void

/** The most queries that a query set may have. */
const queries = 4096

/** Bytes of the timestamps of one set. */
const setBytes = queries * 8

/** A query set, and a callback for each pair of its timestamps, called with the time between them. */
interface Timestamps {
  readonly querySet: WebGpuHandle.QuerySet
  readonly timed: Array<Timed>
}

/**
 * The timestamps of one device. They are read in the background, by one read at a time, which takes all that are
 * encoded by then: so the driver has a staging buffer, a buffer to copy from and a set for 2048 dispatches each,
 * however many are under way. Each read has sets of its own: what a failed submit has not written is 0 in them, and not
 * the time of another dispatch.
 */
export class KernelTimestamps {
  readonly #opened: OpenDevice
  #sets: Array<Timestamps> = []
  #read: Promise<void> = Promise.resolve()
  /** Whether a read is queued that will take what is encoded now. */
  #isAsked = false

  private constructor(opened: OpenDevice) {
    this.#opened = opened
    opened.status.onLost(() => this.#destroy(this.#take()))
  }

  static readonly #ofDevices = new WeakMap<OpenDevice, KernelTimestamps>()

  /** The timestamps of a device, or `undefined` where it lacks the feature. */
  static of(opened: OpenDevice): KernelTimestamps | undefined {
    if (!opened.device.features.has("timestamp-query")) return undefined
    const known = KernelTimestamps.#ofDevices.get(opened) ?? new KernelTimestamps(opened)
    KernelTimestamps.#ofDevices.set(opened, known)
    return known
  }

  /** Begins a timed pass. */
  begin(encoder: WebGpuHandle.CommandEncoder, timed: Timed): WebGpuHandle.ComputePassEncoder {
    const { querySet, timed: all } = this.#room()
    const first = 2 * all.length
    all.push(timed)
    this.#ask()
    return encoder.beginComputePass({
      timestampWrites: { querySet, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 }
    })
  }

  /** A set with room for two more timestamps. */
  #room(): Timestamps {
    const last = this.#sets.at(-1)
    if (last !== undefined && 2 * last.timed.length < queries) return last
    const { device, driverObjects } = this.#opened
    const querySet = device.createQuerySet({
      label: "effect-gpu-pool timestamps",
      type: "timestamp",
      count: queries
    })
    driverObjects.add("querySet")
    const made = { querySet, timed: [] }
    this.#sets.push(made)
    return made
  }

  /** The read begins when this step has submitted what it encodes. A finish waits for it. */
  #ask(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    this.#read = this.#read.then(() => {
      this.#isAsked = false
      return this.#report(this.#take())
    })
    this.#opened.failures.follow("GPUBuffer.mapAsync", this.#read.then(() => []), () => [])
  }

  #take(): ReadonlyArray<Timestamps> {
    const sets = this.#sets
    this.#sets = []
    return sets
  }

  #destroy(sets: ReadonlyArray<Timestamps>): void {
    for (const { querySet } of sets) {
      querySet.destroy()
      this.#opened.driverObjects.remove("querySet")
    }
  }

  /** Settles when the callbacks have been called, or the read has failed: a missing time fails no command. */
  #report(sets: ReadonlyArray<Timestamps>): Promise<void> {
    const last = sets.at(-1)
    if (last === undefined) return Promise.resolve()
    const bytes = (sets.length - 1) * setBytes + last.timed.length * 16
    const { device, driverObjects } = this.#opened
    let resolved: WebGpuHandle.Buffer | undefined
    return new Promise((settle) => {
      Readback.readUnsafe(
        this.#opened,
        {
          label: () => "read the times of kernels",
          bytes,
          encode: (encoder, staging) => {
            resolved = device.createBuffer({ size: bytes, usage: usageBits.queryResolve | usageBits.copySrc })
            driverObjects.add("timestamps")
            for (const [index, { querySet, timed }] of sets.entries()) {
              encoder.resolveQuerySet(querySet, 0, 2 * timed.length, resolved, index * setBytes)
            }
            encoder.copyBufferToBuffer(resolved, 0, staging, 0, bytes)
          },
          take: (staged) => staged.slice(0)
        },
        alone(device),
        (answer) => {
          if (resolved !== undefined) {
            resolved.destroy()
            driverObjects.remove("timestamps")
          }
          this.#destroy(sets)
          if (Exit.isSuccess(answer)) reportAll(sets, new BigUint64Array(answer.value))
          settle()
        }
      )
    })
  }
}

/** A submit for a read alone. */
const alone = (device: WebGpuHandle.Device): Readback.Submit => ({
  run: (encode, submitted) =>
    inScopes(device, () => {
      const encoder = device.createCommandEncoder()
      encode(encoder)
      device.queue.submit([encoder.finish()])
      submitted()
    }),
  done: (buffer) => buffer.destroy()
})

/** Calls the callbacks, except where a driver has set its clock back or the dispatch did not run. */
const reportAll = (sets: ReadonlyArray<Timestamps>, nanoseconds: BigUint64Array): void => {
  for (const [index, { timed }] of sets.entries()) {
    for (const [place, report] of timed.entries()) {
      const at = index * queries + 2 * place
      const [begun, ended] = [nanoseconds[at]!, nanoseconds[at + 1]!]
      if (ended > 0n && ended >= begun) report(Number(ended - begun) / 1e9)
    }
  }
}
