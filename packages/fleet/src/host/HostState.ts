/**
 * What a host knows of itself: its epoch, when a broker last confirmed that, and what it has to report.
 *
 * @internal
 */
import { GpuError, HostLost } from "effect-gpu-pool/GpuError"
import * as Latch from "effect/Latch"
import type { Grant, OfferedDevice } from "../protocol/FleetModel.ts"
import type { Timing } from "../protocol/Timing.ts"

/** What a host has granted and ended since its last report. */
export interface Changes {
  readonly granted: ReadonlyArray<Grant>
  readonly ended: ReadonlyArray<string>
}

/**
 * - `joining`: it has no epoch, and grants nothing.
 * - `current`: a broker has confirmed its epoch, not longer than `hostTimeout` ago.
 * - `draining`: the same, and it grants nothing more.
 * - `left`: it has ended.
 */
export type Membership = "joining" | "current" | "draining" | "left"

export class HostState {
  readonly name: string
  readonly devices: ReadonlyMap<string, OfferedDevice>
  readonly timing: Timing
  /** Open while something is to report. */
  readonly changed = Latch.makeUnsafe(false)
  membership: Membership = "joining"
  /** The last epoch that it had; 0 before the first. */
  epoch = 0
  /** When the last call was made that a broker answered with a confirmation. */
  confirmedAt = -Infinity
  /** The reservations that it has granted. */
  readonly grants = new Map<string, Grant>()
  readonly #now: () => number
  #granted: Array<Grant> = []
  #ended: Array<string> = []

  constructor(name: string, devices: ReadonlyArray<OfferedDevice>, timing: Timing, now: () => number) {
    this.name = name
    this.devices = new Map(devices.map((device) => [device.name, device]))
    this.timing = timing
    this.#now = now
  }

  get hasEpoch(): boolean {
    return this.membership === "current" || this.membership === "draining"
  }

  /** How long its epoch still holds without a further confirmation, in milliseconds. */
  get left(): number {
    return this.confirmedAt + this.timing.hostTimeout - this.#now()
  }

  /** HostLost, unless the host is in this epoch and may act. */
  problem(epoch: number, mayHaveRun = false): GpuError | undefined {
    if (this.hasEpoch && epoch === this.epoch && this.left > 0) return undefined
    return this.lost(epoch, this.#whyNot(epoch), mayHaveRun)
  }

  #whyNot(epoch: number): string {
    if (this.membership === "left") return "it has left the fleet"
    if (epoch !== this.epoch) return `its epoch is now ${this.epoch}`
    return this.hasEpoch
      ? `no broker has confirmed it for ${this.timing.hostTimeout - this.left} ms`
      : "its epoch is over, and it has no other yet"
  }

  /** Why a reservation of this epoch has ended. */
  whyEnded(epoch: number, mayHaveRun: boolean): GpuError {
    return this.problem(epoch, mayHaveRun) ?? this.lost(epoch, "the reservation has ended", mayHaveRun)
  }

  lost(epoch: number, detail: string, mayHaveRun: boolean): GpuError {
    return new GpuError({ reason: new HostLost({ host: this.name, epoch, detail, mayHaveRun }) })
  }

  granted(grant: Grant): void {
    this.grants.set(grant.id, grant)
    this.#granted.push(grant)
    this.changed.openUnsafe()
  }

  ended(id: string): void {
    this.grants.delete(id)
    this.#ended.push(id)
    this.changed.openUnsafe()
  }

  /** What is to report now. */
  changes(): Changes {
    this.changed.closeUnsafe()
    return { granted: this.#granted.slice(), ended: this.#ended.slice() }
  }

  /** A broker has got these changes, which were the first ones to report, in a call that began at this time. */
  reported({ ended, granted }: Changes, askedAt: number): void {
    this.#granted = this.#granted.slice(granted.length)
    this.#ended = this.#ended.slice(ended.length)
    this.confirmedAt = askedAt
  }

  /** A broker has accepted the host in this epoch, with the grants that it had when these were the changes. */
  joined(epoch: number, askedAt: number, changes: Changes): void {
    this.epoch = epoch
    if (this.membership === "joining") this.membership = "current"
    this.reported(changes, askedAt)
  }
}
