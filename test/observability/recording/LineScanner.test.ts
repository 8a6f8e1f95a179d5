/** What a file's lines of numbers are read as. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { bytesOf, LineScanner } from "../../../src/observability/recording/LineScanner.ts"

const head = bytesOf("[\"x\"")

/** The numbers of a line, or undefined where it is left to JSON.parse. */
const scanned = (line: string, count: number): ReadonlyArray<number> | undefined => {
  const lines = new LineScanner(bytesOf(`${line}\nnext`))
  const numbers = lines.begins(head) ? Array.from({ length: count }, () => lines.number()) : []
  if (lines.ends()) {
    strictEqual(lines.take(), "next")
    return numbers
  }
  strictEqual(lines.take(), line)
  return undefined
}

const whole = fc.oneof(fc.nat(9), fc.nat(), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }))
const decimal = fc.tuple(fc.nat(2 ** 41), fc.nat(9999)).map(([whole, part]) => Number(`${whole}.${part}`))

describe("a line of numbers", () => {
  it("is read as JSON.parse reads it", () =>
    fc.assert(
      fc.property(fc.array(fc.oneof(whole, decimal), { minLength: 1, maxLength: 16 }), (numbers) => {
        const read = scanned(JSON.stringify(["x", ...numbers]), numbers.length)
        // One that has more digits than a number keeps is left to JSON.parse.
        if (read !== undefined || numbers.every(Number.isInteger)) deepStrictEqual(read, numbers)
      }),
      { numRuns: 500 }
    ))

  it("is left to JSON.parse, or read as that reads it, whatever numbers and characters it has", () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.double(), fc.constantFrom("01", "1.", ".5", "-1", "", " 1", "1e3", "\"Infinity\"", "1,2")),
          {
            minLength: 1,
            maxLength: 3
          }
        ),
        (values) => {
          const line = `["x",${values.join(",")}]`
          const read = scanned(line, values.length)
          if (read === undefined) return
          const [, ...parsed] = JSON.parse(line) as [string, ...Array<number | string>]
          deepStrictEqual(read, parsed.map(Number))
        }
      ),
      { numRuns: 500 }
    ))

  it("has as many as are asked for, and is whole", () => {
    deepStrictEqual(scanned("[\"x\",1,20,1795458399480.123,\"Infinity\"]", 4), [1, 20, 1795458399480.123, Infinity])
    for (
      const line of [
        "[\"x\",1]",
        "[\"x\",1,2,3]",
        "[\"x\",1,2",
        "[\"x\",1,2]]",
        "[\"x\" ,1,2]",
        "[\"y\",1,2]",
        "[\"x\""
      ]
    ) {
      strictEqual(scanned(line, 2), undefined)
    }
  })
})
