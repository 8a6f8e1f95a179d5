/**
 * A host in one of its epochs, as the ledger knows it.
 *
 * @internal
 */
import type { Join } from "../protocol/BrokerRpcs.ts"
import type { HostStatus } from "../protocol/FleetModel.ts"
import { DeviceAccount, type DeviceHost } from "./DeviceAccount.ts"
import type { WaitingRequest } from "./WaitingRequest.ts"

/** Bytes of a device that a reservation has. */
export interface Placed {
  readonly id: string
  readonly bytes: number
  readonly host: HostRecord
  device: DeviceAccount
  /** The request that got it. A reservation that a host reported has none. */
  readonly request: WaitingRequest | undefined
  /** Whether the host has reported it granted. */
  isGranted: boolean
}

/** How many ended reservations it remembers, so that a late report does not bring them back. */
const mostEnded = 4096

export class HostRecord implements DeviceHost {
  readonly name: string
  readonly incarnation: string
  readonly epoch: number
  address: Join["address"]
  state: DeviceHost["state"] = "current"
  heardAt: number
  devices: ReadonlyMap<string, DeviceAccount> = new Map()
  /** What is placed or granted on it, by the identifiers. */
  readonly placed = new Map<string, Placed>()
  readonly #ended = new Set<string>()

  constructor({ address, host, incarnation }: Join, epoch: number, now: number) {
    this.name = host
    this.incarnation = incarnation
    this.epoch = epoch
    this.address = address
    this.heardAt = now
  }

  /** Takes the devices of a new offer. Returns whether they differ from what it offered before; then all its accounts are new. */
  offers({ address, devices }: Join): boolean {
    this.address = address
    const before = Array.from(this.devices.values(), ({ offered }) => offered)
    if (JSON.stringify(before) === JSON.stringify(devices)) return false
    this.devices = new Map(devices.map((offered) => [offered.name, new DeviceAccount(this, offered)]))
    return true
  }

  put(placed: Placed): void {
    this.#ended.delete(placed.id)
    this.placed.set(placed.id, placed)
    placed.device.charge(placed.bytes)
  }

  take(placed: Placed): void {
    this.placed.delete(placed.id)
    placed.device.release(placed.bytes)
  }

  /** The host offers its devices anew: what is placed on one goes to the new account of that. */
  move(placed: Placed, to: DeviceAccount): void {
    placed.device.release(placed.bytes)
    placed.device = to
    to.charge(placed.bytes)
  }

  /** The host has reported the end of a reservation. */
  remembersEnd(id: string): void {
    this.#ended.add(id)
    if (this.#ended.size <= mostEnded) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      return
    }
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id)
  }

  status(now: number): HostStatus {
    return {
      name: this.name,
      address: this.address,
      epoch: this.epoch,
      state: this.state,
      silentMillis: Math.max(0, now - this.heardAt),
      devices: Array.from(this.devices.values(), ({ chargedBytes, offered, reservations }) => ({
        ...offered,
        reservedBytes: chargedBytes,
        reservations
      }))
    }
  }
}
