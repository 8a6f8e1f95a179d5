/** Which hosts are there, in which epochs, and what becomes of what they have. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { device, offer, Recorded } from "./recorded.ts"

describe("epochs", () => {
  it("begin at the time, and grow with each incarnation, even within one millisecond", () => {
    const fleet = new Recorded()
    strictEqual(fleet.join(offer("a", [10])), 1000)
    fleet.ledger.leave("a", 1000, fleet.now)
    strictEqual(fleet.join(offer("a", [10], { incarnation: "a 2" })), 1001)
    strictEqual(fleet.join(offer("b", [10])), 1002)
    fleet.pass(500)
    strictEqual(fleet.join(offer("c", [10])), 1500)
  })

  it("go on at a new broker, with the grants", () => {
    const fleet = new Recorded()
    strictEqual(fleet.join(offer("a", [10], { epoch: 700, grants: [{ id: "x", device: "0", bytes: 4 }] })), 700)
    deepStrictEqual(fleet.reserved, { "a/0": 4 })
    strictEqual(fleet.join(offer("b", [10], { epoch: 5000 })), 5000)
    // No later epoch is smaller than one that any broker gave.
    strictEqual(fleet.join(offer("c", [10])), 5001)
  })

  it("are over after a silence, with all reservations of the host", () => {
    const fleet = new Recorded()
    const epoch = fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.grant("x")
    fleet.decided()
    strictEqual(fleet.ledger.nextTick(), 2000)
    deepStrictEqual(fleet.pass(999), [])
    deepStrictEqual(fleet.pass(1), ["a is lost in 1000"])
    strictEqual(fleet.messages.get("a"), "silent for 1000 ms")
    strictEqual(fleet.report("a", Number(epoch)), false)
    const { ended, hosts: [host], lost, placed } = fleet.ledger.status(fleet.now)
    deepStrictEqual([host?.state, host?.silentMillis, host?.devices[0]?.reservedBytes], ["lost", 1000, 0])
    deepStrictEqual({ ended, lost, placed }, { ended: 0, lost: 1, placed: 1 })
  })

  it("that are over do not come back, and grants of them count no more", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.pass(1000)
    strictEqual(fleet.join(offer("a", [10], { epoch: 1000, grants: [{ id: "x", device: "0", bytes: 4 }] })), 2000)
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
  })

  it("stay over when the host has left", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.ledger.leave("a", 999, fleet.now)
    deepStrictEqual(fleet.decided(), [])
    fleet.ledger.leave("a", 1000, fleet.now)
    deepStrictEqual(fleet.decided(), ["a is lost in 1000"])
    deepStrictEqual(fleet.ledger.status(fleet.now).hosts, [])
    strictEqual(fleet.join(offer("a", [10], { epoch: 1000 })), 1001)
  })

  it("end when the same process joins without its epoch", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    strictEqual(fleet.join(offer("a", [10])), 1001)
    deepStrictEqual(fleet.decided(), ["a is lost in 1000"])
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
  })

  it("go on when the same process joins in its epoch: its grants replace what was known of it", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10, 10]))
    for (const id of ["gone", "there", "unclaimed"]) fleet.place({ id, bytes: 3 })
    fleet.grant("gone", "there")
    fleet.decided()
    deepStrictEqual(fleet.place({ id: "unclaimed too", bytes: 10 }), ["unclaimed too at a/1"])
    deepStrictEqual(fleet.place({ id: "waits", bytes: 3 }), [])
    const grants = [{ id: "there", device: "0", bytes: 3 }, { id: "new", device: "1", bytes: 5 }]
    strictEqual(fleet.join(offer("a", [10, 10], { epoch: 1000, grants })), 1000)
    deepStrictEqual(fleet.decided(), ["waits at a/0"])
    deepStrictEqual(fleet.reserved, { "a/0": 9, "a/1": 15 })
  })
})

describe("a host", () => {
  it("keeps its name while another process wants it", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.pass(250)
    const other = offer("a", [10], { incarnation: "a 2" })
    strictEqual(
      fleet.join(other),
      "Fleet.layerHost: another process has the name \"a\": the one at 127.0.0.1:7100, heard of 250 ms ago. " +
        "Give each host of a fleet a name of its own, or end the other process first."
    )
    fleet.pass(750)
    strictEqual(fleet.join(other), 2000)
  })

  it("keeps its name and its grants at a new broker, though another process comes there first", () => {
    const fleet = new Recorded({ recovery: 300 })
    const other = offer("a", [10], { incarnation: "a 2" })
    fleet.pass(100)
    strictEqual(
      fleet.join(other),
      "Fleet.layerHost: the fleet has a new broker, which first waits for the hosts that have reservations: for another " +
        "200 ms. Let the host \"a\" join again after that."
    )
    strictEqual(fleet.join(offer("a", [10], { epoch: 700, grants: [{ id: "x", device: "0", bytes: 4 }] })), 700)
    assert.match(String(fleet.join(other)), /another process has the name "a"/)
    fleet.pass(200)
    assert.match(String(fleet.join(other)), /another process has the name "a"/)
    deepStrictEqual(fleet.reserved, { "a/0": 4 })
  })

  it("without an epoch joins a new broker when its recovery is over", () => {
    const fleet = new Recorded({ recovery: 300 })
    fleet.pass(299)
    assert.match(String(fleet.join(offer("a", [10]))), /for another 1 ms/)
    deepStrictEqual(fleet.ledger.status(fleet.now).hosts, [])
    fleet.pass(1)
    strictEqual(fleet.join(offer("a", [10])), 1300)
  })

  it("may end its epoch during a recovery, once it is known", () => {
    const fleet = new Recorded({ recovery: 300 })
    strictEqual(fleet.join(offer("a", [10], { epoch: 700 })), 700)
    strictEqual(fleet.join(offer("a", [10])), 1000)
    deepStrictEqual(fleet.decided(), ["a is lost in 700"])
  })

  it("that drains gets nothing more, and keeps what it has", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.grant("x")
    fleet.decided()
    fleet.report("a", 1000, { isDraining: true })
    deepStrictEqual(fleet.place({ id: "y", bytes: 4 }), [])
    deepStrictEqual(fleet.place({ id: "z", bytes: 4, onExhausted: "fail" }), ["z: OutOfMemory"])
    deepStrictEqual([fleet.ledger.status(fleet.now).hosts[0]?.state, fleet.reserved], ["draining", { "a/0": 4 }])
    fleet.report("a", 1000)
    deepStrictEqual(fleet.decided(), ["y at a/0"])
  })

  it("that offers other devices in its epoch moves what its clients have not come for", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    strictEqual(fleet.join(offer("a", [6, 3], { epoch: 1000 })), 1000)
    deepStrictEqual(fleet.reserved, { "a/0": 4, "a/1": 0 })
    // Its claim goes on, and ends when it would have ended.
    fleet.pass(499)
    deepStrictEqual(fleet.reserved, { "a/0": 4, "a/1": 0 })
    fleet.pass(1)
    deepStrictEqual(fleet.reserved, { "a/0": 0, "a/1": 0 })
    fleet.place({ id: "y", bytes: 2 })
    fleet.join(offer("a", [6], { epoch: 1000 }))
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
  })

  it("may not offer what is ill-formed", () => {
    const fleet = new Recorded()
    const refusals = [
      offer("", [10]),
      offer("a", [10], { incarnation: "" }),
      offer("a", [10], { epoch: Number.NaN }),
      offer("a", [10], { devices: [device("0", 1), device("0", 1)] }),
      offer("a", [10], { devices: [device("", 1)] }),
      offer("a", [-1]),
      offer("a", [1.5]),
      offer("a", [10], { epoch: 7, grants: [{ id: "x", device: "1", bytes: 1 }] }),
      offer("a", [10], { epoch: 7, grants: [{ id: "x", device: "0", bytes: 0 }] })
    ].map((one) => fleet.join(one))
    for (const refusal of refusals) assert.match(String(refusal), /^Fleet\.layerHost: .*\. /)
    deepStrictEqual(fleet.ledger.status(fleet.now).hosts, [])
  })

  it("is found by no name of Object's prototype", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    const where = { labels: { constructor: "x" }, atLeast: { toString: 0 } }
    deepStrictEqual(fleet.place({ id: "x", bytes: 1, where, onExhausted: "fail" }), ["x: DeviceUnavailable"])
  })
})

describe("reports", () => {
  it("count grants that the ledger does not know, even over the capacity", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.report("a", 1000, { granted: [{ id: "x", device: "0", bytes: 8 }, { id: "y", device: "0", bytes: 8 }] })
    deepStrictEqual(fleet.reserved, { "a/0": 16 })
    deepStrictEqual(fleet.place({ id: "z", bytes: 1 }), [])
    fleet.report("a", 1000, { ended: ["x"] })
    deepStrictEqual(fleet.decided(), ["z at a/0"])
  })

  it("that come twice or late change nothing", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    const granted = [{ id: "x", device: "0", bytes: 4 }]
    for (let times = 0; times < 2; times++) fleet.report("a", 1000, { granted })
    deepStrictEqual(fleet.reserved, { "a/0": 4 })
    for (let times = 0; times < 2; times++) fleet.report("a", 1000, { ended: ["x"] })
    fleet.report("a", 1000, { granted })
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
    deepStrictEqual(fleet.ledger.status(fleet.now).ended, 1)
    // The same identifier may be placed there again.
    fleet.decided()
    deepStrictEqual(fleet.place({ id: "x", bytes: 4 }), ["x at a/0"])
    fleet.report("a", 1000, { granted })
    deepStrictEqual(fleet.reserved, { "a/0": 4 })
  })

  it("of a grant that ended before they came count it as ended", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.report("a", 1000, { granted: [{ id: "x", device: "0", bytes: 4 }], ended: ["x"] })
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
  })

  it("of another number of bytes, or another device, replace what was placed", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10, 20]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.report("a", 1000, { granted: [{ id: "x", device: "1", bytes: 6 }] })
    deepStrictEqual(fleet.reserved, { "a/0": 0, "a/1": 6 })
    fleet.pass(500)
    deepStrictEqual(fleet.reserved, { "a/0": 0, "a/1": 6 })
  })

  it("of grants on devices that the host does not offer are ignored", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    strictEqual(fleet.report("a", 1000, { granted: [{ id: "x", device: "9", bytes: 4 }] }), true)
    deepStrictEqual(fleet.reserved, { "a/0": 0 })
  })
})
