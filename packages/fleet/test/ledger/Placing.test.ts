/** Where reservations are placed, and how placements end or are undone. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { device, offer, Recorded } from "./recorded.ts"

const refused = { host: "a", epoch: 1000, device: "0", freeBytes: 3 }

describe("a reservation", () => {
  it("is placed on a device that matches and has room", () => {
    const fleet = new Recorded()
    const devices = [
      device("0", 100, { labels: { zone: "x" } }),
      device("1", 100, { backend: "opencl", labels: { zone: "x", rack: "7" }, facts: { maxBufferSize: 64 } })
    ]
    fleet.join(offer("a", [], { devices }))
    fleet.join(offer("b", [100]))
    const at = (id: string, where: Parameters<Recorded["place"]>[0]["where"] & object) =>
      fleet.place({ id, bytes: 1, where })
    deepStrictEqual(at("host", { host: "b" }), ["host at b/0"])
    deepStrictEqual(at("device", { device: "1" }), ["device at a/1"])
    deepStrictEqual(at("backend", { backend: "opencl" }), ["backend at a/1"])
    deepStrictEqual(at("labels", { labels: { zone: "x", rack: "7" } }), ["labels at a/1"])
    deepStrictEqual(at("facts", { atLeast: { maxBufferSize: 64 } }), ["facts at a/1"])
    deepStrictEqual(at("too much", { atLeast: { maxBufferSize: 65 } }), [])
    deepStrictEqual(at("together", { host: "b", labels: { zone: "x" } }), [])
  })

  it("gets the same answer when it asks again, and none while it waits", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    deepStrictEqual(fleet.place({ id: "x", bytes: 8 }), ["x at a/0"])
    deepStrictEqual(fleet.place({ id: "x", bytes: 8 }), ["x at a/0"])
    deepStrictEqual(fleet.place({ id: "y", bytes: 8 }), [])
    deepStrictEqual(fleet.place({ id: "y", bytes: 8 }), [])
    deepStrictEqual([fleet.reserved, fleet.waiting], [{ "a/0": 8 }, ["y"]])
    deepStrictEqual(fleet.ledger.status(fleet.now).placed, 1)
  })

  it("ends when its client does not come to the host", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 8 })
    deepStrictEqual(fleet.place({ id: "y", bytes: 8 }), [])
    strictEqual(fleet.ledger.nextTick(), 1500)
    deepStrictEqual(fleet.pass(499), [])
    deepStrictEqual(fleet.pass(1), ["y at a/0"])
    // It came after all: it counts again.
    fleet.report("a", 1000, { granted: [{ id: "x", device: "0", bytes: 8 }] })
    deepStrictEqual(fleet.reserved, { "a/0": 16 })
  })

  it("does not end when its client has come", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 8 })
    fleet.grant("x")
    fleet.pass(500)
    deepStrictEqual(fleet.reserved, { "a/0": 8 })
  })

  it("is cancelled before it was placed, and until it was granted", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 8 })
    fleet.place({ id: "y", bytes: 8 })
    fleet.place({ id: "z", bytes: 8 })
    fleet.ledger.cancel("y", fleet.now)
    fleet.ledger.cancel("x", fleet.now)
    deepStrictEqual(fleet.decided(), ["z at a/0"])
    fleet.grant("z")
    fleet.ledger.cancel("z", fleet.now)
    fleet.ledger.cancel("nobody", fleet.now)
    deepStrictEqual(fleet.reserved, { "a/0": 8 })
  })

  it("that its host refuses goes to another device, or back to its place", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.pass(10)
    deepStrictEqual(fleet.place({ id: "y", bytes: 8 }), [])
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused }), [])
    deepStrictEqual([fleet.waiting, fleet.reserved], [["x", "y"], { "a/0": 0 }])
    // The host has no more than it says, until it reports.
    deepStrictEqual(fleet.place({ id: "small", bytes: 3 }), ["small at a/0"])
    deepStrictEqual(fleet.place({ id: "small 2", bytes: 1 }), [])
    fleet.report("a", 1000)
    deepStrictEqual(fleet.decided(), ["x at a/0", "small 2 at a/0"])
    fleet.join(offer("b", [8]))
    deepStrictEqual(fleet.decided(), ["y at b/0"])
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused }), [])
    fleet.join(offer("c", [5]))
    deepStrictEqual(fleet.decided(), ["x at c/0"])
    // This refusal is an old one.
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused }), ["x at c/0"])
  })

  it("that its host refuses does not go there again before the host reports, whatever that says it has free", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused: { ...refused, freeBytes: 10 } }), [])
    deepStrictEqual(fleet.place({ id: "y", bytes: 3 }), ["y at a/0"])
  })

  it("that its host refuses fails, if it does not wait", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4, onExhausted: "fail" })
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, onExhausted: "fail", refused }), ["x: OutOfMemory"])
    deepStrictEqual([fleet.waiting, fleet.reserved], [[], { "a/0": 0 }])
  })

  it("that was refused after it had been granted counts no more on the first host, until that says so again", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 4 })
    fleet.grant("x")
    fleet.join(offer("b", [10]))
    fleet.decided()
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused }), ["x at b/0"])
    deepStrictEqual(fleet.reserved, { "a/0": 0, "b/0": 4 })
    fleet.report("a", 1000, { granted: [{ id: "x", device: "0", bytes: 4 }] })
    deepStrictEqual(fleet.reserved, { "a/0": 4, "b/0": 4 })
    // The second host refuses it too: the client gets what the first one has granted.
    const again = { ...refused, host: "b", epoch: 1001 }
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, refused: again }), ["x at a/0"])
    deepStrictEqual(fleet.reserved, { "a/0": 4, "b/0": 0 })
  })
})

describe("after a failover", () => {
  it("nothing is placed before the hosts that an earlier broker knew have joined", () => {
    const fleet = new Recorded({ recovery: 300 })
    deepStrictEqual(fleet.place({ id: "second", bytes: 6, since: 20 }), [])
    deepStrictEqual(fleet.place({ id: "first", bytes: 6, since: 10 }), [])
    deepStrictEqual(fleet.place({ id: "large", bytes: 11, since: 10 }), [])
    deepStrictEqual(fleet.place({ id: "now", bytes: 5, since: 10, onExhausted: "fail" }), [])
    fleet.join(offer("a", [10], { epoch: 500, grants: [{ id: "x", device: "0", bytes: 4 }] }))
    strictEqual(fleet.ledger.nextTick(), 1300)
    deepStrictEqual(fleet.pass(299), [])
    deepStrictEqual(fleet.waiting, ["first", "large", "now", "second"])
    deepStrictEqual(fleet.pass(1), ["first at a/0", "now: OutOfMemory"])
    deepStrictEqual(fleet.waiting, ["large", "second"])
    fleet.grant("first")
    // A host of the earlier broker may come back that has so many bytes.
    deepStrictEqual(fleet.pass(699), [])
    deepStrictEqual(fleet.pass(1), ["large: LimitExceeded"])
  })

  it("a reservation that asks again gets what an earlier broker has given it", () => {
    const fleet = new Recorded({ recovery: 300 })
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, since: 20 }), [])
    fleet.join(offer("a", [10], { epoch: 500, grants: [{ id: "x", device: "0", bytes: 4 }] }))
    deepStrictEqual(fleet.decided(), ["x at a/0"])
    deepStrictEqual(fleet.place({ id: "x", bytes: 4, since: 20 }), ["x at a/0"])
    deepStrictEqual([fleet.reserved, fleet.waiting], [{ "a/0": 4 }, []])
  })

  it("the end of a wait comes during the recovery too", () => {
    const fleet = new Recorded({ recovery: 300 })
    fleet.join(offer("a", [10], { epoch: 500 }))
    fleet.place({ id: "x", bytes: 4, waitAtMost: 100 })
    deepStrictEqual(fleet.pass(100), ["x: OutOfMemory"])
  })
})

describe("a refusal names what it is about", () => {
  it("ill-formed requests", () => {
    const fleet = new Recorded()
    const wrong = [
      { id: "", bytes: 1 },
      { id: "a", bytes: 0 },
      { id: "b", bytes: 1.5 },
      { id: "c", bytes: 2 ** 53 },
      { id: "d", bytes: 1, since: Number.NaN },
      { id: "e", bytes: 1, waitAtMost: -1 },
      { id: "f", bytes: 1, waitAtMost: Number.NaN },
      { id: "g", bytes: 1, refused: { ...refused, freeBytes: Number.NaN } }
    ]
    for (const one of wrong) deepStrictEqual(fleet.place(one), [`${one.id}: InvalidRequest`])
    strictEqual(
      fleet.messages.get("b"),
      "Fleet.reserve: 1.5 is no whole number of bytes from 1 to 2^53 - 1. " +
        "Pass a number of bytes, as 64 * 1024 * 1024 for 64 MiB."
    )
    deepStrictEqual(fleet.waiting, [])
  })

  it("more bytes than any of the devices has", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10, 20]))
    fleet.join(offer("b", [90]))
    deepStrictEqual(fleet.place({ id: "x", bytes: 21, where: { host: "a" } }), ["x: LimitExceeded"])
    strictEqual(
      fleet.messages.get("x"),
      "Fleet.reserve: 21 bytes are over capacity of the device \"a/1\", 20 bytes, so they can never fit. " +
        "Ask for less, split the work, or choose a device that takes more."
    )
    deepStrictEqual(fleet.place({ id: "y", bytes: 90 }), ["y at b/0"])
    deepStrictEqual(fleet.place({ id: "z", bytes: 90 }), [])
    fleet.ledger.leave("b", 1001, fleet.now)
    deepStrictEqual(fleet.decided(), ["b is lost in 1001"])
    // It may come back, as in a rolling update.
    fleet.pass(999)
    fleet.report("a", 1000)
    deepStrictEqual(fleet.pass(1), ["z: LimitExceeded"])
  })

  it("is not too large while a host is restarted that has so many", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.join(offer("b", [90]))
    fleet.ledger.leave("b", 1001, fleet.now)
    deepStrictEqual(fleet.place({ id: "x", bytes: 90 }), ["b is lost in 1001"])
    fleet.pass(500)
    fleet.join(offer("b", [90], { incarnation: "b again" }))
    deepStrictEqual(fleet.decided(), ["x at b/0"])
  })

  it("no room, now or in the time to wait", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    fleet.place({ id: "x", bytes: 8 })
    fleet.grant("x")
    fleet.decided()
    deepStrictEqual(fleet.place({ id: "now", bytes: 4, onExhausted: "fail" }), ["now: OutOfMemory"])
    deepStrictEqual(fleet.place({ id: "later", bytes: 4, waitAtMost: 200 }), [])
    deepStrictEqual(fleet.place({ id: "at once", bytes: 4, waitAtMost: 0 }), [])
    deepStrictEqual(fleet.pass(0), ["at once: OutOfMemory"])
    deepStrictEqual(fleet.pass(200), ["later: OutOfMemory"])
    strictEqual(
      fleet.messages.get("later"),
      "Out of memory: 4 bytes requested (block of 4 B), maxBytes of \"a/0\" 10 B, active 0 B, held 0 B, managed 0 B, " +
        "pending 0 B, reserved 8 B, largest held block 0 B; tried wait, waited 200 ms. " +
        "Release leases and retry (isRetryable is true), or raise maxBytes."
    )
  })

  it("no device that matches", () => {
    const fleet = new Recorded()
    fleet.join(offer("a", [10]))
    const where = { host: "b", labels: { zone: "x" }, atLeast: { maxBufferSize: 7 } }
    deepStrictEqual(fleet.place({ id: "now", bytes: 4, where, onExhausted: "fail" }), ["now: DeviceUnavailable"])
    deepStrictEqual(fleet.place({ id: "later", bytes: 4, where, waitAtMost: 200 }), [])
    deepStrictEqual(fleet.pass(200), ["later: DeviceUnavailable"])
    strictEqual(
      fleet.messages.get("later"),
      "No device available (host a/0: it does not match). Fleet.reserve: no device of the fleet is what it asks for " +
        "(host \"b\", label zone \"x\", maxBufferSize at least 7), and it waited 200 ms. " +
        "Ask for others in `where`, or let a host join that offers such a device."
    )
  })
})
