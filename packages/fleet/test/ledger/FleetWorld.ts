/**
 * Simulates what surrounds a ledger: host processes with memory of their own, clients, and brokers that follow each other. Each number of
 * a sequence is one step, so that a property shrinks to few steps. Each input goes to a ledger and to the reference.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { LedgerOptions } from "../../src/ledger/Ledger.ts"
import type { Join, Place, Report } from "../../src/protocol/BrokerRpcs.ts"
import type { Grant, Placement, Where } from "../../src/protocol/FleetModel.ts"
import { device, offer, Recorded } from "./recorded.ts"
import { ReferenceLedger } from "./ReferenceLedger.ts"

interface HostProcess {
  readonly name: string
  incarnation: number
  epoch: number | undefined
  /** Whether the present broker has given it its epoch, or confirmed it. */
  capacities: ReadonlyArray<number>
  readonly grants: Map<string, Grant>
  granted: Array<Grant>
  ended: Array<string>
  isDraining: boolean
  lastReport: Report | undefined
}

interface Client {
  readonly place: Place
  answer: Placement | "failed" | undefined
}

const wheres: ReadonlyArray<Where> = [
  {},
  {},
  {},
  { host: "a" },
  { host: "b", device: "0" },
  { labels: { zone: "x" } },
  { atLeast: { size: 12 } },
  { host: "nobody" }
]

const capacities = [[8], [16, 8], [12, 12], [24]] as const

export interface WorldOptions {
  readonly maxBypasses: number
  readonly recovery: number
  readonly prefersMost: boolean
}

export class FleetWorld {
  readonly #options: WorldOptions
  readonly hosts: ReadonlyArray<HostProcess>
  readonly clients: Array<Client> = []
  /** The greatest epoch that each host ever had. */
  readonly #epochs = new Map<string, number>()
  readonly #seen = new WeakSet<object>()
  fleet: Recorded
  #reference: ReferenceLedger
  now = 1000

  constructor(options: WorldOptions) {
    this.#options = options
    this.hosts = ["a", "b", "c"].map((name, n) => ({
      name,
      incarnation: 1,
      epoch: undefined,
      capacities: capacities[n]!,
      grants: new Map(),
      granted: [],
      ended: [],
      isDraining: false,
      lastReport: undefined
    }))
    const { fleet, reference } = this.#brokers(0)
    this.fleet = fleet
    this.#reference = reference
  }

