import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Argument from "../../src/domain/arguments/ArgumentProblem.ts"
import { demand, demandMembers } from "../../src/domain/arguments/Demand.ts"
import * as DType from "../../src/domain/data/DType.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"
import * as ImageElement from "../../src/domain/images/ImageElement.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as DeviceSelector from "../../src/domain/selection/DeviceSelector.ts"

const revoked = (target: object = {}): object => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const refuse = (): never => {
  throw new RangeError("not today\nINFO all is well")
}

const messageOf = (answer: unknown): string => isGpuError(answer) ? answer.message : ""

describe("arguments of operations", () => {
  it("that throw when they are read are told with what they threw, on one line", () => {
    const message = messageOf(Argument.readValues("Op.run", refuse))
    assert.match(
      message,
      /^Op\.run: an argument could not be read: RangeError: not today\\nINFO all is well\. Pass plain/
    )
    strictEqual(Argument.readValues("Op.run", () => 7), 7)
  })

  it("are options where they are left out or an object that is no list", () => {
    const known = new Set(["a", "b"])
    for (const options of [undefined, {}, Object.create(null)]) {
      strictEqual(Argument.optionsProblem("Op.run", options, known), undefined)
    }
    for (const options of [null, 7, "x", [], new Float32Array(2), () => 0]) {
      assert.match(messageOf(Argument.optionsProblem("Op.run", options, known)), /^Op\.run: .* was given for options/)
    }
    const options = { a: 1, b: undefined }
    const read = Argument.membersOf("Op.run", options, known)
    options.a = 2
    deepStrictEqual(read, { a: 1, b: undefined })
    assert.match(messageOf(Argument.membersOf("Op.run", revoked(), known)), /could not be read/)
    assert.match(messageOf(Argument.membersOf("Op.run", { c: 1 } as object, known)), /^Op\.run: there is no option "c"/)
  })

  it("are lists where they can be gone through, texts apart", () => {
    deepStrictEqual(Argument.listOf("Op.run", "events", new Set([1, 2])), [1, 2])
    for (const list of [undefined, null, 7, "ab", {}, { [Symbol.iterator]: 7 }]) {
      assert.match(
        messageOf(Argument.listOf("Op.run", "events", list as never)),
        /^Op\.run: .* was given for the list of events\. Pass an array of events\.$/
      )
    }
    assert.match(messageOf(Argument.listOf("Op.run", "events", { [Symbol.iterator]: refuse })), /could not be read/)
  })

  it("are asked for their class without a throw", () => {
    strictEqual(Argument.isInstance(new Date(), Date), true)
    strictEqual(Argument.isInstance(revoked(), Date), false)
    strictEqual(Argument.hasMethods({ run: () => 0 }, ["run"]), true)
    for (const value of [null, {}, { run: 1 }, revoked()]) strictEqual(Argument.hasMethods(value, ["run"]), false)
    strictEqual(Argument.satisfies(revoked(), (value): value is object => "x" in (value as object)), false)
  })
})

describe("arguments of pure functions", () => {
  it("are demanded by name", () => {
    assert.throws(
      () => demand("Op.run", "count", "7", "number"),
      /^Op\.run: "7" was given for count\. Pass a number\.$/
    )
    assert.throws(
      () => demandMembers("Op.run", "the shape", { width: 1 }, { width: "number", height: "number" }),
      /^Op\.run: undefined was given for the shape\.height\. Pass a number\.$/
    )
    demandMembers("Op.run", "the shape", { width: 1 }, { width: "number" })
  })

  const wrong: ReadonlyArray<readonly [name: string, call: () => unknown]> = [
    ["a format", () => ImageFormat.channels({ order: "constructor", type: "__proto__" } as never)],
    ["a format", () => ImageFormat.elementBytes(undefined as never)],
    ["the shape", () => ImageShape.elements(null as never)],
    ["the shape.depth", () => ImageShape.format({ width: 1 } as never)],
    ["2 values", () => ImageElement.encodeUnsafe(ImageFormat.rgba8, [1, 2])],
    ["the element", () => ImageElement.decodeUnsafe(ImageFormat.rgba8, new Uint8Array(3))],
    ["an element type", () => DType.byteSize("f8" as never)],
    ["the buffer", () => DType.viewUnsafe("f32", {} as never, 0, 1)],
    ["byteOffset 2", () => DType.viewUnsafe("f32", new ArrayBuffer(8), 2, 1)],
    ["a selection", () => DeviceSelector.format([{ backend: "webgpu", devices: [] }] as never)]
  ]

  it("that are wrong are named by a TypeError or RangeError", () => {
    for (const [name, call] of wrong) {
      try {
        call()
        assert.fail(`${name} was taken`)
      } catch (thrown) {
        assert(thrown instanceof TypeError || thrown instanceof RangeError, name)
        assert.include(thrown.message, name)
      }
    }
  })
})
