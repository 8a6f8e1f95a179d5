import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as DType from "../../src/domain/data/DType.ts"
import type { ValueType } from "../../src/domain/data/ValueType.ts"
import { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { DeviceBuffer } from "../../src/services/device/DeviceBuffer.ts"
import { bind, type BoundArguments } from "../../src/services/queue/BoundArguments.ts"
import type { ArgumentValue } from "../../src/services/queue/DispatchArguments.ts"
import { runs } from "../support/explore.ts"
import { info } from "../support/someDevice.ts"

class Memory extends DeviceBuffer {}

const memory = (size: number) => new Memory(info, size, BufferUsage.defaultUsage, undefined)

const bound = (kernel: Kernel.Kernel, args: Readonly<Record<string, ArgumentValue>>, count: number) =>
  bind(kernel, args, count, { info, status: new DeviceStatus("a device") })

/** A dispatch of a kernel with one argument. */
const scalar = (dtype: ValueType, a: unknown) =>
  bound(Kernel.make({ name: "k", args: [ScalarArg(dtype, "a")], body: {} }), { a: a as number }, 1)

const refused = (result: BoundArguments | GpuError): string => {
  if (!(result instanceof GpuError)) throw new Error("it was accepted")
  return result.message
}

const accepted = (result: BoundArguments | GpuError): BoundArguments => {
  if (result instanceof GpuError) throw result
  return result
}

const dtypes = ["f32", "i32", "u32", "f16", "f64"] as const

describe("DispatchArguments.bind", () => {
  it("refuses exactly the dispatches of more items than an itemwise vector has whole elements from its offset on", () => {
    const cases = fc.record({
      dtype: fc.constantFrom(...dtypes),
      size: fc.integer({ min: 8, max: 99 }),
      offset: fc.nat({ max: 50 }),
      count: fc.nat({ max: 60 }),
      itemwise: fc.boolean()
    })
    fc.assert(
      fc.property(cases, ({ count, dtype, itemwise, offset, size }) => {
        const elements = Math.floor(size / DType.byteSize(dtype))
        fc.pre(offset < elements)
        const kernel = Kernel.make({
          name: "k",
          args: [VectorArg("f32", "free"), VectorArg(dtype, "x", { withOffset: true })],
          body: {},
          itemwise: itemwise ? ["x"] : []
        })
        const result = bound(kernel, { free: memory(4), x: { buffer: memory(size), offset } }, count)
        if (!itemwise || offset + count <= elements) assert.lengthOf(accepted(result).vectors, 2)
        else {
          const message = refused(result)
          assert.include(
            message,
            `${count} items from offset ${offset} of argument "x" exceed its ${elements} elements`
          )
          assert.include(message, `Dispatch at most ${elements - offset} items`)
        }
      }),
      { numRuns: runs(500) }
    )
  })

  it("takes buffers of any size where there are no items, and offsets up to their end", () => {
    const cases = fc.record({
      dtype: fc.constantFrom(...dtypes),
      size: fc.nat({ max: 40 }),
      offset: fc.nat({ max: 12 }),
      itemwise: fc.boolean()
    })
    fc.assert(fc.property(cases, ({ dtype, itemwise, offset, size }) => {
      const kernel = Kernel.make({
        name: "k",
        args: [VectorArg(dtype, "x", { withOffset: true })],
        body: {},
        itemwise: itemwise ? ["x"] : []
      })
      const elements = Math.floor(size / DType.byteSize(dtype))
      const none = bound(kernel, { x: { buffer: memory(size), offset } }, 0)
      if (offset <= elements) assert.lengthOf(accepted(none).vectors, 1)
      else assert.include(refused(none), `offset ${offset} of argument "x" is outside its ${elements} elements`)
      if (elements > 0) return
      const one = refused(bound(kernel, { x: { buffer: memory(size), offset: 0 } }, 1))
      assert.include(one, `argument "x" is a buffer of ${size} bytes, which holds no ${dtype}`)
      assert.include(one, "dispatch 0 items")
    }))
  })

  it("rounds scalars to their types once, for every backend", () => {
    const args = dtypes.map((dtype) => ScalarArg(dtype, `a_${dtype}`))
    const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: {} })
    const third = 1 / 3
    const { scalars } = accepted(bound(kernel, { a_f32: third, a_i32: -1, a_u32: 1, a_f16: third, a_f64: third }, 1))
    assert.deepStrictEqual(scalars, [Math.fround(third), -1, 1, DType.f16round(third), third])
  })

  it("holds a short vector as a frozen copy, rounded to its type", () => {
    const floats = [0.1, -0, NaN]
    const [held] = accepted(scalar("vec3<f32>", floats)).scalars
    floats.fill(7)
    assert.deepStrictEqual(held, [Math.fround(0.1), -0, NaN])
    assert.isTrue(Object.isFrozen(held))
    for (const value of [Uint8Array.of(1, 2), Float64Array.of(1, 2), { length: 2, 0: 1, 1: 2 }]) {
      assert.deepStrictEqual(accepted(scalar("vec2<i16>", value)).scalars, [[1, 2]])
    }
    assert.deepStrictEqual(accepted(scalar("vec2<u64>", BigUint64Array.of(0n, 2n ** 64n - 1n))).scalars, [[
      0n,
      2n ** 64n - 1n
    ]])
    assert.deepStrictEqual(accepted(scalar("i64", -(2n ** 63n))).scalars, [-(2n ** 63n)])
  })

  it.each<readonly [type: ValueType, value: unknown, messages: ReadonlyArray<string>]>([
    ["i8", 128, [`argument "a" is 128, no i8`, "Pass a whole number from -128 to 127."]],
    ["u8", -1, [`argument "a" is -1, no u8`, "from 0 to 255"]],
    ["i16", 0.5, [`argument "a" is 0.5, no i16`, "from -32768 to 32767"]],
    ["u16", 7n, [`argument "a" is 7n, no u16`, "from 0 to 65535"]],
    [
      "i64",
      7,
      [`argument "a" is 7, no i64`, "Pass a bigint, as 7n, from -9223372036854775808n to 9223372036854775807n."]
    ],
    ["u64", -1n, [`argument "a" is -1n, no u64`, "from 0n to 18446744073709551615n"]],
    ["u64", 2n ** 64n, [`argument "a" is 18446744073709551616n, no u64`]],
    ["f32", 1n, [`argument "a" is 1n, no f32`, "Pass a number."]],
    ["f32", [1], [`argument "a" is [1], no f32`]],
    ["vec3<f32>", 1, [`argument "a" is 1, no vec3<f32>`, "Pass an array or a typed array of 3, each a number."]],
    ["vec3<f32>", "abc", [`argument "a" is "abc", no vec3<f32>`]],
    ["vec3<f32>", null, [`argument "a" is null, no vec3<f32>`]],
    ["vec3<f32>", undefined, [`argument "a" is missing. Pass a vec3<f32>, an array of 3, by that name.`]],
    ["vec3<f32>", new DataView(new ArrayBuffer(12)), [`argument "a" is an object, no vec3<f32>`]],
    ["vec3<f32>", [1, 2], [`argument "a" has 2 elements, and a vec3<f32> has 3`]],
    ["vec3<f32>", new Float32Array(4), [`argument "a" has 4 elements, and a vec3<f32> has 3`]],
    ["vec3<f32>", { length: "3" }, [`argument "a" has "3" elements, and a vec3<f32> has 3`]],
    ["vec3<f32>", [1, 2, "3"], [`element 2 of argument "a", a vec3<f32>, is "3"`, "Pass a number."]],
    ["vec3<f32>", Array.from({ length: 3 }), [`element 0 of argument "a", a vec3<f32>, is undefined`]],
    ["vec2<u8>", [0, 256], [`element 1 of argument "a", a vec2<u8>, is 256`, "from 0 to 255"]],
    ["vec2<i64>", [0n, 1], [`element 1 of argument "a", a vec2<i64>, is 1`, "Pass a bigint"]]
  ])("refuses for an argument of type %s the value %s, and says what to pass", (dtype, value, messages) => {
    const result = scalar(dtype, value)
    for (const message of messages) assert.include(refused(result), message)
  })

  it("takes no more elements than a body can count, whatever their size", () => {
    for (const [dtype, most] of [["f16", 0xffffffff * 2], ["f32", 0xffffffff * 4]] as const) {
      const kernel = Kernel.make({ name: "k", args: [VectorArg(dtype, "x")], body: {} })
      assert.lengthOf(accepted(bound(kernel, { x: memory(most) }, 1)).vectors, 1)
      assert.include(
        refused(bound(kernel, { x: memory(most + 1) }, 1)),
        `${most + 1} bytes are over maxBindingSize of the device "a device", ${most} bytes`
      )
    }
  })

  it("names an argument that is missing, among any number", () => {
    const args = Array.from({ length: 100 }, (_, index) => ScalarArg("f32", `s${index}`))
    const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: {} })
    const values = Object.fromEntries(args.map(({ name }) => [name, 1]))
    assert.lengthOf(accepted(bound(kernel, values, 1)).scalars, 100)
    const { s7, ...rest } = values
    assert.strictEqual(s7, 1)
    assert.include(refused(bound(kernel, rest, 1)), `"s7"`)
  })

  it("names the two arguments that are one buffer", () => {
    const args = [
      VectorArg("f32", "a", { access: "read" }),
      VectorArg("f32", "b", { access: "read" }),
      VectorArg("f32", "y", { access: "write" })
    ] as const
    const kernel = Kernel.make({ name: "k", args, body: {} })
    const [one, two] = [memory(16), memory(16)]
    assert.lengthOf(accepted(bound(kernel, { a: one, b: one, y: two }, 4)).vectors, 3)
    assert.include(refused(bound(kernel, { a: two, b: one, y: one }, 4)), `"b" and "y"`)
  })
})

describe("a dispatch is refused with the reason:", () => {
  const kernel = Kernel.make({
    name: "scale",
    args: [VectorArg("f32", "vector"), ScalarArg("f32", "factor")],
    body: {}
  })
  const told = (args: object, count: number = 1): string =>
    refused(
      bind(kernel, args as Readonly<Record<string, ArgumentValue>>, count, {
        info,
        status: new DeviceStatus("a device")
      })
    )
  const vector = memory(4)

  it("of each argument that is missing, and what it is", () => {
    assert.include(told({ vector }), `argument "factor" is missing. Pass a number, an f32, by that name.`)
    assert.include(told({ factor: 1 }), `argument "vector" is missing. Pass a lease by that name.`)
  })

  it("what to do about a count, by what is wrong with it", () => {
    assert.match(
      refused(bind(kernel, { vector, factor: 1 }, undefined as never, { info, status: new DeviceStatus("a device") })),
      /count undefined .* Pass how many items/
    )
    assert.match(told({ vector, factor: 1 }, -1), /count -1 .* Pass how many items/)
    assert.match(told({ vector, factor: 1 }, 2 ** 32), /count 4294967296 .* Do it in several parts/)
  })
})
