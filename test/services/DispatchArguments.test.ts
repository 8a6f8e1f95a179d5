import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { DeviceInfo } from "../../src/domain/DeviceInfo.ts"
import * as DType from "../../src/domain/DType.ts"
import { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/KernelArgument.ts"
import { DeviceBuffer } from "../../src/services/DeviceBuffer.ts"
import { type ArgumentValue, bind, type BoundArguments } from "../../src/services/DispatchArguments.ts"

class Memory extends DeviceBuffer {}

const info: DeviceInfo = {
  backend: "host",
  name: "a device",
  vendor: "",
  driver: "",
  limits: {
    maxBufferSize: 2 ** 40,
    maxBindingSize: 2 ** 40,
    granularity: 1,
    regionAlignment: 4,
    memoryBytes: undefined,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 64,
    maxVectorArguments: 64
  },
  dtypes: new Set(["f32", "i32", "u32", "f16", "f64"])
}

const memory = (size: number) => new Memory(info, size, BufferUsage.defaultUsage, undefined)

const bound = (kernel: Kernel.Kernel, args: Readonly<Record<string, ArgumentValue>>, count: number) =>
  bind(kernel, args, count, info, () => undefined)

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
      { numRuns: 500 }
    )
  })

  it("rounds half-precision scalars once, and leaves the others as they are", () => {
    const args = dtypes.map((dtype) => ScalarArg(dtype, dtype))
    const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: {} })
    const third = 1 / 3
    const { scalars } = accepted(bound(kernel, { f32: third, i32: -1, u32: 1, f16: third, f64: third }, 1))
    assert.deepStrictEqual(scalars, [third, -1, 1, DType.f16round(third), third])
  })

  it("takes no more elements than a body can count, whatever their size", () => {
    for (const [dtype, most] of [["f16", 0xffffffff * 2], ["f32", 0xffffffff * 4]] as const) {
      const kernel = Kernel.make({ name: "k", args: [VectorArg(dtype, "x")], body: {} })
      assert.lengthOf(accepted(bound(kernel, { x: memory(most) }, 1)).vectors, 1)
      assert.include(refused(bound(kernel, { x: memory(most + 1) }, 1)), `maxBindingSize = ${most}`)
    }
  })

  it("names an argument that the kernel has not, among any number", () => {
    const args = Array.from({ length: 100 }, (_, index) => ScalarArg("f32", `s${index}`))
    const kernel: Kernel.Kernel = Kernel.make({ name: "k", args, body: {} })
    const values = Object.fromEntries(args.map(({ name }) => [name, 1]))
    assert.lengthOf(accepted(bound(kernel, values, 1)).scalars, 100)
    assert.include(refused(bound(kernel, { ...values, s100: 1 }, 1)), `no argument "s100"`)
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
