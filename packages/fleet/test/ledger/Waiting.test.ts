/** Who is served first, and how often others may be. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { device, offer, Recorded } from "./recorded.ts"

/** A fleet whose only device of each host is full, by `a`, `b` and so on. */
const full = (capacities: Readonly<Record<string, number>>, maxBypasses = 16): Recorded => {
  const fleet = new Recorded({ maxBypasses, hostTimeout: 1e6, claimTimeout: 1e6 })
  for (const [host, bytes] of Object.entries(capacities)) {
    fleet.join(offer(host, [bytes]))
    fleet.place({ id: host, bytes, where: { host } })
    fleet.grant(host)
  }
  fleet.decided()
  return fleet
}

describe("the queue", () => {
  it("serves who came first, whatever they ask for", () => {
    const fleet = full({ a: 10, b: 10 })
    fleet.place({ id: "any", bytes: 6 })
    fleet.place({ id: "on a", bytes: 4, where: { host: "a" } })
    fleet.place({ id: "any 2", bytes: 4 })
    fleet.place({ id: "on b", bytes: 10, where: { host: "b" } })
    deepStrictEqual(fleet.end("a"), ["any at a/0", "on a at a/0"])
    deepStrictEqual(fleet.end("b"), ["any 2 at b/0"])
    fleet.grant("any 2")
    deepStrictEqual(fleet.end("any 2"), ["on b at b/0"])
  })

  it("is in the order of the times at which clients asked first", () => {
    const fleet = full({ a: 10 })
    fleet.place({ id: "late", bytes: 4, since: 500 })
    fleet.place({ id: "early", bytes: 4, since: 400 })
    fleet.place({ id: "of a fast clock", bytes: 4, since: 1e9 })
    fleet.place({ id: "now", bytes: 4 })
    deepStrictEqual(fleet.waiting, ["early", "late", "of a fast clock", "now"])
    deepStrictEqual(fleet.end("a"), ["early at a/0", "late at a/0"])
  })

  it("lets later requests bypass one that does not fit, as often as the bound allows", () => {
    const fleet = full({ a: 10 }, 2)
    fleet.place({ id: "large", bytes: 10 })
    for (const id of ["1", "2", "3"]) fleet.place({ id, bytes: 3 })
    fleet.report("a", 1000, { granted: [{ id: "other", device: "0", bytes: 1 }] })
    deepStrictEqual(fleet.end("a"), ["1 at a/0", "2 at a/0"])
    deepStrictEqual(fleet.place({ id: "4", bytes: 1 }), [])
    fleet.grant("1", "2")
    deepStrictEqual(fleet.end("1"), [])
    deepStrictEqual(fleet.end("2"), [])
    fleet.report("a", 1000, { ended: ["other"] })
    deepStrictEqual(fleet.decided(), ["large at a/0"])
    fleet.grant("large")
    deepStrictEqual(fleet.end("large"), ["3 at a/0", "4 at a/0"])
  })

  it("counts a bypass only on a device that the earlier request could be on", () => {
    const fleet = full({ a: 10, b: 10 }, 1)
    fleet.place({ id: "on a", bytes: 10, where: { host: "a" } })
    fleet.report("a", 1000, { granted: [{ id: "other", device: "0", bytes: 1 }] })
    fleet.end("a")
    fleet.end("b")
    // Nobody waits for b.
    for (const id of ["1", "2", "3"]) {
      deepStrictEqual(fleet.place({ id, bytes: 2, where: { host: "b" } }), [`${id} at b/0`])
    }
    // The bound holds across requests that name other devices.
    deepStrictEqual(fleet.place({ id: "4", bytes: 5 }), ["4 at a/0"])
    deepStrictEqual(fleet.place({ id: "5", bytes: 4 }), ["5 at b/0"])
    deepStrictEqual(fleet.place({ id: "6", bytes: 1, where: { device: "0" } }), [])
    deepStrictEqual(fleet.place({ id: "7", bytes: 1, where: { host: "a" } }), [])
  })

  it("allows as many bypasses for each device that the earlier request could be on", () => {
    const fleet = full({ a: 10, b: 10 }, 2)
    for (const host of ["a", "b"]) {
      const { epoch } = fleet.placements.get(host)!
      fleet.report(host, epoch, { granted: [{ id: `other on ${host}`, device: "0", bytes: 1 }] })
    }
    fleet.place({ id: "large", bytes: 10 })
    for (const id of ["1", "2", "3", "4", "5"]) fleet.place({ id, bytes: 2 })
    deepStrictEqual(fleet.end("a"), ["1 at a/0", "2 at a/0", "3 at a/0", "4 at a/0"])
    deepStrictEqual(fleet.end("b"), [])
    fleet.report("b", 1001, { ended: ["other on b"] })
    deepStrictEqual(fleet.decided(), ["large at b/0"])
  })

  it("counts no bypass on a device that is too small for the earlier request", () => {
    const fleet = full({ small: 8, large: 80 }, 1)
    fleet.place({ id: "wants much", bytes: 70 })
    for (let n = 0; n < 10; n++) fleet.place({ id: `${n}`, bytes: 4 })
    deepStrictEqual(fleet.end("small"), ["0 at small/0", "1 at small/0"])
    fleet.grant("0", "1")
    deepStrictEqual(fleet.end("0", "1"), ["2 at small/0", "3 at small/0"])
    deepStrictEqual(fleet.end("large").slice(0, 2), ["wants much at large/0", "4 at large/0"])
  })

  it("opens all devices of a request that could not be bypassed, once it is served or gone", () => {
    for (const ending of ["served", "cancelled"] as const) {
      const fleet = full({ a: 10, b: 10 }, 0)
      fleet.place({ id: "first", bytes: 10 })
      fleet.place({ id: "on b", bytes: 3, where: { host: "b" } })
      fleet.place({ id: "on b 2", bytes: 3, where: { host: "b" } })
      fleet.report("b", 1001, { granted: [{ id: "other", device: "0", bytes: 1 }] })
      deepStrictEqual(fleet.end("b"), [])
      if (ending === "served") deepStrictEqual(fleet.end("a"), ["first at a/0", "on b at b/0", "on b 2 at b/0"])
      else {
        fleet.ledger.cancel("first", fleet.now)
        deepStrictEqual(fleet.decided(), ["on b at b/0", "on b 2 at b/0"])
      }
    }
  })

  it("goes on in its order, with its counts, when hosts come and go", () => {
    const fleet = full({ a: 10, b: 10 }, 2)
    fleet.report("a", 1000, { granted: [{ id: "other", device: "0", bytes: 1 }] })
    fleet.place({ id: "large", bytes: 10, where: { host: "a" } })
    fleet.place({ id: "1", bytes: 4 })
    fleet.place({ id: "2", bytes: 4, where: { host: "a" } })
    deepStrictEqual(fleet.end("a"), ["1 at a/0", "2 at a/0"])
    fleet.join(offer("c", [1]))
    fleet.decided()
    fleet.grant("1")
    deepStrictEqual(fleet.end("1"), [])
    deepStrictEqual(fleet.place({ id: "3", bytes: 1, where: { host: "a" } }), [])
    fleet.ledger.leave("c", 1002, fleet.now)
    deepStrictEqual(fleet.decided(), ["c is lost in 1002"])
    deepStrictEqual(fleet.waiting, ["large", "3"])
  })

  it("leaves the fewest bytes free, or the most", () => {
    for (const [preference, expected] of [["leastLeft", "x at a/1"], ["mostLeft", "x at a/0"]] as const) {
      const fleet = new Recorded({ preference })
      fleet.join(offer("a", [30, 20, 25]))
      deepStrictEqual(fleet.place({ id: "x", bytes: 20 }), [expected])
    }
    const fleet = new Recorded()
    fleet.join(offer("a", [20, 20]))
    deepStrictEqual(fleet.place({ id: "x", bytes: 20 }), ["x at a/0"])
  })

  it("tells its first hundred", () => {
    const fleet = full({ a: 10 })
    for (let n = 0; n < 150; n++) fleet.place({ id: `${n}`, bytes: 1 + n % 5, where: n % 2 === 0 ? {} : { host: "a" } })
    fleet.pass(40)
    const { waiters, waiting } = fleet.ledger.status(fleet.now)
    strictEqual(waiters, 150)
    deepStrictEqual(waiting.map(({ id }) => id), Array.from({ length: 100 }, (_, n) => `${n}`))
    deepStrictEqual(waiting[1], { id: "1", label: undefined, bytes: 2, where: { host: "a" }, waitedMillis: 40 })
  })

  it("serves a request that comes among the first 64 of its kind when others leave", () => {
    const fleet = full({ a: 10, b: 10 }, Infinity)
    for (let n = 0; n < 64; n++) fleet.place({ id: `large ${n}`, bytes: 10 })
    fleet.place({ id: "small", bytes: 2 })
    fleet.report("b", 1001, { granted: [{ id: "other", device: "0", bytes: 5 }] })
    deepStrictEqual(fleet.end("b"), [])
    fleet.ledger.cancel("large 3", fleet.now)
    deepStrictEqual(fleet.decided(), ["small at b/0"])
    fleet.place({ id: "large 64", bytes: 10 })
    fleet.place({ id: "small 2", bytes: 2 })
    deepStrictEqual(fleet.decided(), [])
    deepStrictEqual(fleet.end("a"), ["large 0 at a/0", "small 2 at b/0"])
  })

  it("forgets which devices many different requests named, and still serves those that wait", () => {
    const fleet = full({ a: 10 })
    const devices = [device("0", 4, { labels: { n: "7" } })]
    for (let n = 0; n < 3000; n++) fleet.place({ id: `${n}`, bytes: 4, where: { labels: { n: `${n}` } } })
    fleet.join(offer("b", [], { devices }))
    deepStrictEqual(fleet.decided(), ["7 at b/0"])
    assert.strictEqual(fleet.ledger.status(fleet.now).waiters, 2999)
  })
})
