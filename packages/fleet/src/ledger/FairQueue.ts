/**
 * One fair queue over all devices of a fleet: first come, first served, within the bound of a pool on bypasses, for each device.
 *
 * A bypass is a later request that gets a device on which an earlier one could be too. A request that was bypassed as often as the bound
 * allows, for each of the devices on which it could be, closes all of them to later ones until it is served. With one bound however many
 * devices there are, a large fleet that has much to do would be closed most of the time.
 *
 * Requests that could be on the very same devices wait in one group. Only the first 64 of each group are looked at, as in a pool, so
 * the cost of a step depends on the devices and on the groups of a device, and not on how many requests wait.
 *
 * @internal
 */
import type { DeviceAccount } from "./DeviceAccount.ts"
import { WaitGroup } from "./WaitGroup.ts"
import { isBefore, type WaitingRequest } from "./WaitingRequest.ts"
import { matches } from "./Where.ts"

/** How many requests at the head of a group are looked at. */
export const window = 64

/** Of how many different `where` the devices are remembered. */
const mostRemembered = 1024

/**
 * Which of the devices with room a reservation gets: the one on which it leaves the fewest bytes free, or the most.
 */
export type Preference = "leastLeft" | "mostLeft"

export interface FairQueueOptions {
  /** For each device that a request could be on. */
  readonly maxBypasses: number
  readonly preference: Preference
  /** Charges a device with a request that was served. */
  readonly place: (request: WaitingRequest, device: DeviceAccount) => void
}

/** The devices that one `where` names, from the largest. */
interface Named {
  readonly devices: ReadonlyArray<DeviceAccount>
  /** For requests that are not larger than the first so many of them. */
  readonly groups: Map<number, WaitGroup>
}

export class FairQueue {
  /** How many requests were looked at so far. */
  looked = 0
  /** Nothing is placed. */
  isPaused = false
  readonly #options: FairQueueOptions
  #devices: ReadonlyArray<DeviceAccount> = []
  readonly #named = new Map<string, Named>()
  readonly #known = new Map<string, WaitGroup>()
  /** The waiting requests with their groups, the groups that have any, and the devices with these. */
  readonly #waiting = new Map<WaitingRequest, WaitGroup>()
  readonly #groups = new Set<WaitGroup>()
  readonly #groupsOn = new Map<DeviceAccount, Set<WaitGroup>>()
  /** Those of them whose first request may not be bypassed again. */
  readonly #closing = new Set<WaitGroup>()

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  get length(): number {
    return this.#waiting.size
  }

  has(request: WaitingRequest): boolean {
    return this.#waiting.has(request)
  }

  /** The devices that a request names, from the largest. */
  named(request: Pick<WaitingRequest, "named" | "where">): ReadonlyArray<DeviceAccount> {
    return this.#find(request).devices
  }

  /** Takes a request in, and serves it if it can be served now. Returns whether it was. */
  add(request: WaitingRequest): boolean {
    const group = this.#enter(request)
    const lastSeen = group.requests.at(window - 1)
    return (lastSeen === undefined || !isBefore(lastSeen, request)) && this.#tryAll(request, group)
  }

  /** A request comes back to its place, since the host of this device has refused it. Returns whether it is served again at once. */
  addAgain(request: WaitingRequest, device: DeviceAccount): boolean {
    const group = this.#enter(request)
    this.serve([...group.devices, device])
    return !this.has(request)
  }

  /** A request leaves without being served. */
  remove(request: WaitingRequest): void {
    const group = this.#waiting.get(request)!
    const closed = this.#leave(request, group)
    this.serve(closed ? group.devices : [])
    this.#reveal(group, 1)
  }

