import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as MemorySpan from "../../src/domain/data/MemorySpan.ts"
import { runs } from "../support/explore.ts"

const allocations = [{ name: "one" }, { name: "other" }]

const anyBox = fc.record({
  origin: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)),
  extent: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2))
})

const anySpan: fc.Arbitrary<MemorySpan.MemorySpan> = fc.record({
  allocation: fc.constantFrom(...allocations),
  begin: fc.nat(12),
  bytes: fc.nat(4),
  box: fc.option(anyBox, { nil: undefined })
}).map(({ allocation, begin, box, bytes }) => ({ allocation, begin, end: begin + bytes, box }))

/** Whole numbers from one on. */
const from = (begin: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => begin + index)

const shareOne = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): boolean =>
  one.some((place) => other.includes(place))

const share = (one: MemorySpan.Box, other: MemorySpan.Box): boolean =>
  [0, 1, 2].every((axis) =>
    shareOne(from(one.origin[axis]!, one.extent[axis]!), from(other.origin[axis]!, other.extent[axis]!))
  )

/** Byte by byte, and element by element. */
const overlapping = (one: MemorySpan.MemorySpan, other: MemorySpan.MemorySpan): boolean =>
  one.allocation === other.allocation &&
  shareOne(from(one.begin, one.end - one.begin), from(other.begin, other.end - other.begin)) &&
  (one.box === undefined || other.box === undefined || share(one.box, other.box))

describe("memory spans", () => {
  it("overlap where they have a byte of one allocation in common, and of an image an element", () =>
    fc.assert(
      fc.property(anySpan, anySpan, (one, other) => {
        strictEqual(MemorySpan.overlaps(one, other), overlapping(one, other))
        strictEqual(MemorySpan.overlaps(other, one), overlapping(one, other))
      }),
      { numRuns: runs(5000) }
    ))

  it("have parts, of which two overlap where their bytes do", () =>
    fc.assert(
      fc.property(anySpan, fc.nat(8), fc.nat(8), fc.nat(8), fc.nat(8), (span, offset, bytes, other, otherBytes) => {
        const part = MemorySpan.part(span, offset, bytes)
        deepStrictEqual(part, {
          allocation: span.allocation,
          begin: span.begin + offset,
          end: span.begin + offset + bytes
        })
        strictEqual(
          MemorySpan.overlaps(part, MemorySpan.part(span, other, otherBytes)),
          shareOne(from(offset, bytes), from(other, otherBytes))
        )
      })
    ))

  it("are found by what they overlap, as long as they are in a set", () =>
    fc.assert(fc.property(
      fc.array(fc.record({ span: anySpan, add: fc.boolean(), at: fc.nat() }), { maxLength: 40 }),
      (steps) => {
        const set = new MemorySpan.SpanSet()
        let model: ReadonlyArray<MemorySpan.MemorySpan> = []
        for (const { add, at, span } of steps) {
          if (add) {
            set.add(span)
            model = [...model, span]
          } else {
            const gone = model[at % Math.max(1, model.length)] ?? span
            set.delete(gone)
            set.delete(gone)
            model = model.filter((other) => other !== gone)
          }
          deepStrictEqual(set.overlapping(span), model.filter((other) => overlapping(other, span)))
          strictEqual(set.has(span), model.some((other) => overlapping(other, span)))
        }
      }
    )))
})
