import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { DriverObjects } from "../../src/domain/device/DriverObjects.ts"

const kinds = fc.constantFrom("buffer", "kernel", "queue", "constructor", "__proto__", "")

describe("DriverObjects", () => {
  it("starts with nothing", () => {
    const objects = new DriverObjects()
    assert.deepStrictEqual([objects.created, objects.released, objects.live], [0, 0, 0])
    assert.deepStrictEqual(objects.liveByKind, {})
  })

  it("counts what was added and removed, and what was left to the program, in all and by kind", () => {
    fc.assert(fc.property(fc.array(fc.tuple(kinds, fc.constantFrom("add", "remove", "leave"))), (steps) => {
      const objects = new DriverObjects()
      const live: Array<string> = []
      const counts = { add: 0, remove: 0, leave: 0 }
      for (const [kind, step] of steps) {
        const at = live.indexOf(kind)
        if (step !== "add" && at < 0) continue
        objects[step](kind)
        counts[step] += 1
        if (step === "add") live.push(kind)
        else live.splice(at, 1)
        assert.deepStrictEqual([objects.created, objects.released, objects.taken], Object.values(counts))
        assert.strictEqual(objects.live, live.length)
        assert.sameDeepMembers(
          Object.entries(objects.liveByKind),
          [...new Set(live)].map((each) => [each, live.filter((other) => other === each).length])
        )
      }
    }))
  })

  it("shows a release too many instead of hiding it", () => {
    const objects = new DriverObjects()
    objects.remove("buffer")
    assert.strictEqual(objects.live, -1)
    assert.deepStrictEqual(objects.liveByKind, { buffer: -1 })
  })

  it("hands out a snapshot of the kinds", () => {
    const objects = new DriverObjects()
    objects.add("buffer")
    const before = objects.liveByKind
    objects.add("buffer")
    assert.deepStrictEqual([before, objects.liveByKind], [{ buffer: 1 }, { buffer: 2 }])
  })
})
