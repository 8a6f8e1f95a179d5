import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { elementClassProblem, isElementClass } from "../../src/domain/data/ElementClass.ts"

class Words extends Uint32Array<ArrayBuffer> {}
class View extends DataView<ArrayBuffer> {}

/** Bun says that a DataView has elements of 1 byte, in a property that other runtimes do not have. */
const asOnBun = <A>(use: () => A): A => {
  Object.defineProperty(DataView, "BYTES_PER_ELEMENT", { value: 1, configurable: true })
  try {
    return use()
  } finally {
    Reflect.deleteProperty(DataView, "BYTES_PER_ELEMENT")
  }
}

describe("isElementClass", () => {
  it.each([Uint8Array, Float32Array, Float64Array, BigInt64Array, Uint8ClampedArray, Words])("takes %o", (type) => {
    strictEqual(isElementClass(type), true)
  })

  it.each([undefined, null, 4, "Uint8Array", {}, new Uint8Array(1), ArrayBuffer, Array, () => 4, DataView, View])(
    "refuses %o",
    (type) => {
      strictEqual(isElementClass(type), false)
    }
  )

  it.each([0, -4, 1.5, NaN, "4"])("refuses a class with elements of %o bytes", (BYTES_PER_ELEMENT) => {
    strictEqual(isElementClass(Object.assign(() => 4, { BYTES_PER_ELEMENT })), false)
  })

  it("refuses DataView where it says that it has elements, and classes made of it", () => {
    strictEqual(asOnBun(() => "BYTES_PER_ELEMENT" in View), true)
    strictEqual(asOnBun(() => isElementClass(DataView)), false)
    strictEqual(asOnBun(() => isElementClass(View)), false)
    strictEqual(asOnBun(() => isElementClass(Uint8Array)), true)
  })

  it("says what to pass instead", () => {
    strictEqual(
      elementClassProblem("CommandQueue.read", DataView)?.message,
      "CommandQueue.read: the element type is no typed array class. Pass a class such as Float32Array."
    )
  })
})
