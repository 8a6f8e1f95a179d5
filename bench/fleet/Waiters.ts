/** How many waiting requests a ledger looks at for each of its decisions, and how long they take. */
import { Ledger } from "@effect-gpu-pool/fleet/ledger"
import { max, mean, median } from "simple-statistics"
import * as Random from "../Random.ts"

export interface Cost {
  /** The mean and the most, for a request that comes. */
  readonly placeLooks: readonly [mean: number, most: number]
  /** The same for a reservation that ends, with all that are served by that. */
  readonly endLooks: readonly [mean: number, most: number]
  /** The median time of each, in microseconds. */
  readonly place: number
  readonly end: number
}

const operations = 2000
const wheres = [{}, {}, {}, { host: "3" }, { device: "1" }] as const

/** A fleet of 16 hosts with 4 devices each, all full, for which so many requests wait. */
export const cost = (waiting: number): Cost => {
  const next = Random.make(1)
  const placed: Array<{ readonly id: string; readonly host: string; readonly epoch: number }> = []
  let granted: Array<
    { readonly id: string; readonly host: string; readonly epoch: number; device: string; bytes: number }
  > = []
  const ledger = new Ledger.Ledger(
    { hostTimeout: Infinity, claimTimeout: Infinity, recovery: 0, startedAt: 0 },
    {
      placed: (placement) => granted.push(placement),
      failed: (id, error) => {
        throw new Error(`${id} failed`, { cause: error })
      },
      lost: (host) => {
        throw new Error(`${host} is lost`)
      }
    }
  )
  for (let host = 0; host < 16; host++) {
    ledger.join({
      host: String(host),
      incarnation: "1",
      epoch: undefined,
      address: { host: "simulated", port: host },
      devices: [8, 16, 24, 80].map((capacity, n) => ({
        name: String(n),
        backend: "host",
        description: "",
        capacity: capacity * 2 ** 30,
        labels: {},
        facts: {}
      })),
      grants: []
    }, 0)
  }
  let now = 0
  let asked = 0
  const place = (): void => {
    const id = String(asked++)
    ledger.place({
      id,
      bytes: Random.logUniform(next, 2 ** 28, 15 * 2 ** 30),
      where: Random.pick(next, wheres),
      label: undefined,
      since: ++now,
      onExhausted: "wait",
      waitAtMost: Infinity,
      refused: undefined
    }, now)
  }
  const grant = (): void => {
    for (const { bytes, device, epoch, host, id } of granted) {
      ledger.report({ host, epoch, granted: [{ id, device, bytes }], ended: [], isDraining: false }, now)
      placed.push({ id, host, epoch })
    }
    granted = []
  }
  const looks = { place: [] as Array<number>, end: [] as Array<number> }
  const micros = { place: [] as Array<number>, end: [] as Array<number> }
  const counted = (what: "place" | "end", act: () => void): void => {
    const { looked } = ledger
    const from = performance.now()
    act()
    micros[what].push(1000 * (performance.now() - from))
    looks[what].push(ledger.looked - looked)
    grant()
  }
  while (ledger.status(now).waiters < waiting) {
    for (let n = 0; n < 100; n++) place()
    grant()
  }
  for (let n = 0; n < operations; n++) {
    const [ending] = placed.splice(Random.integer(next, 0, placed.length - 1), 1)
    const { epoch, host, id } = ending!
    counted("end", () => ledger.report({ host, epoch, granted: [], ended: [id], isDraining: false }, now))
    counted("place", place)
  }
  return {
    placeLooks: [mean(looks.place), max(looks.place)],
    endLooks: [mean(looks.end), max(looks.end)],
    place: median(micros.place),
    end: median(micros.end)
  }
}
