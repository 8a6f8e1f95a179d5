import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as BufferUsageRules from "../../src/domain/BufferUsageRules.ts"
import { runs } from "../support/explore.ts"

const flags: Readonly<Record<string, number>> = {
  storage: BufferUsage.storage,
  uniform: BufferUsage.uniform,
  copySrc: BufferUsage.copySrc,
  copyDst: BufferUsage.copyDst,
  index: BufferUsage.index,
  vertex: BufferUsage.vertex,
  indirect: BufferUsage.indirect,
  kernelReadOnly: BufferUsage.kernelReadOnly,
  kernelWriteOnly: BufferUsage.kernelWriteOnly,
  hostMemory: BufferUsage.hostMemory,
  hostReadOnly: BufferUsage.hostReadOnly,
  hostWriteOnly: BufferUsage.hostWriteOnly,
  hostNoAccess: BufferUsage.hostNoAccess
}
const hostAccess = ["hostReadOnly", "hostWriteOnly", "hostNoAccess"]
const modifiers = ["kernelReadOnly", "kernelWriteOnly", "hostMemory", ...hostAccess]

const subset = fc.subarray(Object.keys(flags))
const join = (names: ReadonlyArray<string>): number => names.reduce((usage, name) => usage | flags[name]!, 0)
const all = join(Object.keys(flags))

/** What a usage permits, one by one. */
const permitted = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...names.filter((name) => !modifiers.includes(name) || name === "hostMemory"),
  ...["kernelReadOnly", "kernelWriteOnly"].filter((name) => !names.includes(name)).map((name) => `not ${name}`),
  ...names.some((name) => name === "hostWriteOnly" || name === "hostNoAccess") ? [] : ["host reads"],
  ...names.some((name) => name === "hostReadOnly" || name === "hostNoAccess") ? [] : ["host writes"]
]

describe("BufferUsage", () => {
  it("has flags of one bit each, all different", () => {
    const values = Object.values(flags)
    for (const flag of values) assert.strictEqual(flag & (flag - 1), 0)
    assert.notInclude(values, 0)
    assert.strictEqual(new Set(values).size, values.length)
  })

  it("has what it was joined of, and nothing else", () => {
    fc.assert(fc.property(subset, subset, (names, asked) => {
      assert.strictEqual(BufferUsage.has(join(names), join(asked)), asked.every((name) => names.includes(name)))
    }))
  })

  it("format names every flag, so that the names join to the usage again", () => {
    fc.assert(fc.property(subset.filter((names) => names.length > 0), (names) => {
      const text = BufferUsage.format(join(names))
      assert.deepStrictEqual(text.split(" | "), names)
      assert.strictEqual(join(text.split(" | ")), join(names))
    }))
    assert.strictEqual(BufferUsage.format(BufferUsage.defaultUsage), "storage | copySrc | copyDst")
  })

  it("format shows the number of a usage without a flag", () => {
    assert.match(BufferUsage.format(0), /none.*0/)
    assert.match(BufferUsage.format(all + 1), new RegExp(`none.*${all + 1}`))
  })

  it("every join of flags is good, unless it has no purpose or contradicts itself", () => {
    fc.assert(fc.property(subset, (names) => {
      const purposeless = names.every((name) => modifiers.includes(name))
      const contradicts = (names.includes("kernelReadOnly") && names.includes("kernelWriteOnly")) ||
        names.filter((name) => hostAccess.includes(name)).length > 1
      const problem = BufferUsageRules.problem(join(names))
      assert.strictEqual(problem === undefined, !purposeless && !contradicts, String(problem))
    }))
    assert.isUndefined(BufferUsageRules.problem(BufferUsage.defaultUsage))
  })

  it("names the flags that exclude each other", () => {
    const { hostNoAccess, hostReadOnly, hostWriteOnly, storage } = BufferUsage
    assert.strictEqual(
      BufferUsageRules.problem(storage | hostReadOnly | hostNoAccess),
      "hostReadOnly and hostNoAccess exclude each other"
    )
    assert.strictEqual(
      BufferUsageRules.problem(storage | hostReadOnly | hostWriteOnly | hostNoAccess),
      "hostReadOnly and hostWriteOnly and hostNoAccess exclude each other"
    )
  })

  it("is within another exactly when it permits nothing that the other does not", () => {
    const good = subset.filter((names) => BufferUsageRules.problem(join(names)) === undefined)
    fc.assert(
      fc.property(good, good, (names, whole) => {
        const ours = permitted(names)
        assert.strictEqual(
          BufferUsageRules.isWithin(join(names), join(whole)),
          ours.every((one) => permitted(whole).includes(one))
        )
      }),
      { numRuns: runs(2000) }
    )
    const { defaultUsage, hostNoAccess, hostReadOnly, hostWriteOnly } = BufferUsage
    assert.isTrue(BufferUsageRules.isWithin(defaultUsage | hostNoAccess, defaultUsage | hostReadOnly))
    assert.isFalse(BufferUsageRules.isWithin(defaultUsage | hostReadOnly, defaultUsage | hostNoAccess))
    assert.isFalse(BufferUsageRules.isWithin(defaultUsage | hostWriteOnly, defaultUsage | hostReadOnly))
  })

  it("lets the program do what no flag forbids", () => {
    const { allowsHost } = BufferUsageRules
    const { hostNoAccess, hostReadOnly, hostWriteOnly, storage } = BufferUsage
    const allowed = [0, hostReadOnly, hostWriteOnly, hostNoAccess].map((flag) =>
      (["read", "write", "readwrite"] as const).filter((access) => allowsHost(storage | flag, access))
    )
    assert.deepStrictEqual(allowed, [["read", "write", "readwrite"], ["read"], ["write"], []])
  })

  const unknown = fc.oneof(
    fc.integer({ min: all + 1, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ max: -1 }),
    fc.double().filter((value) => !Number.isInteger(value)),
    fc.constantFrom(2 ** 32 + 1, 2 ** 53, NaN, Infinity, -Infinity, 1.5)
  )

  it("anything else is named as unknown, also where a 32-bit mask would see known flags", () => {
    fc.assert(fc.property(unknown, (usage) => {
      assert.include(BufferUsageRules.problem(usage), `${usage} has unknown flags`)
    }))
  })
})
