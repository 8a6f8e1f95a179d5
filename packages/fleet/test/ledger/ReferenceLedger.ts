/**
 * The rules of a ledger, written down a second time without any care for time: arrays, and full scans of them at each input. It takes the
 * inputs of a ledger and keeps a list of what it decides. It does not know why a request fails in words, only by the reason.
 */
import type { Join, Place, Report } from "../../src/protocol/BrokerRpcs.ts"
import type { OfferedDevice, Where } from "../../src/protocol/FleetModel.ts"

interface Device {
  readonly offered: OfferedDevice
  readonly number: number
  mostFree: number
}

interface Host {
  readonly name: string
  readonly incarnation: string
  readonly epoch: number
  isDraining: boolean
  heardAt: number
  devices: Array<Device>
  readonly ended: Set<string>
}

interface Held {
  readonly id: string
  readonly bytes: number
  readonly host: Host
  device: Device
  readonly request: Waiter | undefined
  isGranted: boolean
  claimedBy: number
}

interface Waiter {
  readonly place: Place
  readonly since: number
  readonly arrival: number
  readonly began: number
  /** With which it counts as bypassed. */
  bypasses: number
  /** How often it really was while it waited, which no bound may exceed. */
  bypassed: number
}

export interface ReferenceOptions {
  readonly hostTimeout: number
  readonly claimTimeout: number
  readonly recovery: number
  readonly startedAt: number
  readonly maxBypasses: number
  readonly prefersMost: boolean
}

const named = (where: Where, host: Host, { offered }: Device): boolean =>
  (where.host ?? host.name) === host.name && (where.device ?? offered.name) === offered.name &&
  (where.backend ?? offered.backend) === offered.backend &&
  Object.entries(where.labels ?? {}).every(([name, value]) => offered.labels[name] === value) &&
  Object.entries(where.atLeast ?? {}).every(([name, value]) => (offered.facts[name] ?? -Infinity) >= value)

export class ReferenceLedger {
  readonly decided: Array<string> = []
  hosts: Array<Host> = []
  held: Array<Held> = []
  waiting: Array<Waiter> = []
  readonly over: Array<readonly [string, number]> = []
  lastEpoch = 0
  isRecovering: boolean
  /** Until when no request is too large, because a host that is gone may come back. */
  patientUntil: number
  now: number
  devices = 0
  arrivals = 0
  /** By how much a request was bypassed more often than it may be, at most. */
  mostOver = -Infinity
  readonly #options: ReferenceOptions

  constructor(options: ReferenceOptions) {
    this.#options = options
    this.now = options.startedAt
    this.isRecovering = options.recovery > 0
    this.patientUntil = this.isRecovering ? options.startedAt + options.hostTimeout : -Infinity
  }

  free(host: Host, device: Device): number {
    const used = this.held.filter((held) => held.device === device).reduce((sum, { bytes }) => sum + bytes, 0)
    return host.isDraining ? 0 : Math.min(device.offered.capacity - used, device.mostFree)
  }

  all(): Array<readonly [Host, Device]> {
    return this.hosts.flatMap((host) => host.devices.map((device) => [host, device] as const))
  }

  mayBeOn({ place }: Waiter, host: Host, device: Device): boolean {
    return named(place.where, host, device) && place.bytes <= device.offered.capacity
  }

  /** The waiting requests, from the first to the last. */
  inOrder(): Array<Waiter> {
    return this.waiting.slice().sort((a, b) => a.since - b.since || a.arrival - b.arrival)
  }

  /** The numbers of the devices on which it could be. */
  couldBeOn(waiter: Waiter): Array<number> {
    const devices = this.all().filter(([host, device]) => this.mayBeOn(waiter, host, device))
    return devices.map(([, { number }]) => number).sort((a, b) => a - b)
  }

  kind(waiter: Waiter): string {
    return this.couldBeOn(waiter).join()
  }

  serve(): void {
    if (this.isRecovering) return
    const { maxBypasses, prefersMost } = this.#options
    const passed: Array<Waiter> = []
    for (const waiter of this.inOrder()) {
      const closed = passed.filter((one) => one.bypasses >= maxBypasses * this.couldBeOn(one).length)
      const [best] = this.all()
        .filter(([host, device]) => this.mayBeOn(waiter, host, device) && waiter.place.bytes <= this.free(host, device))
        .filter(([host, device]) => !closed.some((one) => this.mayBeOn(one, host, device)))
        .sort(([hostA, a], [hostB, b]) => {
          const less = this.free(hostA, a) - this.free(hostB, b)
          return (prefersMost ? -less : less) || a.number - b.number
        })
      if (best === undefined) {
        passed.push(waiter)
        continue
      }
      const [host, device] = best
      for (const one of passed) {
        if (!this.mayBeOn(one, host, device)) continue
        one.bypasses++
        this.mostOver = Math.max(this.mostOver, ++one.bypassed - maxBypasses * this.couldBeOn(one).length)
      }
      this.waiting = this.waiting.filter((one) => one !== waiter)
      const { bytes, id } = waiter.place
      const claimedBy = this.now + this.#options.claimTimeout
      this.hold({ id, bytes, host, device, request: waiter, isGranted: false, claimedBy })
      this.tell(id)
    }
  }

