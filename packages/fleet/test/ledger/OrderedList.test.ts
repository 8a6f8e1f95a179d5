/** A list in chunks is a sorted array. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { OrderedList } from "../../src/ledger/OrderedList.ts"

describe("OrderedList", () => {
  it("is a sorted array, however many elements it has", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3000 }),
        fc.nat(1_000_000),
        fc.array(fc.tuple(fc.boolean(), fc.nat(4000)), { maxLength: 300, size: "max" }),
        (crowd, start, steps) => {
          const list = new OrderedList<number>((a, b) => a < b)
          let sorted: Array<number> = []
          const add = (element: number): void => {
            if (sorted.includes(element)) return
            list.add(element)
            sorted = [...sorted, element].sort((a, b) => a - b)
          }
          for (let n = 0; n < crowd; n++) list.add((start + n * 7919) % 4001)
          sorted = Array.from(list)
          deepStrictEqual(sorted, sorted.slice().sort((a, b) => a - b))
          for (const [adds, element] of steps) {
            if (adds) add(element)
            else {
              strictEqual(list.remove(element), sorted.includes(element))
              sorted = sorted.filter((one) => one !== element)
            }
            deepStrictEqual(list.around(element), {
              before: sorted.filter((one) => one < element).at(-1),
              after: sorted.find((one) => one > element)
            })
          }
          deepStrictEqual(Array.from(list), sorted)
          strictEqual(list.length, sorted.length)
          strictEqual(list.first, sorted[0])
          for (let n = 0; n <= 70; n++) strictEqual(list.at(n), sorted[n])
        }
      ),
      { numRuns: runs(300) }
    )
  })
})
