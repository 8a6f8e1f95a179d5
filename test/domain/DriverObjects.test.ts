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

  it("counts what was added and removed, in all and by kind", () => {
    fc.assert(fc.property(fc.array(fc.tuple(kinds, fc.boolean())), (steps) => {
      const objects = new DriverObjects()
      const live: Array<string> = []
      let created = 0
      for (const [kind, adds] of steps) {
        const at = live.indexOf(kind)
        if (adds) {
          objects.add(kind)
          live.push(kind)
          created++
        } else if (at >= 0) {
          objects.remove(kind)
          live.splice(at, 1)
        }
        assert.strictEqual(objects.created, created)
        assert.strictEqual(objects.live, live.length)
        assert.strictEqual(objects.created - objects.released, objects.live)
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