  hold(held: Held): void {
    held.device.mostFree -= held.bytes
    held.host.ended.delete(held.id)
    this.held.push(held)
  }

  tell(id: string): void {
    const { device, host } = this.held.find((held) => held.id === id)!
    this.decided.push(`${id} at ${host.name}/${device.offered.name}`)
  }

  release(held: Held): void {
    this.held = this.held.filter((one) => one !== held)
  }

  fail(waiter: Waiter): void {
    this.waiting = this.waiting.filter((one) => one !== waiter)
    const all = this.all().filter(([host, device]) => named(waiter.place.where, host, device))
    const fits = all.some(([host, device]) => this.mayBeOn(waiter, host, device))
    this.decided.push(
      `${waiter.place.id}: ${all.length === 0 ? "DeviceUnavailable" : fits ? "OutOfMemory" : "LimitExceeded"}`
    )
  }

  isTooLarge(waiter: Waiter): boolean {
    if (this.patientUntil !== -Infinity) return false
    const all = this.all().filter(([host, device]) => named(waiter.place.where, host, device))
    return all.length > 0 && !all.some(([host, device]) => this.mayBeOn(waiter, host, device))
  }

  /** Of those that could be on the same devices, the earlier counts as bypassed at least as often as the later. */
  level(): void {
    const order = this.inOrder()
    for (const [n, waiter] of order.entries()) {
      const later = order.slice(n + 1).filter((one) => this.kind(one) === this.kind(waiter))
      waiter.bypasses = Math.max(waiter.bypasses, ...later.map(({ bypasses }) => bypasses))
    }
  }

  failTooLarge(): void {
    if (this.isRecovering) return
    for (const waiter of this.waiting.filter((one) => this.isTooLarge(one))) this.fail(waiter)
  }

  lose(host: Host): void {
    this.hosts = this.hosts.filter((one) => one !== host)
    this.over.push([host.name, host.epoch])
    this.held = this.held.filter((held) => held.host !== host)
    this.decided.push(`${host.name} is lost in ${host.epoch}`)
    this.patientUntil = this.now + this.#options.hostTimeout
    this.level()
    this.failTooLarge()
    this.serve()
  }

  tick(now: number): void {
    this.now = now
    const { hostTimeout, recovery, startedAt } = this.#options
    for (;;) {
      const due = [
        ...this.held.filter(({ isGranted }) => !isGranted).map((held) => ({
          at: held.claimedBy,
          rank: 0,
          act: () => {
            this.release(held)
            this.serve()
          }
        })),
        ...this.hosts.map((host) => ({ at: host.heardAt + hostTimeout, rank: 1, act: () => this.lose(host) })),
        ...(this.isRecovering
          ? [{
            at: startedAt + recovery,
            rank: 2,
            act: () => {
              this.isRecovering = false
              this.failTooLarge()
              this.serve()
              for (const one of this.waiting.filter(({ place }) => place.onExhausted === "fail")) this.fail(one)
              this.serve()
            }
          }]
          : []),
        ...(this.patientUntil === -Infinity
          ? []
          : [{
            at: this.patientUntil,
            rank: 3,
            act: () => {
              this.patientUntil = -Infinity
              this.failTooLarge()
              this.serve()
            }
          }]),
        ...this.waiting.slice().sort((a, b) => a.arrival - b.arrival).map((waiter) => ({
          at: waiter.began + waiter.place.waitAtMost,
          rank: 4,
          act: () => {
            this.fail(waiter)
            this.serve()
          }
        }))
      ].filter(({ at }) => at <= now).sort((a, b) => a.at - b.at || a.rank - b.rank)
      if (due.length === 0) return
      due[0]!.act()
    }
  }

  take(host: Host, join: Join): void {
    host.devices = join.devices.map((offered) => ({ offered, number: this.devices++, mostFree: Infinity }))
  }

  join(join: Join, now: number): number | undefined {
    this.tick(now)
    const known = this.hosts.find(({ name }) => name === join.host)
    if (known !== undefined && known.incarnation !== join.incarnation) return undefined
    if (known === undefined && join.epoch === undefined && this.isRecovering) return undefined
    if (known !== undefined && known.epoch === join.epoch) return this.joinAgain(known, join)
    if (known !== undefined) this.lose(known)
    const isOver = this.over.some(([name, epoch]) => name === join.host && epoch >= join.epoch!)
    const goesOn = join.epoch !== undefined && !isOver
    const epoch = goesOn ? join.epoch : Math.max(now, this.lastEpoch + 1, (join.epoch ?? 0) + 1)
    this.lastEpoch = Math.max(this.lastEpoch, epoch)
    const host: Host = {
      name: join.host,
      incarnation: join.incarnation,
      epoch,
      isDraining: false,
      heardAt: now,
      devices: [],
      ended: new Set()
    }
    this.take(host, join)
    this.hosts.push(host)
    this.level()
    if (goesOn) {
      this.grants(host, join.grants)
      this.adopt(host, join.grants)
    }
    this.failTooLarge()
    this.serve()
    return epoch
  }

