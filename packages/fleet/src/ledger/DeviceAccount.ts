/**
 * The account of one device: its limit, and the bytes of the reservations on it. As an account of a pool's machine it may be charged
 * with more than its limit, by grants that its host reports; then it has no room until some of them end.
 *
 * @internal
 */
import type { OfferedDevice } from "../protocol/FleetModel.ts"

/** The host of a device. */
export interface DeviceHost {
  readonly name: string
  readonly state: "current" | "draining" | "lost"
}

let lastNumber = 0

export class DeviceAccount {
  /** Unique in the program, and larger than that of each device which joined before. */
  readonly number = ++lastNumber
  readonly host: DeviceHost
  readonly offered: OfferedDevice
  /** Bytes of the reservations on it, and how many these are. */
  chargedBytes = 0
  reservations = 0
  /** What its host has free by its own word, less what was placed there since. `Infinity` while the host has not refused anything. */
  #ceiling = Infinity

  constructor(host: DeviceHost, offered: OfferedDevice) {
    this.host = host
    this.offered = offered
  }

  get limit(): number {
    return this.offered.capacity
  }

  get name(): string {
    return `${this.host.name}/${this.offered.name}`
  }

  /** The bytes that may be placed on it now. */
  get room(): number {
    return this.host.state === "current" ? Math.min(this.limit - this.chargedBytes, this.#ceiling) : 0
  }

  charge(bytes: number): void {
    this.chargedBytes += bytes
    this.reservations++
    this.#ceiling -= bytes
  }

  release(bytes: number): void {
    this.chargedBytes -= bytes
    this.reservations--
  }

  /** Its host has refused a reservation, since it has no more than this free. */
  refused(freeBytes: number): void {
    this.#ceiling = Math.min(this.#ceiling, freeBytes)
  }

  /** Its host has reported. Returns whether it may have more room than before. */
  reported(): boolean {
    const wasLimited = this.#ceiling !== Infinity
    this.#ceiling = Infinity
    return wasLimited
  }
}
