import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import * as DType from "../../src/domain/data/DType.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

const all = ["f32", "i32", "u32", "f16", "f64"] as const

describe("DType", () => {
  it("knows its types, and how many bytes their elements have", () => {
    for (const dtype of all) assert.isTrue(DType.isDType(dtype))
    for (const other of ["bf16", "f8", "F16", "", "toString", 16, undefined]) assert.isFalse(DType.isDType(other))
    assert.deepStrictEqual(all.map(DType.byteSize), [4, 4, 4, 2, 8])
  })

  it.each(all)("views memory as %s in elements of that size", (dtype) => {
    const memory = new ArrayBuffer(64)
    const view = DType.viewUnsafe(dtype, memory, 16, 3)
    assert.strictEqual(view.BYTES_PER_ELEMENT, DType.byteSize(dtype))
    assert.deepStrictEqual([view.buffer, view.byteOffset, view.length], [memory, 16, 3])
    view[2] = 5
    assert.deepStrictEqual([...view], [0, 0, 5])
  })

  it("has every type where the runtime has halves", () => {
    for (const dtype of all) assert.isTrue(DType.hostSupports(dtype))
  })

  it("rounds to the nearest half, once", () => {
    assert.strictEqual(DType.f16round(1 + 2 ** -11), 1)
    assert.strictEqual(DType.f16round(1 + 2 ** -11 + 2 ** -40), 1 + 2 ** -10)
    assert.strictEqual(DType.f16round(65_520), Infinity)
    const half = DType.viewUnsafe("f16", new ArrayBuffer(2), 0, 1)
    fc.assert(fc.property(fc.double(), (value) => {
      half[0] = value
      assert.isTrue(Object.is(DType.f16round(value), half[0]))
    }))
  })

  it.effect("says so where the runtime has none", () =>
    withoutHalves(Effect.sync(() => {
      assert.deepStrictEqual(all.filter(DType.hostSupports), ["f32", "i32", "u32", "f64"])
      assert.throws(() => DType.viewUnsafe("f16", new ArrayBuffer(2), 0, 1), "DType.hostSupports")
    })))
})
