import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type HeldLinks, HeldOrder } from "../../src/domain/pool/HeldOrder.ts"

class Item implements HeldLinks<Item> {
  older: Item | undefined = undefined
  newer: Item | undefined = undefined
}

const itemsOf = (order: HeldOrder<Item>): Array<Item> => {
  const items: Array<Item> = []
  for (let item = order.oldest; item !== undefined; item = item.newer) items.push(item)
  return items
}

describe("HeldOrder", () => {
  it("keeps the order of arrival, whatever is taken out or comes again, and leaves no link on what it lets go", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer({ min: -20, max: 20 })), { maxLength: 60 }), (steps) => {
        const order = new HeldOrder<Item>()
        const expected: Array<Item> = []
        const gone: Array<Item> = []
        for (const step of steps) {
          if (step === null || expected.length === 0) {
            const item = gone.pop() ?? new Item()
            order.add(item)
            expected.push(item)
          } else if (step < 0) {
            const [item] = expected.splice(-step % expected.length, 1)
            order.renew(item!)
            expected.push(item!)
          } else {
            const [item] = expected.splice(step % expected.length, 1)
            order.remove(item!)
            gone.push(item!)
          }
          const items = itemsOf(order)
          assert.isTrue(items.length === expected.length && items.every((item, n) => item === expected[n]))
          assert.isTrue(gone.every(({ newer, older }) => newer === undefined && older === undefined))
        }
      })
    )
  })
})
