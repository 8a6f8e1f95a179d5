import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { formatted } from "../../src/domain/arguments/Format.ts"
import * as ValueType from "../../src/domain/data/ValueType.ts"
import { runs } from "../support/explore.ts"

const bits = { i8: 8, u8: 8, i16: 16, u16: 16, i32: 32, u32: 32, i64: 64, u64: 64 } as const
const integers = Object.keys(bits) as Array<keyof typeof bits>
const floats = ["f16", "f32", "f64"] as const
const lengths = [2, 3, 4, 8, 16] as const

/** Twelve bytes from where a value is written. */
const written = (carrier: ValueType.Carrier, value: ValueType.HeldValue, littleEndian = true) => {
  const view = new DataView(new ArrayBuffer(24))
  ValueType.write(view, 2, carrier, value, littleEndian)
  return [...new Uint8Array(view.buffer).subarray(2, 14)]
}

describe("ValueType", () => {
  it("names numbers, short vectors of them and bool, and nothing else", () => {
    for (const element of [...integers, ...floats]) {
      assert.deepStrictEqual(ValueType.partsOf(element), { element, length: 1 })
      for (const length of lengths) {
        const type = `vec${length}<${element}>` as const
        assert.isTrue(ValueType.isValueType(type))
        assert.deepStrictEqual(ValueType.partsOf(type), { element, length })
      }
    }
    assert.deepStrictEqual(ValueType.partsOf("bool"), { element: "bool", length: 1 })
    const others = [
      "vec5<f32>",
      "vec1<f32>",
      "vec3",
      "vec3f",
      "float3",
      "vec2<bool>",
      "toString",
      "",
      undefined
    ]
    for (const other of [...others, null, 3, {}, ["f32"], Symbol("f32")]) {
      assert.isFalse(ValueType.isValueType(other), formatted(other))
    }
  })

  it("holds true and false as bool, passed as 1 and 0", () => {
    for (const value of [true, false]) {
      assert.isTrue(ValueType.holds("bool", value))
      assert.strictEqual(ValueType.rounded("bool", value), value)
      assert.deepStrictEqual(written("u32", value).slice(0, 5), [value ? 1 : 0, 0, 0, 0, 0])
    }
    for (const other of [0, 1, 0n, "true", null, undefined]) assert.isFalse(ValueType.holds("bool", other))
    assert.isFalse(ValueType.holds("u8", true))
    assert.strictEqual(ValueType.wanted("bool"), "true or false")
  })

  it("holds exactly the integers that have so many bits, as the kind of number that the type is", () => {
    const cases = fc.record({
      type: fc.constantFrom(...integers),
      value: fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n })
    })
    const near = fc.record({
      type: fc.constantFrom(...integers),
      value: fc.integer({ min: -70_000, max: 70_000 }).map(BigInt)
    })
    fc.assert(
      fc.property(fc.oneof(cases, near), ({ type, value }) => {
        const kept = type.startsWith("i") ? BigInt.asIntN(bits[type], value) : BigInt.asUintN(bits[type], value)
        const isLong = bits[type] === 64
        assert.strictEqual(ValueType.holds(type, isLong ? value : Number(value)), kept === value)
        assert.isFalse(ValueType.holds(type, isLong ? Number(value) : value))
      }),
      { numRuns: runs(1000) }
    )
    for (const type of integers) {
      for (const value of [0.5, NaN, Infinity, "1", undefined, null, true]) assert.isFalse(ValueType.holds(type, value))
    }
    for (const type of floats) {
      for (const value of [0.5, NaN, -Infinity, -0]) assert.isTrue(ValueType.holds(type, value))
      for (const value of [1n, "1", undefined]) assert.isFalse(ValueType.holds(type, value))
    }
  })

  it("rounds floats to their type, and makes no negative zero of the integer 0", () => {
    assert.strictEqual(ValueType.rounded("f32", 0.1), Math.fround(0.1))
    assert.strictEqual(ValueType.rounded("f16", 0.1), 0.0999755859375)
    assert.strictEqual(ValueType.rounded("f64", 0.1), 0.1)
    for (const type of floats) assert.isTrue(Object.is(ValueType.rounded(type, -0), -0))
    for (const type of ["i8", "u16", "i32", "u32"] as const) assert.isTrue(Object.is(ValueType.rounded(type, -0), 0))
    assert.strictEqual(ValueType.rounded("u64", 2n ** 64n - 1n), 2n ** 64n - 1n)
  })

  it("writes each number of a value in its carrier's bytes, one after the other, in either order of bytes", () => {
    assert.deepStrictEqual(written("i8", [-1, 2, -128]), [255, 2, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("u8", 200), [200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("i16", [-2, 3]), [254, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("u16", 0x1234, false), [0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("i32", [-1, 1]), [255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("u32", 0xdeadbeef, false), [0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0])
    assert.deepStrictEqual(written("i64", -2n), [254, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0])
    assert.deepStrictEqual(written("u64", 2n ** 63n), [0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0])
    assert.deepStrictEqual(written("f32", [1, -0]), [0, 0, 128, 63, 0, 0, 0, 128, 0, 0, 0, 0])
    assert.deepStrictEqual(written("f64", -0, false), [128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  })
})
