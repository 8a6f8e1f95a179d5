import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Argument from "../../src/domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../src/domain/arguments/KnownOptions.ts"
import * as DType from "../../src/domain/data/DType.ts"
import { invalidRequest, isGpuError } from "../../src/domain/GpuError.ts"
import * as ImageElement from "../../src/domain/images/ImageElement.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"

const messageOf = (answer: unknown): string => isGpuError(answer) ? answer.message : ""

describe("arguments of operations", () => {
  it("end an operation with the error of a check, and throw what is none", () => {
    const error = invalidRequest("Op.run", "it is wrong", "Pass another.")
    strictEqual(Argument.attempt(() => Argument.valid(error)), error)
    strictEqual(Argument.attempt(() => Argument.valid<number>(7)), 7)
    assert.throws(() =>
      Argument.attempt(() => {
        throw new RangeError("not today")
      }), RangeError)
  })

  it("are options where they are an object that is no list", () => {
    const known = new Set(["a", "b"])
    for (const options of [{}, Object.create(null)]) {
      strictEqual(KnownOptions.problem("Op.run", options, known), undefined)
    }
    for (const options of [null, 7, "x", [], new Float32Array(2), () => 0]) {
      assert.match(messageOf(KnownOptions.problem("Op.run", options, known)), /^Op\.run: .* was given for options/)
    }
    assert.match(messageOf(KnownOptions.problem("Op.run", { c: 1 }, known)), /^Op\.run: there is no option "c"/)
  })
})

describe("arguments of pure functions", () => {
  const wrong: ReadonlyArray<readonly [name: string, call: () => unknown]> = [
    ["2 values", () => ImageElement.encodeUnsafe(ImageFormat.rgba8, [1, 2])],
    ["the element", () => ImageElement.decodeUnsafe(ImageFormat.rgba8, new Uint8Array(3))],
    ["byteOffset 2", () => DType.viewUnsafe("f32", new ArrayBuffer(8), 2, 1)]
  ]

  it.each(wrong)("are named by a TypeError or RangeError: %s", (name, call) => {
    assert.throws(call, new RegExp(name))
  })
})
