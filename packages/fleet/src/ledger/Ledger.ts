/**
 * What the broker of a fleet decides: which hosts are there, on which device a reservation is placed, and who waits.
 *
 * It is synchronous, and knows no fibers, no I/O and no clock: each input has the time. It tells its port what it decides within the
 * input; the port must not call the ledger then.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Join, Place, Report } from "../protocol/BrokerRpcs.ts"
import type { FleetStatus, Grant, Placement } from "../protocol/FleetModel.ts"
import type { DeviceAccount } from "./DeviceAccount.ts"
import { FairQueue } from "./FairQueue.ts"
import { HostRecord, type Placed } from "./HostRecord.ts"
import type { LedgerPort } from "./LedgerPort.ts"
import { OrderedList } from "./OrderedList.ts"
import * as Refusals from "./Refusals.ts"
import { WaitingRequest } from "./WaitingRequest.ts"
import { textOf } from "./Where.ts"

/**
 * What a ledger is made with. All times are milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface LedgerOptions {
  /** After how long a silence a host is lost. */
  readonly hostTimeout: number
  /** How long a placed reservation is kept for a client that has not come to the host. */
  readonly claimTimeout: number
  /** How long nothing is placed and no new host joins, since hosts that an earlier broker knew may join with their grants. */
  readonly recovery: number
  readonly startedAt: number
  /** How often later requests may bypass one that waits, for each device that it could be on: 16, as in a pool. */
  readonly maxBypasses?: number | undefined
  /** Which of several devices with room a reservation gets: the one on which it leaves the fewest bytes free, or the most. */
  readonly preference?: "leastLeft" | "mostLeft" | undefined
}

/** How many lost hosts the status lists, and of how many it is remembered which of their epochs are over. */
const mostLost = 256
const mostOver = 16_384

/** How many waiting reservations the status lists. */
const mostListed = 100