  joinAgain(host: Host, join: Join): number {
    this.heard(host)
    const before = this.held.filter((held) => held.host === host)
    const isSame = JSON.stringify(host.devices.map(({ offered }) => offered)) === JSON.stringify(join.devices)
    if (!isSame) this.take(host, join)
    for (const device of host.devices) device.mostFree = Infinity
    if (!isSame) this.level()
    for (const held of before) {
      const device = host.devices.find(({ offered }) => offered.name === held.device.offered.name)
      const isNamed = join.grants.some(({ id }) => id === held.id)
      if (device === undefined || (held.isGranted && !isNamed)) this.release(held)
      else if (device !== held.device) {
        held.device = device
        device.mostFree -= held.bytes
      }
    }
    this.grants(host, join.grants)
    this.adopt(host, join.grants)
    if (!isSame) this.failTooLarge()
    this.serve()
    return host.epoch
  }

  heard(host: Host): void {
    host.heardAt = this.now
    this.hosts = [...this.hosts.filter((one) => one !== host), host]
  }

  grants(host: Host, grants: Join["grants"]): void {
    for (const { bytes, device: name, id } of grants) {
      const device = host.devices.find(({ offered }) => offered.name === name)
      if (device === undefined) continue
      const known = this.held.find((held) => held.host === host && held.id === id)
      if (known?.device === device && known.bytes === bytes) {
        known.isGranted = true
        continue
      }
      if (known === undefined && host.ended.has(id)) continue
      if (known !== undefined) this.release(known)
      const request = known?.request ?? this.waiting.find(({ place }) => place.id === id)
      this.hold({ id, bytes, host, device, request, isGranted: true, claimedBy: Infinity })
    }
  }

  adopt(host: Host, grants: Join["grants"]): void {
    for (const { id } of grants) {
      const waiter = this.waiting.find(({ place }) => place.id === id)
      if (waiter === undefined || !this.held.some((held) => held.host === host && held.id === id)) {
        continue
      }
      this.waiting = this.waiting.filter((one) => one !== waiter)
      this.tell(id)
    }
  }

  report({ ended, epoch, granted, host: name, isDraining }: Report, now: number): boolean {
    this.tick(now)
    const host = this.hosts.find((one) => one.name === name && one.epoch === epoch)
    if (host === undefined) return false
    this.heard(host)
    host.isDraining = isDraining
    for (const device of host.devices) device.mostFree = Infinity
    this.grants(host, granted)
    for (const id of ended) {
      host.ended.add(id)
      const held = this.held.find((one) => one.host === host && one.id === id)
      if (held !== undefined) this.release(held)
    }
    this.adopt(host, granted)
    this.serve()
    return true
  }

  leave(name: string, epoch: number, now: number): void {
    this.tick(now)
    const host = this.hosts.find((one) => one.name === name && one.epoch === epoch)
    if (host !== undefined) this.lose(host)
  }

  place(place: Place, now: number): void {
    this.tick(now)
    const { refused } = place
    const host = this.hosts.find(({ epoch, name }) => name === refused?.host && epoch === refused.epoch)
    const device = host?.devices.find(({ offered }) => offered.name === refused?.device)
    if (device !== undefined) device.mostFree = Math.min(device.mostFree, refused!.freeBytes, place.bytes - 1)
    const held = this.held.find(({ id }) => id === place.id)
    if (held !== undefined && device !== undefined && held.device === device) this.release(held)
    const isPlaced = this.held.some(({ id }) => id === place.id)
    if (isPlaced) this.tell(place.id)
    if (isPlaced || this.waiting.some((waiter) => waiter.place.id === place.id)) return this.serve()
    const waiter = held?.request ?? {
      place,
      since: Math.min(place.since, now),
      arrival: this.arrivals++,
      began: now,
      bypasses: 0,
      bypassed: 0
    }
    this.waiting.push(waiter)
    const order = this.inOrder()
    const next = order.slice(order.indexOf(waiter) + 1).find((one) => this.kind(one) === this.kind(waiter))
    waiter.bypasses = next?.bypasses ?? 0
    waiter.bypassed = 0
    this.serve()
    if (this.isRecovering || !this.waiting.includes(waiter)) return
    if (waiter.place.onExhausted !== "fail" && !this.isTooLarge(waiter)) return
    this.fail(waiter)
    this.serve()
  }

  cancel(id: string, now: number): void {
    this.tick(now)
    this.waiting = this.waiting.filter(({ place }) => place.id !== id)
    const held = this.held.find((one) => one.id === id)
    if (held?.isGranted === false) this.release(held)
    this.serve()
  }
}