  #brokers(recovery: number): { readonly fleet: Recorded; readonly reference: ReferenceLedger } {
    const { maxBypasses, prefersMost } = this.#options
    const options = { hostTimeout: 100, claimTimeout: 50, recovery, startedAt: this.now, maxBypasses }
    const preference: LedgerOptions["preference"] = prefersMost ? "mostLeft" : "leastLeft"
    return {
      fleet: new Recorded({ ...options, preference }),
      reference: new ReferenceLedger({ ...options, prefersMost })
    }
  }

  /** One step: the first digits say what, the others with whom and how much. */
  step(code: number): void {
    const kind = code % 16
    const rest = Math.floor(code / 16)
    const host = this.hosts[rest % this.hosts.length]!
    const more = Math.floor(rest / this.hosts.length)
    const client = this.clients[more % Math.max(1, this.clients.length)]
    this.fleet.now = this.now
    if (kind < 4) this.#ask(rest)
    else if (kind < 6) this.#report(host, more)
    else if (kind === 6) this.#join(host)
    else if (kind < 9) { if (client !== undefined) this.#hold(client, more) }
    else if (kind < 11) this.#endOne(host, more)
    else if (kind === 11) { if (client !== undefined) this.#again(client, more) }
    else if (kind === 12) this.#pass(rest % 64)
    else if (kind === 13) this.#restart(host, more)
    else if (kind === 14) this.#failOver(more)
    else this.#disturb(host, more)
    this.#check()
  }

  /** Whatever the programs did: if the hosts live on, and all that they have ends, whatever can be served is. */
  finish(): void {
    for (let round = 0; round < 60; round++) {
      const isServed = this.#reference.waiting.every((waiter) => this.#reference.kind(waiter) === "")
      if (round > 1 && isServed && this.hosts.every(({ epoch }) => epoch !== undefined)) break
      for (const host of this.hosts) {
        host.isDraining = false
        if (host.epoch === undefined) this.#join(host)
        this.#report(host, 0)
        for (const id of Array.from(host.grants.keys())) this.#end(host, id)
        this.#report(host, 0)
        this.#check()
      }
      for (const client of this.clients) this.#hold(client, 1)
      this.#pass(20)
      this.#check()
    }
    for (const waiter of this.#reference.waiting) {
      strictEqual(this.#reference.kind(waiter), "", "a request waits though there are devices for it")
    }
    strictEqual(this.fleet.ledger.status(this.now).hosts.filter(({ state }) => state === "current").length, 3)
  }

  #both<A>(
    real: (ledger: Recorded["ledger"]) => A,
    reference: (ledger: ReferenceLedger) => A
  ): A {
    this.fleet.now = this.now
    const placed = this.fleet.ledger.status(this.now).placed
    const answer = real(this.fleet.ledger)
    deepStrictEqual(answer, reference(this.#reference))
    // A request that comes back after its time is over waits for the next tick, which is due at once.
    this.fleet.ledger.tick(this.now)
    this.#reference.tick(this.now)
    const decided = this.fleet.decided()
    deepStrictEqual(decided, this.#reference.decided.splice(0))
    this.#hear(decided)
    this.#checkCapacities(decided)
    assert.isAtLeast(this.fleet.ledger.status(this.now).placed, placed)
    return answer
  }

  /** What the ledger has just placed fits beside what is there. */
  #checkCapacities(decided: ReadonlyArray<string>): void {
    const { held } = this.#reference
    for (const one of held) {
      if (this.#seen.has(one) || one.isGranted || !decided.some((text) => text.startsWith(`${one.id} at `))) continue
      const bytes = held.filter(({ device }) => device === one.device).reduce((sum, { bytes }) => sum + bytes, 0)
      assert.isAtMost(bytes, one.device.offered.capacity)
    }
    for (const one of held) this.#seen.add(one)
  }

  /** What the clients hear. */
  #hear(decided: ReadonlyArray<string>): void {
    for (const one of decided) {
      const failed = /^(.*): (\w+)$/.exec(one)
      const placed = /^(.*) at /.exec(one)
      const client = this.clients.find(({ place }) => place.id === (failed ?? placed)?.[1])
      if (client !== undefined) client.answer = failed === null ? this.fleet.placements.get(client.place.id) : "failed"
    }
  }

  #ask(rest: number): void {
    const id = `r${this.clients.length}`
    const place: Place = {
      id,
      bytes: 1 + rest % 13 + (rest % 7 === 0 ? 10 : 0),
      where: wheres[rest % wheres.length]!,
      label: undefined,
      since: this.now - Math.floor(rest / 8) % 3 * 10 + (rest % 11 === 0 ? 50 : 0),
      onExhausted: rest % 5 === 0 ? "fail" : "wait",
      waitAtMost: rest % 6 === 0 ? 30 + rest % 3 : Infinity,
      refused: undefined
    }
    this.clients.push({ place, answer: undefined })
    this.#place(place)
  }

  #place(place: Place): void {
    this.#both((ledger) => ledger.place(place, this.now), (ledger) => ledger.place(place, this.now))
  }

  #join(host: HostProcess): void {
    const join: Join = offer(host.name, host.capacities, {
      incarnation: `${host.incarnation}`,
      epoch: host.epoch,
      grants: Array.from(host.grants.values()),
      devices: host.capacities.map((capacity, n) =>
        device(String(n), capacity, { labels: n === 0 ? { zone: "x" } : {}, facts: { size: capacity } })
      )
    })
    const epoch = this.#both(
      (ledger) => {
        const answer = ledger.join(join, this.now)
        return "epoch" in answer ? answer.epoch : undefined
      },
      (ledger) => ledger.join(join, this.now)
    )
    if (epoch === undefined) return
    const before = this.#epochs.get(host.name)
    if (epoch === join.epoch) strictEqual(epoch, before)
    else {
      assert.isAbove(epoch, before ?? 0, "epochs of a host grow")
      host.grants.clear()
    }
    this.#epochs.set(host.name, epoch)
    host.epoch = epoch
    host.granted = []
    host.ended = []
  }

  /**
   * A report arrives, perhaps after the last one has come a second time; or it is lost, or its answer is lost, so that the host says the
   * same again with the next one.
   */
  #report(host: HostProcess, more: number): void {
    if (host.epoch === undefined || more % 5 === 4) return
    if (more % 5 === 2) this.#reportAgain(host)
    const { ended, epoch, granted, isDraining, name } = host
    const report: Report = { host: name, epoch, granted, ended, isDraining }
    const isCurrent = this.#both(
      (ledger) => ledger.report(report, this.now),
      (ledger) => ledger.report(report, this.now)
    )
    if (more % 5 === 3) return
    host.lastReport = report
    host.granted = []
    host.ended = []
    if (isCurrent) return
    host.epoch = undefined
    host.grants.clear()
  }

  #reportAgain({ lastReport }: HostProcess): void {
    if (lastReport === undefined) return
    this.#both((ledger) => ledger.report(lastReport, this.now), (ledger) => ledger.report(lastReport, this.now))
  }

  /** A client comes to its host, which has the last word; or its way there takes too long, and it never comes. */
  #hold(client: Client, more: number): void {
    const { answer, place } = client
    if (answer === undefined || answer === "failed" || more % 7 === 0) return
    const host = this.hosts.find(({ name }) => name === answer.host)!
    const capacity = host.capacities[Number(answer.device)]
    if (host.grants.has(place.id) && host.epoch === answer.epoch) return
    const used = Array.from(host.grants.values()).filter((grant) => grant.device === answer.device)
      .reduce((sum, { bytes }) => sum + bytes, 0)
    const free = (capacity ?? 0) - used
    if (host.epoch !== answer.epoch || free < place.bytes || host.isDraining) {
      client.answer = undefined
      const { device, epoch, host: name } = answer
      this.#place({ ...place, refused: { host: name, epoch, device, freeBytes: Math.max(0, free) } })
      return
    }
    const grant: Grant = { id: place.id, device: answer.device, bytes: place.bytes }
    host.grants.set(place.id, grant)
    host.granted = [...host.granted, grant]
    assert.isAtMost(used + place.bytes, capacity!)
  }

  #endOne(host: HostProcess, more: number): void {
    const ids = Array.from(host.grants.keys())
    const id = ids[more % Math.max(1, ids.length)]
    if (id === undefined) return
    this.#end(host, id)
    if (more % 2 === 0) this.#report(host, 0)
  }

  #end(host: HostProcess, id: string): void {
    host.grants.delete(id)
    host.ended = [...host.ended, id]
    const client = this.clients.find(({ place }) => place.id === id)
    if (client !== undefined) client.answer = "failed"
  }

  /** A client asks again, or gives up. */
  #again(client: Client, more: number): void {
    const { id } = client.place
    if (more % 2 === 0) return this.#place(client.place)
    client.answer = "failed"
    this.#both((ledger) => ledger.cancel(id, this.now), (ledger) => ledger.cancel(id, this.now))
  }

  #pass(millis: number): void {
    this.now += millis
    this.#both((ledger) => ledger.tick(this.now), (ledger) => ledger.tick(this.now))
    const next = this.fleet.ledger.nextTick()
    if (next !== undefined) assert.isAbove(next, this.now)
  }

  /** A host dies, and another process takes its name; or the same one has forgotten its epoch, or offers other devices. */
  #restart(host: HostProcess, more: number): void {
    if (more % 3 < 2) {
      host.grants.clear()
      host.epoch = undefined
      host.isDraining = false
    }
    if (more % 3 === 0) host.incarnation++
    if (more % 3 === 2) {
      const others = capacities[Math.floor(more / 3) % capacities.length]!
      const isPossible = Array.from(host.grants.values()).every((grant) => Number(grant.device) < others.length)
      if (isPossible) host.capacities = others
    }
    this.#join(host)
  }

  /** After some time there is another broker, which knows nothing but the time. Clients without an answer ask it. */
  #failOver(more: number): void {
    this.now += 10 + more % 50
    const { fleet, reference } = this.#brokers(more % 2 * this.#options.recovery)
    assert.isAtMost(this.#reference.mostOver, 0)
    this.fleet = fleet
    this.#reference = reference
    const asking = this.clients.filter(({ answer }) => answer === undefined)
    for (const [n] of asking.entries()) this.#place(asking[more % 4 < 2 ? n : asking.length - 1 - n]!.place)
  }

  /** A host drains, leaves, or an old report of it arrives. */
  #disturb(host: HostProcess, more: number): void {
    const { epoch, name } = host
    if (more % 3 === 0) host.isDraining = !host.isDraining
    else if (more % 3 === 1) this.#reportAgain(host)
    else if (epoch !== undefined) {
      this.#both((ledger) => ledger.leave(name, epoch, this.now), (ledger) => ledger.leave(name, epoch, this.now))
      host.grants.clear()
      host.epoch = undefined
    }
  }

  #check(): void {
    const { ended, hosts, lost, placed, waiters, waiting } = this.fleet.ledger.status(this.now)
    const reference = this.#reference
    deepStrictEqual(waiting.map(({ id }) => id), reference.inOrder().slice(0, 100).map(({ place }) => place.id))
    strictEqual(waiters, reference.waiting.length)
    let reservations = 0
    for (const { devices, name, state } of hosts) {
      const known = reference.hosts.find((host) => host.name === name)
      strictEqual(known === undefined, state === "lost")
      for (const { name: of, reservations: here, reservedBytes } of devices) {
        const held = reference.held.filter((one) => one.host === known && one.device.offered.name === of)
        strictEqual(reservedBytes, held.reduce((sum, { bytes }) => sum + bytes, 0))
        strictEqual(here, held.length)
        reservations += here
      }
    }
    strictEqual(placed - ended - lost, reservations)
    for (const { place } of reference.waiting) {
      strictEqual(reference.held.some(({ id }) => id === place.id), false, "a reservation waits and is placed")
    }
    assert.isAtMost(reference.mostOver, 0)
  }
}