  /** Serves each request that it can, in order, on devices that may have more room than before. */
  serve(devices: Iterable<DeviceAccount>): void {
    if (this.isPaused) return
    const open = new Set(devices)
    /** How many requests at the head of each group were passed over. */
    const passed = new Map<WaitGroup, number>()
    const left = new Map<WaitGroup, number>()
    /** Begins at the head again where requests may have been passed over because these devices were closed. */
    const look = (more: Iterable<DeviceAccount>): void => {
      for (const device of more) {
        open.add(device)
        for (const group of this.#on(device)) passed.set(group, 0)
      }
    }
    look(open)
    for (;;) {
      let first: { readonly request: WaitingRequest; readonly device: DeviceAccount } | undefined
      for (const [group, from] of passed) {
        const found = this.#search(group, from, open, first?.request)
        passed.set(group, found.passed)
        if (found.device !== undefined) first = { request: found.request, device: found.device }
      }
      if (first === undefined) break
      const group = this.#waiting.get(first.request)!
      left.set(group, (left.get(group) ?? 0) + 1)
      if (this.#serveOn(first.request, group, first.device)) look(group.devices)
    }
    for (const [group, count] of left) this.#reveal(group, count)
  }

  /** The devices have changed: groups the requests anew. The caller then serves what it can. */
  setDevices(devices: ReadonlyArray<DeviceAccount>): void {
    const counted = Array.from(this.#groups, (group) => Array.from(group.counts())).flat()
    this.#devices = devices
    this.#forget()
    this.#waiting.clear()
    this.#groups.clear()
    this.#groupsOn.clear()
    this.#closing.clear()
    const members = new Map<WaitGroup, Array<readonly [WaitingRequest, number]>>()
    for (const entry of counted.sort(([a], [b]) => isBefore(a, b) ? -1 : 1)) {
      const group = this.#groupOf(entry[0])
      const known = members.get(group)
      if (known === undefined) members.set(group, [entry])
      else known.push(entry)
      this.#waiting.set(entry[0], group)
    }
    for (const [group, requests] of members) {
      group.fill(requests)
      this.#changed(group)
    }
  }

  /** The first waiting requests in their order. */
  first(count: number): ReadonlyArray<WaitingRequest> {
    const heads: Array<WaitingRequest> = []
    for (const { requests } of this.#groups) {
      let taken = 0
      for (const request of requests) {
        if (taken++ === count) break
        heads.push(request)
      }
    }
    return heads.sort((a, b) => isBefore(a, b) ? -1 : 1).slice(0, count)
  }

  #on(device: DeviceAccount): Iterable<WaitGroup> {
    return this.#groupsOn.get(device) ?? []
  }

  #find({ named: text, where }: Pick<WaitingRequest, "named" | "where">): Named {
    const known = this.#named.get(text)
    if (known !== undefined) return known
    if (this.#named.size >= mostRemembered) this.#forget()
    const devices = this.#devices.filter(({ host, offered }) => matches(where, host.name, offered))
    const named = { devices: devices.sort((a, b) => b.limit - a.limit || a.number - b.number), groups: new Map() }
    this.#named.set(text, named)
    return named
  }

  /** Groups with waiting requests go on; further requests for the same devices may get another one. */
  #forget(): void {
    this.#named.clear()
    this.#known.clear()
  }

  #groupOf(request: WaitingRequest): WaitGroup {
    const { devices, groups } = this.#find(request)
    const end = devices.findIndex(({ limit }) => limit < request.bytes)
    const count = end < 0 ? devices.length : end
    const known = groups.get(count)
    if (known !== undefined) return known
    const members = devices.slice(0, count).sort((a, b) => a.number - b.number)
    const key = members.map(({ number }) => number).join()
    const group = this.#known.get(key) ?? new WaitGroup(members)
    this.#known.set(key, group)
    groups.set(count, group)
    return group
  }