/**
 * The ledger of a fleet.
 *
 * **Example** (Who waits for the only device)
 *
 * ```ts
 * import { Ledger } from "@effect-gpu-pool/fleet/ledger"
 *
 * const decided: Array<string> = []
 * const ledger = new Ledger.Ledger(
 *   { hostTimeout: 10_000, claimTimeout: 5_000, recovery: 0, startedAt: 0 },
 *   {
 *     placed: ({ device, host, id }) => decided.push(`${id} on ${host}/${device}`),
 *     failed: (id, error) => decided.push(`${id}: ${error.reason._tag}`),
 *     lost: (host) => decided.push(`${host} is lost`)
 *   }
 * )
 * const device = { name: "0", backend: "host", description: "", capacity: 100, labels: {}, facts: {} }
 * const address = { host: "127.0.0.1", port: 7101 }
 * ledger.join({ host: "a", incarnation: "1", epoch: undefined, address, devices: [device], grants: [] }, 0)
 *
 * const asked = { bytes: 60, where: {}, label: undefined, since: 0, waitAtMost: Infinity, refused: undefined } as const
 * ledger.place({ ...asked, id: "x", onExhausted: "wait" }, 0)
 * ledger.place({ ...asked, id: "y", onExhausted: "wait" }, 0)
 * ledger.place({ ...asked, id: "z", onExhausted: "fail" }, 0)
 * ledger.cancel("x", 1)
 * decided // => ["x on a/0", "z: OutOfMemory", "y on a/0"]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class Ledger {
  readonly #options: LedgerOptions
  readonly #port: LedgerPort
  readonly #queue: FairQueue
  /** The hosts that are there, from the one that was silent the longest. */
  readonly #hosts = new Map<string, HostRecord>()
  readonly #lost = new Map<string, HostRecord>()
  /** The last epoch of a host that is over. */
  readonly #over = new Map<string, number>()
  /** No epoch was greater. */
  #lastEpoch = 0
  readonly #waiting = new Map<string, WaitingRequest>()
  /** Those of them whose time to wait is bounded. */
  readonly #deadlines = new OrderedList<WaitingRequest>((a, b) =>
    a.deadline === b.deadline ? a.arrival < b.arrival : a.deadline < b.deadline
  )
  /** Where each reservation is: mostly in one place, but several hosts may report it. The first place is the client's. */
  readonly #placed = new Map<string, ReadonlyArray<Placed>>()
  /** Until when reservations are kept for their clients, in the order of these times. */
  readonly #claims = new Map<Placed, number>()
  /** Until when no request fails as too large for every host, since one that is gone may come back: a host in a rolling update. */
  #patientUntil: number
  #now: number
  #arrivals = 0
  readonly #counts = { placed: 0, ended: 0, lost: 0 }

  constructor(options: LedgerOptions, port: LedgerPort) {
    this.#options = options
    this.#port = port
    this.#now = options.startedAt
    this.#patientUntil = options.recovery > 0 ? options.startedAt + options.hostTimeout : -Infinity
    const { maxBypasses = 16, preference = "leastLeft" } = options
    this.#queue = new FairQueue({ maxBypasses, preference, place: (request, device) => this.#placeOn(request, device) })
    this.#queue.isPaused = options.recovery > 0
  }

  /** How many waiting requests were looked at so far: what its decisions cost. */
  get looked(): number {
    return this.#queue.looked
  }

  /** A host offers its devices. Returns its epoch. During the recovery, only hosts that have an epoch join. */
  join(join: Join, now: number): { readonly epoch: number } | GpuError {
    this.tick(now)
    const problem = Refusals.joinProblem(join)
    if (problem !== undefined) return problem
    const known = this.#hosts.get(join.host)
    if (known !== undefined && known.incarnation !== join.incarnation) {
      return Refusals.nameTaken(known.name, known.address, this.#now - known.heardAt)
    }
    // Its name may be that of a host which an earlier broker knew, and which has not joined with its grants yet.
    if (known === undefined && join.epoch === undefined && this.#queue.isPaused) {
      return Refusals.recovering(join.host, this.#options.startedAt + this.#options.recovery - this.#now)
    }
    if (known !== undefined && known.epoch === join.epoch) this.#joinsAgain(known, join)
    else {
      if (known !== undefined) this.#lose(known, `its process has joined again, without this epoch`)
      this.#joins(join)
    }
    return { epoch: this.#hosts.get(join.host)!.epoch }
  }

  /** A host says that it is there, and what it has granted and ended. Returns whether its epoch goes on. */
  report({ ended, epoch, granted, host: name, isDraining }: Report, now: number): boolean {
    this.tick(now)
    const host = this.#hosts.get(name)
    if (host?.epoch !== epoch) return false
    this.#heard(host)
    const open = new Set<DeviceAccount>()
    const wasDraining = host.state === "draining"
    host.state = isDraining ? "draining" : "current"
    for (const device of host.devices.values()) {
      if (device.reported() || (wasDraining && !isDraining)) open.add(device)
    }
    for (const grant of granted) this.#granted(host, grant)
    for (const id of ended) {
      const placed = host.placed.get(id)
      host.remembersEnd(id)
      if (placed === undefined) continue
      this.#end(placed, "ended")
      open.add(placed.device)
    }
    this.#queue.serve(this.#adopt(host, granted) ? this.#devices() : open)
    return true
  }

  /** A host ends. What it still has is lost. */
  leave(name: string, epoch: number, now: number): void {
    this.tick(now)
    const host = this.#hosts.get(name)
    if (host?.epoch !== epoch) return
    this.#lose(host, "it has left the fleet")
    this.#lost.delete(name)
  }

  /** A client asks for a reservation. The port gets the answer, now or later. */
  place(place: Place, now: number): void {
    this.tick(now)
    const problem = Refusals.placeProblem(place)
    if (problem !== undefined) return this.#port.failed(place.id, problem)
    const refusing = this.#refusing(place)
    const before = this.#placeOf(place.id)
    // The host does not have it, whatever it reported before. If it does after all, it reports that again.
    if (before !== undefined && place.refused !== undefined && isOn(before, place.refused)) this.#end(before, "ended")
    const placed = this.#placeOf(place.id)
    if (placed !== undefined) this.#port.placed(placementOf(placed))
    else if (!this.#waiting.has(place.id)) {
      const request = before?.request ?? new WaitingRequest(place, this.#arrivals++, this.#now)
      return this.#enter(request, refusing)
    }
    if (refusing !== undefined) this.#queue.serve([refusing])
  }

  /** The client of a reservation is gone. Once the host has granted it, the host says when it ends. */
  cancel(id: string, now: number): void {
    this.tick(now)
    const request = this.#waiting.get(id)
    if (request !== undefined) this.#drop(request)
    const placed = this.#placeOf(id)
    if (placed === undefined || placed.isGranted) return
    this.#end(placed, "ended")
    this.#queue.serve([placed.device])
  }

  /** Does what is due by now. Every other input does it first. */
  tick(now: number): void {
    this.#now = Math.max(this.#now, now)
    for (;;) {
      const due = this.#next()
      if (due === undefined || due.at > this.#now) return
      due.act()
    }
  }

  /** When something is due next. */
  nextTick(): number | undefined {
    return this.#next()?.at
  }

  /** The fleet at this time. */
  status(now: number): FleetStatus {
    this.tick(now)
    return {
      hosts: [...this.#hosts.values(), ...this.#lost.values()].map((host) => host.status(this.#now)),
      waiters: this.#queue.length,
      waiting: this.#queue.first(mostListed).map(({ began, bytes, id, label, where }) => ({
        id,
        label,
        bytes,
        where,
        waitedMillis: this.#now - began
      })),
      ...this.#counts
    }
  }

  /** What is due first. What makes room comes before the end of a wait at the same time. */
  #next(): { readonly at: number; readonly act: () => void } | undefined {
    const { hostTimeout, recovery, startedAt } = this.#options
    let next: { readonly at: number; readonly act: () => void } | undefined
    const consider = (at: number, act: () => void): void => {
      if (next === undefined || at < next.at) next = { at, act }
    }
    for (const [placed, at] of this.#claims) {
      consider(at, () => this.#expire(placed))
      break
    }
    for (const host of this.#hosts.values()) {
      consider(host.heardAt + hostTimeout, () => this.#lose(host, `silent for ${hostTimeout} ms`))
      break
    }
    if (this.#queue.isPaused) consider(startedAt + recovery, () => this.#recovered())
    if (this.#patientUntil > -Infinity) consider(this.#patientUntil, () => this.#endPatience())
    const first = this.#deadlines.first
    if (first !== undefined) consider(first.deadline, () => this.#timedOut(first))
    return next
  }

  /** A host that is not there joins. It keeps its epoch, with its grants, unless that is known to be over. */
  #joins(join: Join): void {
    const over = this.#over.get(join.host)
    const continues = join.epoch !== undefined && (over === undefined || over < join.epoch)
    const epoch = continues
      ? join.epoch
      : Math.max(this.#lastEpoch + 1, (join.epoch ?? 0) + 1, Math.ceil(this.#now))
    this.#lastEpoch = Math.max(this.#lastEpoch, epoch)
    const host = new HostRecord(join, epoch, this.#now)
    host.offers(join)
    this.#lost.delete(host.name)
    this.#hosts.set(host.name, host)
    const grants = continues ? join.grants : []
    this.#devicesChanged(() => {
      for (const grant of grants) this.#granted(host, grant)
      this.#adopt(host, grants)
    })
  }

  /** A host joins in the epoch that it is in. Of what it did not name, only what its client has not come for goes on. */
  #joinsAgain(host: HostRecord, join: Join): void {
    this.#heard(host)
    const before = Array.from(host.placed.values())
    const named = new Set(join.grants.map(({ id }) => id))
    const refill = (): void => {
      for (const placed of before) {
        const device = host.devices.get(placed.device.offered.name)
        if (device === undefined || (placed.isGranted && !named.has(placed.id))) this.#end(placed, "ended")
        else if (device !== placed.device) host.move(placed, device)
      }
      for (const grant of join.grants) this.#granted(host, grant)
      this.#adopt(host, join.grants)
    }
    if (host.offers(join)) return this.#devicesChanged(refill)
    for (const device of host.devices.values()) device.reported()
    refill()
    this.#queue.serve(this.#devices())
  }

  #heard(host: HostRecord): void {
    host.heardAt = this.#now
    this.#hosts.delete(host.name)
    this.#hosts.set(host.name, host)
  }

  /** A host reports a grant, which counts even if there is no room for it. */
  #granted(host: HostRecord, { bytes, device: name, id }: Grant): void {
    const device = host.devices.get(name)
    if (device === undefined || !Refusals.isGrant({ bytes, device: name, id })) return
    const known = host.placed.get(id)
    if (known !== undefined && known.device === device && known.bytes === bytes) {
      known.isGranted = true
      this.#claims.delete(known)
      return
    }
    // A report that comes twice, or late, does not bring back what has ended.
    if (known === undefined && host.hasEnded(id)) return
    if (known !== undefined) this.#end(known, "ended")
    const request = known?.request ?? this.#waiting.get(id)
    this.#put({ id, bytes, host, device, request, isGranted: true })
  }

  /**
   * Waiting reservations turn out to be granted, by an earlier broker: their clients get the same answer. Returns whether there are any;
   * the caller then serves the queue.
   */
  #adopt(host: HostRecord, grants: ReadonlyArray<Grant>): boolean {
    let some = false
    this.#withoutServing(() => {
      for (const { id } of grants) {
        const request = this.#waiting.get(id)
        const placed = host.placed.get(id)
        if (request === undefined || placed === undefined) continue
        some = true
        this.#drop(request)
        this.#port.placed(placementOf(placed))
      }
    })
    return some
  }

  #put(placed: Placed): void {
    placed.host.put(placed)
    this.#counts.placed++
    this.#placed.set(placed.id, [...this.#placed.get(placed.id) ?? [], placed])
  }

  #placeOf(id: string): Placed | undefined {
    return this.#placed.get(id)?.[0]
  }

  /** A reservation ends. The caller then serves the queue. */
  #end(placed: Placed, how: "ended" | "lost"): void {
    placed.host.take(placed)
    this.#claims.delete(placed)
    const others = this.#placed.get(placed.id)!.filter((other) => other !== placed)
    if (others.length === 0) this.#placed.delete(placed.id)
    else this.#placed.set(placed.id, others)
    this.#counts[how]++
  }

  #expire(placed: Placed): void {
    this.#end(placed, "ended")
    this.#queue.serve([placed.device])
  }

  /** Notes what a host has free that has refused a reservation. */
  #refusing({ bytes, refused }: Place): DeviceAccount | undefined {
    if (refused === undefined) return undefined
    const host = this.#hosts.get(refused.host)
    const device = host?.epoch === refused.epoch ? host.devices.get(refused.device) : undefined
    // Whatever the reason, it does not have these bytes: the same request would be refused again.
    device?.refused(Math.min(refused.freeBytes, bytes - 1))
    return device
  }

  #lose(host: HostRecord, detail: string): void {
    host.state = "lost"
    this.#hosts.delete(host.name)
    remember(this.#lost, host.name, host, mostLost)
    remember(this.#over, host.name, host.epoch, mostOver)
    this.#patientUntil = this.#now + this.#options.hostTimeout
    for (const placed of Array.from(host.placed.values())) this.#end(placed, "lost")
    this.#port.lost(host.name, host.epoch, detail)
    this.#devicesChanged()
  }

  #devices(): ReadonlyArray<DeviceAccount> {
    return Array.from(this.#hosts.values(), (host) => Array.from(host.devices.values())).flat()
  }

  /** Groups the waiting requests anew, fails those that can never fit any more, and serves the others. */
  #devicesChanged(before: () => void = () => {}): void {
    const devices = this.#devices()
    this.#queue.setDevices(devices)
    before()
    if (this.#queue.isPaused) return
    this.#failAll((request) => this.#isTooLarge(request))
    this.#queue.serve(devices)
  }

  #endPatience(): void {
    this.#patientUntil = -Infinity
    if (this.#queue.isPaused) return
    this.#failAll((request) => this.#isTooLarge(request))
    this.#queue.serve(this.#devices())
  }

  #isTooLarge(request: WaitingRequest): boolean {
    if (this.#patientUntil > -Infinity) return false
    const [largest] = this.#queue.named(request)
    return largest !== undefined && largest.limit < request.bytes
  }

  #recovered(): void {
    this.#queue.isPaused = false
    this.#devicesChanged()
    this.#failAll(({ onExhausted }) => onExhausted === "fail")
    this.#queue.serve(this.#devices())
  }

  /** The caller then serves the queue. */
  #failAll(which: (request: WaitingRequest) => boolean): void {
    this.#withoutServing(() => {
      for (const request of Array.from(this.#waiting.values())) if (which(request)) this.#fail(request, undefined)
    })
  }

  #withoutServing(step: () => void): void {
    const { isPaused } = this.#queue
    this.#queue.isPaused = true
    step()
    this.#queue.isPaused = isPaused
  }

  #timedOut(request: WaitingRequest): void {
    this.#fail(request, this.#now - request.began)
  }

  #enter(request: WaitingRequest, refusing: DeviceAccount | undefined): void {
    this.#waiting.set(request.id, request)
    if (request.deadline < Infinity) this.#deadlines.add(request)
    const isServed = refusing === undefined ? this.#queue.add(request) : this.#queue.addAgain(request, refusing)
    if (isServed || this.#queue.isPaused) return
    if (request.onExhausted === "fail" || this.#isTooLarge(request)) this.#fail(request, undefined)
  }

  /** A waiting request gets a device. */
  #placeOn(request: WaitingRequest, device: DeviceAccount): void {
    this.#forget(request)
    const host = this.#hosts.get(device.host.name)!
    const placed: Placed = { id: request.id, bytes: request.bytes, host, device, request, isGranted: false }
    this.#put(placed)
    this.#claims.set(placed, this.#now + this.#options.claimTimeout)
    this.#port.placed(placementOf(placed))
  }

  /** A waiting request leaves without being served. */
  #drop(request: WaitingRequest): void {
    this.#forget(request)
    this.#queue.remove(request)
  }

  #forget(request: WaitingRequest): void {
    this.#waiting.delete(request.id)
    if (request.deadline < Infinity) this.#deadlines.remove(request)
  }

  /** A waiting request gets nothing. */
  #fail(request: WaitingRequest, waitedMillis: number | undefined): void {
    const named = this.#queue.named(request)
    const large = named.filter(({ limit }) => limit >= request.bytes)
    const error = named.length === 0
      ? Refusals.noDevice(request, this.#queue.named(anywhere), waitedMillis)
      : large.length === 0
      ? Refusals.neverFits(request, named[0]!)
      : Refusals.noRoom(request, large, waitedMillis)
    this.#forget(request)
    this.#port.failed(request.id, error)
    this.#queue.remove(request)
  }
}

const anywhere = { named: textOf({}), where: {} }

const isOn = ({ device, host }: Placed, refused: NonNullable<Place["refused"]>): boolean =>
  host.name === refused.host && host.epoch === refused.epoch && device.offered.name === refused.device

const placementOf = ({ bytes, device, host, id }: Placed): Placement => ({
  id,
  host: host.name,
  epoch: host.epoch,
  address: host.address,
  device: device.offered.name,
  bytes
})

/** Sets an entry as the newest, and forgets the oldest of too many. */
const remember = <A>(map: Map<string, A>, key: string, value: A, most: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
