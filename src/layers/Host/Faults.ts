/**
 * Failures that a test plans for the host backend, and the counts of what the backend was asked to do.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import { delayOf, FaultPlan, type FaultWindow } from "../../domain/device/FaultPlan.ts"

export type { FaultWindow } from "../../domain/device/FaultPlan.ts"

/**
 * Delays that the backend adds, by kind. They pass on Effect's clock, so that a TestClock drives them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Delays {
  /** Before a buffer is created. Interruption during it creates nothing. */
  readonly allocations?: Duration.Input | undefined
  /** Between taking the bytes in queue order and handing them over. */
  readonly reads?: Duration.Input | undefined
}

/**
 * The planned failures and the counts of calls, shared between a test and the host devices that it opens. The counts
 * and plans belong to the test, so they stay readable after the device is closed and carry over to the next one.
 *
 * Faults go by counts of calls, not by time, so a run with the same calls fails at the same place. A plan that no
 * call can meet, as with a position of 0, throws a RangeError: a test would pass for the wrong reason.
 *
 * **Example** (A driver that refuses the second allocation)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const faults = Host.makeFaults()
 * faults.failAllocations({ nth: 2, error: "DriverError" })
 * const program = Effect.gen(function*() {
 *   yield* BufferPool.allocate(64)
 *   return yield* Effect.flip(BufferPool.allocate(4096))
 * }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer({ faults })))
 * const error = await Effect.runPromise(program)
 * error.reason._tag // => "DriverError"
 * ```
 *
 * @category testing
 * @since 0.1.0
 */
export class Faults {
  /** What is planned for the calls of each kind, and their counts. @internal */
  readonly calls = {
    openings: new FaultPlan<string>(),
    operations: new FaultPlan<string>(),
    allocations: new FaultPlan<"OutOfMemory" | "DriverError">(),
    frees: new FaultPlan<string>(),
    commands: new FaultPlan<string>(),
    reads: new FaultPlan<never>()
  }
  readonly #devices = new Set<DeviceStatus>()
  #delays: { readonly allocations: Duration.Duration | undefined; readonly reads: Duration.Duration | undefined } =
    noDelays

  /** How many times a program tried to open a device, failed attempts included. */
  get openings(): number {
    return this.calls.openings.count
  }

  /**
   * Allocations that reached the driver, failed ones included; one that was interrupted while delayed is not counted.
   */
  get allocations(): number {
    return this.calls.allocations.count
  }

  /** Buffers that were freed, failed frees included. */
  get frees(): number {
    return this.calls.frees.count
  }

  /** Commands: writes, copies, fills and dispatches, in the order in which they were recorded. */
  get commands(): number {
    return this.calls.commands.count
  }

  /** Reads that were requested. */
  get reads(): number {
    return this.calls.reads.count
  }

  /** Allocations, frees, commands, reads, finishes and reclaims together. */
  get operations(): number {
    return this.calls.operations.count
  }

  /** Makes an opening of the device fail with DeviceUnavailable, as on a machine without a driver. */
  failOpenings(options?: FaultWindow & { readonly why?: string | undefined }): void {
    this.calls.openings.add(options, options?.why ?? "a planned fault")
  }

  /** Makes allocations fail, with OutOfMemory by default. */
  failAllocations(options?: FaultWindow & { readonly error?: "OutOfMemory" | "DriverError" | undefined }): void {
    this.calls.allocations.add(options, options?.error ?? "OutOfMemory")
  }

  /** Makes frees fail with DriverError. The memory is freed all the same. */
  failFrees(options?: FaultWindow & { readonly log?: string | undefined }): void {
    this.calls.frees.add(options, options?.log ?? "a planned fault")
  }

  /** Makes commands fail: they do nothing, and the next finish or read fails with a DriverError that names them. */
  failCommands(options?: FaultWindow & { readonly log?: string | undefined }): void {
    this.calls.commands.add(options, options?.log ?? "a planned fault")
  }

  /** Loses every open device that uses these faults, now. Does nothing while none is open. */
  lose(detail: string = "a planned fault"): void {
    // A subscriber of a loss may open another device, which is not to be lost too.
    const open = Array.from(this.#devices)
    for (const device of open) device.lose(detail)
  }

  /** Loses the device at its nth operation from now, 1 being the next one; that operation fails with DeviceLost. */
  loseAt(nth: number, detail: string = "a planned fault"): void {
    this.calls.operations.add({ nth }, detail)
  }

  /** Sets the delays from now on, in place of the layer's `latency`; a kind left out keeps the layer's. */
  delay(delays: Delays): void {
    this.#delays = {
      allocations: delayOf(delays.allocations),
      reads: delayOf(delays.reads)
    }
  }

  /** Forgets every planned fault and delay. The counts stay. */
  clear(): void {
    for (const plan of Object.values(this.calls)) plan.clear()
    this.#delays = noDelays
  }

  /** @internal */
  attach(device: DeviceStatus): () => void {
    this.#devices.add(device)
    return () => {
      this.#devices.delete(device)
    }
  }

  /** Counts an operation and loses the device when that was planned. @internal */
  operation(device: DeviceStatus): void {
    const detail = this.calls.operations.next()
    if (detail !== undefined) device.lose(detail)
  }

  /** @internal */
  delayOf(kind: keyof Delays): Duration.Duration | undefined {
    return this.#delays[kind]
  }
}

/**
 * A controller without planned faults.
 *
 * **Example** (Proving that memory comes back)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const faults = Host.makeFaults()
 * await Effect.runPromise(
 *   Effect.scoped(BufferPool.allocate(64)).pipe(
 *     Effect.provide(BufferPool.layer()),
 *     Effect.provide(Host.layer({ faults }))
 *   )
 * )
 * const counts = [faults.allocations, faults.frees]
 * counts // => [1, 1]
 * ```
 *
 * @category testing
 * @since 0.1.0
 */
export const makeFaults = (): Faults => new Faults()

const noDelays = { allocations: undefined, reads: undefined }
