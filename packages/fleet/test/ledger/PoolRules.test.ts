/** On a fleet of one device, the ledger serves reservations exactly as the machine of a pool does. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { PoolOfReservations } from "./PoolOfReservations.ts"
import { offer, Recorded } from "./recorded.ts"

const step = fc.record({
  does: fc.constantFrom("ask", "ask", "ask", "askNow", "end", "end", "end", "cancel"),
  bytes: fc.integer({ min: 1, max: 20 }),
  which: fc.nat(1000)
})

/** The same decisions in the words of the pool. */
const inWords = (decided: ReadonlyArray<string>): ReadonlyArray<string> =>
  decided.map((one) => one.replace(" at a/0", " Granted").replace(": OutOfMemory", " Failed"))

describe("one device", () => {
  it("is reserved in the order of a pool, with its bound on bypasses and its window", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 3, 16, Infinity),
        fc.integer({ min: 0, max: 150 }),
        fc.array(step, { minLength: 10, maxLength: 200, size: "max" }),
        (maxBypasses, crowd, steps) => {
          const pool = new PoolOfReservations(20, maxBypasses)
          const fleet = new Recorded({ maxBypasses, hostTimeout: Infinity, claimTimeout: Infinity })
          fleet.join(offer("a", [20]))
          const granted: Array<string> = []
          const waiting: Array<string> = []
          let asked = 0
          const settle = (): void => {
            const decided = inWords(fleet.decided())
            deepStrictEqual(decided, pool.decided())
            for (const one of decided) {
              const [id = "", answer] = one.split(" ")
              const at = waiting.indexOf(id)
              if (at >= 0) waiting.splice(at, 1)
              if (answer === "Granted") {
                granted.push(id)
                fleet.grant(id)
              }
            }
          }
          const ask = (bytes: number, onExhausted: "fail" | "wait"): void => {
            const id = `r${asked++}`
            waiting.push(id)
            fleet.ledger.place({
              id,
              bytes,
              where: {},
              label: undefined,
              since: fleet.now,
              onExhausted,
              waitAtMost: Infinity,
              refused: undefined
            }, fleet.now)
            pool.ask(id, bytes, onExhausted)
            settle()
          }
          for (let n = 0; n < crowd; n++) ask(20 - n % 7, "wait")
          for (const { bytes, does, which } of steps) {
            const list = does === "end" ? granted : waiting
            const [id] = list.splice(which % Math.max(1, list.length), does === "end" || does === "cancel" ? 1 : 0)
            if (does === "ask" || does === "askNow") ask(bytes, does === "ask" ? "wait" : "fail")
            else if (id !== undefined) {
              pool.end(id)
              if (does === "end") fleet.report("a", 1000, { ended: [id] })
              else fleet.ledger.cancel(id, fleet.now)
            }
            settle()
          }
        }
      ),
      { numRuns: runs(2000) }
    )
  })
})