  #enter(request: WaitingRequest): WaitGroup {
    const group = this.#groupOf(request)
    group.add(request)
    this.#waiting.set(request, group)
    this.#changed(group)
    return group
  }

  /** Returns whether devices are open to others that were closed for it. */
  #leave(request: WaitingRequest, group: WaitGroup): boolean {
    const closed = group.requests.first === request && this.#closing.has(group)
    group.remove(request)
    this.#waiting.delete(request)
    this.#changed(group)
    return closed
  }

  /** Requests have come into a group, have left it, or were bypassed. */
  #changed(group: WaitGroup): void {
    const { length } = group.requests
    if (length > 0 && !this.#groups.has(group)) {
      this.#groups.add(group)
      for (const device of group.devices) {
        const groups = this.#groupsOn.get(device)
        if (groups === undefined) this.#groupsOn.set(device, new Set([group]))
        else groups.add(group)
      }
    } else if (length === 0 && this.#groups.delete(group)) {
      for (const device of group.devices) this.#groupsOn.get(device)?.delete(group)
    }
    const most = this.#options.maxBypasses * group.devices.length
    if (length > 0 && group.mostBypasses >= most) this.#closing.add(group)
    else this.#closing.delete(group)
  }

  /** Whether an earlier request, which may not be bypassed again, could be on the device. */
  #isClosed(device: DeviceAccount, request: WaitingRequest): boolean {
    for (const group of this.#closing) {
      if (group.has(device) && isBefore(group.requests.first!, request)) return true
    }
    return false
  }

  /** The device that a request gets. */
  #choose(request: WaitingRequest, devices: Iterable<DeviceAccount>): DeviceAccount | undefined {
    const { preference } = this.#options
    let best: DeviceAccount | undefined
    for (const device of devices) {
      if (device.room < request.bytes || (best !== undefined && !isBetter(device, best, preference))) continue
      if (!this.#isClosed(device, request)) best = device
    }
    return best
  }

  /** The next request of a group that can be served, if it is before another one. */
  #search(
    group: WaitGroup,
    from: number,
    open: ReadonlySet<DeviceAccount>,
    before: WaitingRequest | undefined
  ): { readonly passed: number; readonly request: WaitingRequest; readonly device: DeviceAccount } | {
    readonly passed: number
    readonly device: undefined
  } {
    const devices = open.size < group.devices.length
      ? Array.from(open).filter((device) => group.has(device))
      : group.devices.filter((device) => open.has(device))
    let room = 0
    for (const device of devices) room = Math.max(room, device.room)
    if (room < group.leastBytes) return { passed: from, device: undefined }
    let passed = from
    for (; passed < window; passed++) {
      const request = group.requests.at(passed)
      if (request === undefined || (before !== undefined && isBefore(before, request))) break
      this.looked++
      if (request.bytes > room) continue
      const device = this.#choose(request, devices)
      if (device !== undefined) return { passed, request, device }
    }
    return { passed, device: undefined }
  }

  /** Serves a waiting request. Returns whether devices of its group are open now that were closed. */
  #serveOn(request: WaitingRequest, group: WaitGroup, device: DeviceAccount): boolean {
    const closed = this.#leave(request, group)
    for (const other of this.#on(device)) {
      other.bypassedBy(request)
      this.#changed(other)
    }
    this.#options.place(request, device)
    return closed
  }

  /** Serves a request on any device of its group, if it can. */
  #tryAll(request: WaitingRequest, group: WaitGroup): boolean {
    if (this.isPaused) return false
    this.looked++
    const device = this.#choose(request, group.devices)
    if (device === undefined) return false
    if (this.#serveOn(request, group, device)) this.serve(group.devices)
    return true
  }

  /** So many requests of a group have left, so that as many more are among the first. */
  #reveal(group: WaitGroup, count: number): void {
    for (let at = Math.max(0, window - count); at < window;) {
      const request = group.requests.at(at)
      if (request === undefined) return
      if (!this.#tryAll(request, group)) at++
    }
  }
}

/** Of devices with as much room, the one that joined first is better. */
const isBetter = (device: DeviceAccount, than: DeviceAccount, preference: Preference): boolean => {
  const more = device.room - than.room
  return more === 0 ? device.number < than.number : (more < 0) === (preference === "leastLeft")
}
