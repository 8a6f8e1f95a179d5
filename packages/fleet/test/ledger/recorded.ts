/** A ledger that writes down what it decides, and short forms of its inputs. */
import { isGpuError } from "effect-gpu-pool/GpuError"
import { Ledger, type LedgerOptions } from "../../src/ledger/Ledger.ts"
import type { Join, Place, Report } from "../../src/protocol/BrokerRpcs.ts"
import type { OfferedDevice, Placement } from "../../src/protocol/FleetModel.ts"

export const device = (name: string, capacity: number, more: Partial<OfferedDevice> = {}): OfferedDevice => ({
  name,
  backend: "host",
  description: "",
  capacity,
  labels: {},
  facts: {},
  ...more
})

/** An offer of devices with these capacities, named "0", "1" and so on. */
export const offer = (host: string, capacities: ReadonlyArray<number>, more: Partial<Join> = {}): Join => ({
  host,
  incarnation: `${host} 1`,
  epoch: undefined,
  address: { host: "127.0.0.1", port: 7100 },
  devices: capacities.map((capacity, n) => device(String(n), capacity)),
  grants: [],
  ...more
})

/** What a client asks for, in short. */
export type Asked = Partial<Place> & Pick<Place, "id" | "bytes">

export class Recorded {
  readonly ledger: Ledger
  /** What was decided since the last call of `decided`, as `x at a/0` or `x: OutOfMemory`. */
  #decided: Array<string> = []
  readonly placements = new Map<string, Placement>()
  readonly messages = new Map<string, string>()
  now: number

  constructor(options: Partial<LedgerOptions> = {}) {
    this.now = options.startedAt ?? 1000
    this.ledger = new Ledger({
      hostTimeout: 1000,
      claimTimeout: 500,
      recovery: 0,
      startedAt: this.now,
      ...options
    }, {
      placed: (placement) => {
        this.placements.set(placement.id, placement)
        this.#decided.push(`${placement.id} at ${placement.host}/${placement.device}`)
      },
      failed: (id, { message, reason }) => {
        this.messages.set(id, message)
        this.#decided.push(`${id}: ${reason._tag}`)
      },
      lost: (host, epoch, detail) => {
        this.messages.set(host, detail)
        this.#decided.push(`${host} is lost in ${epoch}`)
      }
    })
  }

  decided(): ReadonlyArray<string> {
    const decided = this.#decided
    this.#decided = []
    return decided
  }

  /** The epoch of a host that joins, or the message of its refusal. */
  join(join: Join): number | string {
    const answer = this.ledger.join(join, this.now)
    return isGpuError(answer) ? answer.message : answer.epoch
  }

  place(asked: Asked): ReadonlyArray<string> {
    this.ledger.place(
      {
        where: {},
        label: undefined,
        since: this.now,
        onExhausted: "wait",
        waitAtMost: Infinity,
        refused: undefined,
        ...asked
      },
      this.now
    )
    return this.decided()
  }

  report(host: string, epoch: number, more: Partial<Report> = {}): boolean {
    return this.ledger.report({ host, epoch, granted: [], ended: [], isDraining: false, ...more }, this.now)
  }

  /** The host reports that it has granted what was placed on it. */
  grant(...ids: ReadonlyArray<string>): void {
    for (const id of ids) {
      const { bytes, device, epoch, host } = this.placements.get(id)!
      this.report(host, epoch, { granted: [{ id, device, bytes }] })
    }
  }

  /** The host reports that granted reservations have ended. */
  end(...ids: ReadonlyArray<string>): ReadonlyArray<string> {
    for (const id of ids) {
      const { epoch, host } = this.placements.get(id)!
      this.report(host, epoch, { ended: [id] })
    }
    return this.decided()
  }

  /** Time passes. */
  pass(millis: number): ReadonlyArray<string> {
    this.now += millis
    this.ledger.tick(this.now)
    return this.decided()
  }

  /** The bytes reserved on each device, by its name. */
  get reserved(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.ledger.status(this.now).hosts.flatMap(({ devices, name: host }) =>
        devices.map(({ name, reservedBytes }) => [`${host}/${name}`, reservedBytes])
      )
    )
  }

  get waiting(): ReadonlyArray<string> {
    return this.ledger.status(this.now).waiting.map(({ id }) => id)
  }
}
