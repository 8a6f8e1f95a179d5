import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { type MappedPart, MappedParts } from "../../src/domain/data/MappedParts.ts"

const anyPart = (axes: number): fc.Arbitrary<MappedPart> => {
  const numbers = (min: number, max: number) => fc.array(fc.integer({ min, max }), { minLength: axes, maxLength: axes })
  return fc.record({ origin: numbers(0, axes === 1 ? 20 : 3), extent: numbers(1, 3), writes: fc.boolean() })
}

/** The bytes or elements of a part, by name. */
const placesOf = ({ extent, origin }: MappedPart): ReadonlyArray<string> =>
  extent.reduce<ReadonlyArray<string>>(
    (places, length, axis) =>
      places.flatMap((place) => Array.from({ length }, (_, at) => `${place} ${origin[axis]! + at}`)),
    [""]
  )

const meet = (one: MappedPart, other: MappedPart): boolean => {
  const theirs = new Set(placesOf(other))
  return placesOf(one).some((place) => theirs.has(place))
}

describe("mapped parts", () => {
  for (const [what, axes] of [["bytes", 1], ["elements", 3]] as const) {
    it(`forbid what shares ${what} with one of them where either writes, and tell what is mapped`, () => {
      fc.assert(fc.property(fc.array(fc.tuple(anyPart(axes), fc.boolean())), (steps) => {
        const parts = new MappedParts()
        let model: ReadonlyArray<readonly [part: MappedPart, remove: () => void]> = []
        for (const [part, ends] of steps) {
          const expected = model.some(([other]) => meet(part, other) && (part.writes || other.writes))
          const { add, conflicts, remove } = parts.claim(part)
          strictEqual(conflicts, expected)
          if (!expected) {
            add()
            model = [...model, [part, remove]]
          }
          if (ends && model.length > 0) {
            model[0]![1]()
            model[0]![1]()
            model = model.slice(1)
          }
          const state = model.length === 0 ? "unmapped" : model.some(([{ writes }]) => writes) ? "writing" : "reading"
          strictEqual(parts.state, state)
        }
      }))
    })
  }
})
