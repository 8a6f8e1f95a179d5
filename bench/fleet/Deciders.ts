/** Who decides on which host a job waits. Each of them lets a ledger decide who is served first. */
import { Ledger } from "@effect-gpu-pool/fleet/ledger"
import * as Random from "../Random.ts"
import type { Job } from "./Load.ts"

const heartbeatMillis = 1000

type Preference = "leastLeft" | "mostLeft"

/** A ledger of some of the hosts, whose clients come at once. */
class Hosts {
  readonly ledger: Ledger.Ledger
  readonly #epochs = new Map<number, number>()
  readonly #capacities: ReadonlyMap<number, number>
  #placed: Array<{ readonly id: string; readonly host: number }> = []
  freeBytes: number
  queuedBytes = 0
  readonly #bytes = new Map<string, number>()

  constructor(capacities: ReadonlyMap<number, number>, preference: Preference, maxBypasses: number) {
    this.#capacities = capacities
    this.freeBytes = Array.from(capacities.values()).reduce((sum, bytes) => sum + bytes, 0)
    this.ledger = new Ledger.Ledger(
      { hostTimeout: Infinity, claimTimeout: Infinity, recovery: 0, startedAt: 0, maxBypasses, preference },
      {
        placed: ({ host, id }) => this.#placed.push({ id, host: Number(host) }),
        failed: (id, error) => {
          throw new Error(`${id} failed`, { cause: error })
        },
        lost: (host) => {
          throw new Error(`${host} is lost`)
        }
      }
    )
    for (const [host, capacity] of capacities) {
      const answer = this.ledger.join({
        host: String(host),
        incarnation: "1",
        epoch: undefined,
        address: { host: "simulated", port: host },
        devices: [{ name: "0", backend: "host", description: "", capacity, labels: {}, facts: {} }],
        grants: []
      }, 0)
      if ("epoch" in answer) this.#epochs.set(host, answer.epoch)
    }
  }

  has(bytes: number): boolean {
    return Array.from(this.#capacities.values()).some((capacity) => capacity >= bytes)
  }

  ask({ at, bytes, id }: Job): void {
    this.#bytes.set(id, bytes)
    this.queuedBytes += bytes
    this.ledger.place({
      id,
      bytes,
      where: {},
      label: undefined,
      since: at,
      onExhausted: "wait",
      waitAtMost: Infinity,
      refused: undefined
    }, at)
  }

  ended(id: string, host: number, now: number): void {
    this.freeBytes += this.#bytes.get(id)!
    this.#report(host, [], [id], now)
  }

  /** The jobs that were placed meanwhile. They count as granted from now on. */
  begun(now: number): ReadonlyArray<{ readonly id: string; readonly host: number }> {
    const placed = this.#placed
    this.#placed = []
    for (const { host, id } of placed) {
      const bytes = this.#bytes.get(id)!
      this.freeBytes -= bytes
      this.queuedBytes -= bytes
      this.#report(host, [{ id, device: "0", bytes }], [], now)
    }
    return placed
  }

  #report(
    host: number,
    granted: ReadonlyArray<{ readonly id: string; readonly device: string; readonly bytes: number }>,
    ended: ReadonlyArray<string>,
    now: number
  ): void {
    const epoch = this.#epochs.get(host)!
    this.ledger.report({ host: String(host), epoch, granted, ended, isDraining: false }, now)
  }
}

export interface Decider {
  /** The ledger of the hosts among which a job waits. */
  choose(job: Job): Hosts
  /** The ledger of a host. */
  of(host: number): Hosts
}

export type MakeDecider = (capacities: ReadonlyArray<number>, seed: number) => Decider

/** A broker knows all hosts. */
export const broker = (preference: Preference, maxBypasses: number): MakeDecider => (capacities) => {
  const all = new Hosts(new Map(capacities.entries()), preference, maxBypasses)
  return { choose: () => all, of: () => all }
}

const each = (capacities: ReadonlyArray<number>, maxBypasses: number): ReadonlyArray<Hosts> =>
  capacities.map((capacity, host) => new Hosts(new Map([[host, capacity]]), "leastLeft", maxBypasses))

/** The client knows nothing but the capacities. */
export const random = (maxBypasses: number): MakeDecider => (capacities, seed) => {
  const next = Random.make(seed)
  const hosts = each(capacities, maxBypasses)
  return {
    choose: ({ bytes }) => Random.pick(next, hosts.filter((host) => host.has(bytes))),
    of: (host) => hosts[host]!
  }
}

/**
 * The client compares two random hosts, by the bytes that they had free less what waited there, at the last heartbeat.
 */
export const twoChoices = (maxBypasses: number): MakeDecider => (capacities, seed) => {
  const next = Random.make(seed)
  const hosts = each(capacities, maxBypasses)
  const figures = new Map<Hosts, number>()
  let lastBeat = -1
  const figure = (host: Hosts, now: number): number => {
    const beat = Math.floor(now / heartbeatMillis)
    if (beat > lastBeat) {
      lastBeat = beat
      for (const one of hosts) figures.set(one, one.freeBytes - one.queuedBytes)
    }
    return figures.get(host)!
  }
  return {
    choose: ({ at, bytes }) => {
      const able = hosts.filter((host) => host.has(bytes))
      const first = Random.pick(next, able)
      const second = Random.pick(next, able)
      return figure(first, at) >= figure(second, at) ? first : second
    },
    of: (host) => hosts[host]!
  }
}
