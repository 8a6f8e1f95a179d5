/**
 * The reservations of a host: each within the capacity that its device offers, and within the pool of the device.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { BufferPools } from "effect-gpu-pool/BufferPools"
import { type GpuError, invalidRequest, outOfMemory, released } from "effect-gpu-pool/GpuError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { Grant } from "../protocol/FleetModel.ts"
import { HeldLease, type LeaseServices } from "./HeldLease.ts"
import type { HostState } from "./HostState.ts"
import { TransferLimit, Transfers } from "./Transfers.ts"

/** What a client asks a host to hold. */
export interface Asked extends Grant {
  readonly epoch: number
}

/** A buffer, by its identifiers. */
export interface OwnedBuffer {
  readonly lease: string
  readonly epoch: number
  readonly buffer: string
}

export class HostLeases {
  readonly #state: HostState
  readonly #transferLimit: TransferLimit
  readonly #leases = new Map<string, HeldLease>()
  /** Bytes of each device that are granted, or asked of its pool. */
  readonly #used = new Map<string, number>()
  /** Opened when the last reservation ends. */
  #ended = Latch.makeUnsafe(false)
  /** Ends all leases of the current epoch. */
  #over = Deferred.makeUnsafe<never, GpuError>()

  constructor(state: HostState, maxInputBytes: number) {
    this.#state = state
    this.#transferLimit = new TransferLimit(maxInputBytes)
  }

  /** Waits until no reservation is left, and the pools have what they had. */
  readonly awaitEmpty: Effect.Effect<void> = Effect.suspend(() =>
    this.#used.size === 0 ? Effect.void : Effect.andThen(this.#ended.await, this.awaitEmpty)
  )

  /** The reservation of a call, which fails with `missing` where it has ended. */
  found(id: string, epoch: number, missing?: GpuError): Effect.Effect<HeldLease, GpuError> {
    return Effect.suspend(() => {
      const old = this.#state.problem(epoch)
      if (old !== undefined) return Effect.fail(old)
      const lease = this.#leases.get(id)
      if (lease?.isOpen === true) return Effect.succeed(lease)
      const problem = missing ??
        invalidRequest(
          "Fleet",
          `the host "${this.#state.name}" has no reservation "${id}"`,
          "Use it while its scope is open."
        )
      return Effect.fail(problem)
    })
  }

  /** The reservation of a buffer. Fails with Released where it has ended, and the buffer with it. */
  owner({ buffer, epoch, lease }: OwnedBuffer, operation: string): Effect.Effect<HeldLease, GpuError> {
    return this.found(
      lease,
      epoch,
      released(operation, { label: buffer, size: 0, what: undefined, ended: "scopeClosed" })
    )
  }

  /** As {@link within}, for a buffer. */
  withBuffer<A, E, R>(
    buffer: OwnedBuffer,
    operation: string,
    use: (lease: HeldLease) => Effect.Effect<A, E, R | LeaseServices>
  ): Effect.Effect<A, E | GpuError, Exclude<R, LeaseServices>> {
    return this.#inside(this.owner(buffer, operation), buffer.epoch, use)
  }

  /** Runs an effect on the device of a reservation, with leases that draw from it, while it lasts. */
  within<A, E, R>(
    id: string,
    epoch: number,
    use: (lease: HeldLease) => Effect.Effect<A, E, R | LeaseServices>
  ): Effect.Effect<A, E | GpuError, Exclude<R, LeaseServices>> {
    return this.#inside(this.found(id, epoch), epoch, use)
  }

  #inside<A, E, R>(
    found: Effect.Effect<HeldLease, GpuError>,
    epoch: number,
    use: (lease: HeldLease) => Effect.Effect<A, E, R | LeaseServices>
  ): Effect.Effect<A, E | GpuError, Exclude<R, LeaseServices>> {
    return Effect.flatMap(found, (lease) => lease.run(use(lease), () => this.#state.whyEnded(epoch, false)))
  }

  /** Ends every lease: the epoch is over. */
  endAll(problem: GpuError): Effect.Effect<void> {
    return Effect.suspend(() => {
      const over = this.#over
      this.#over = Deferred.makeUnsafe()
      return Effect.asVoid(Deferred.fail(over, problem))
    })
  }

  /**
   * Holds a reservation until the scope closes. It succeeds, once it is granted, with what fails when the reservation ends before. It is
   * granted or refused at once, since the broker has waited.
   */
  readonly hold = Effect.fnUntraced(function*(this: HostLeases, asked: Asked) {
    const { bytes, device, epoch, id } = asked
    const problem = this.#problem(asked)
    if (problem !== undefined) return yield* Effect.fail(problem)
    yield* Effect.acquireRelease(
      Effect.sync(() => this.#use(device, bytes)),
      () =>
        Effect.sync(() => {
          this.#use(device, -bytes)
          // By now the pool has what the reservation had.
          if (this.#state.grants.has(id)) this.#state.ended(id)
        })
    )
    const granted = Deferred.makeUnsafe<void, GpuError>()
    const over = this.#over
    const held = Effect.gen({ self: this }, function*() {
      const lease = yield* HeldLease.make(
        { bytes, device, id },
        new Transfers(this.#transferLimit, yield* Effect.scope)
      )
      yield* Effect.acquireRelease(
        Effect.sync(() => this.#begin(lease)),
        () => Effect.sync(() => this.#leases.delete(id))
      )
      // The epoch may have ended while the pool was asked.
      const late = this.#state.problem(epoch)
      if (late !== undefined) return yield* Effect.fail(late)
      yield* Deferred.succeed(granted, undefined)
      return yield* Deferred.await(over)
    })
    const pools = yield* BufferPools
    const holding = pools.on(device, BufferPool.reserve(Effect.scoped(held), bytes, { onExhausted: "fail" })).pipe(
      Effect.onError((cause) => Deferred.failCause(granted, cause))
    )
    const fiber = yield* Effect.forkScoped(holding)
    yield* Deferred.await(granted)
    return fiber
  })

  #begin(lease: HeldLease): void {
    this.#leases.set(lease.grant.id, lease)
    this.#state.granted(lease.grant)
  }

  #use(device: string, bytes: number): void {
    const used = (this.#used.get(device) ?? 0) + bytes
    if (used > 0) this.#used.set(device, used)
    else this.#used.delete(device)
    if (this.#used.size > 0) return
    this.#ended.openUnsafe()
    this.#ended = Latch.makeUnsafe(false)
  }

  #problem({ bytes, device, epoch, id }: Asked): GpuError | undefined {
    const state = this.#state
    const problem = state.problem(epoch)
    if (problem !== undefined) return problem
    if (state.membership === "draining") return state.lost(epoch, "it is ending, and takes no more reservations", false)
    const offered = state.devices.get(device)
    if (offered === undefined) {
      return invalidRequest("Fleet.reserve", `the host "${state.name}" has no device "${device}"`, hint)
    }
    if (!Number.isSafeInteger(bytes) || bytes <= 0) {
      return invalidRequest("Fleet.reserve", `${bytes} bytes are asked for`, hint)
    }
    if (state.grants.has(id)) return invalidRequest("Fleet.reserve", `the reservation "${id}" exists already`, hint)
    const used = this.#used.get(device) ?? 0
    return used + bytes <= offered.capacity
      ? undefined
      : outOfMemory(bytes, { limit: offered.capacity, activeBytes: used, managedBytes: used, stepsTried: [] })
  }
}

const hint = "Ask the broker where to reserve: Fleet.reserve does."
