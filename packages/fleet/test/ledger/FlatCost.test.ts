/** What a decision costs, counted in the waiting requests that it looks at, does not grow with how many wait. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { isWhole } from "../../../../test/support/explore.ts"
import type { Placement, Where } from "../../src/protocol/FleetModel.ts"
import { offer, Recorded } from "./recorded.ts"

const wheres: ReadonlyArray<Where> = [{}, { host: "h3" }, { device: "1" }, { atLeast: { none: 1 } }]

/** The most looks of one call among 200 that place a request and 200 that end a reservation, while so many requests wait. */
const looksWith = (waiting: number): { readonly place: number; readonly end: number; readonly cancel: number } => {
  const fleet = new Recorded({ hostTimeout: Infinity, claimTimeout: Infinity })
  const placed: Array<Placement> = []
  const grantAll = (): void => {
    for (const one of fleet.decided()) {
      const id = one.split(" at ")[0]!
      if (id === one) continue
      fleet.grant(id)
      placed.push(fleet.placements.get(id)!)
    }
  }
  for (let host = 0; host < 8; host++) fleet.join(offer(`h${host}`, [8, 16, 24, 80]))
  let asked = 0
  const place = (): void => {
    const n = asked++
    fleet.ledger.place({
      id: `r${n}`,
      bytes: 1 + (n * 7919) % 8 * (n % 11 === 0 ? 10 : 1),
      where: wheres[n % 5] ?? {},
      label: undefined,
      since: fleet.now - n % 3,
      onExhausted: "wait",
      waitAtMost: n % 4 === 0 ? 1e9 : Infinity,
      refused: undefined
    }, fleet.now)
  }
  while (fleet.ledger.status(fleet.now).waiters < waiting) {
    for (let n = 0; n < waiting / 10; n++) place()
    grantAll()
  }
  const most = { place: 0, end: 0, cancel: 0 }
  const looked = (what: keyof typeof most, act: () => void): void => {
    const { looked } = fleet.ledger
    act()
    most[what] = Math.max(most[what], fleet.ledger.looked - looked)
    grantAll()
  }
  for (let n = 0; n < 200; n++) {
    const { epoch, host, id } = placed.splice((n * 31) % placed.length, 1)[0]!
    looked("end", () => fleet.report(host, epoch, { ended: [id] }))
    looked("place", place)
    looked("cancel", () => fleet.ledger.cancel(`r${asked - 1 - 3 * n}`, fleet.now))
  }
  assert.isAtLeast(fleet.ledger.status(fleet.now).waiters, waiting - 4000)
  return most
}

describe("the cost of a decision", () => {
  it("is the same with 1,000 and with 100,000 waiting requests", () => {
    const few = looksWith(1000)
    const many = looksWith(isWhole ? 100_000 : 20_000)
    strictEqual(many.place, 1)
    assert.isAtMost(many.cancel, 64)
    // Each group of requests for the same devices has a window of 64, and a release may serve several.
    assert.isAtMost(many.end, 2 * few.end)
  })
})
