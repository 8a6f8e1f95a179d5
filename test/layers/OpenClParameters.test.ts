/** How arguments by value become the bytes that clSetKernelArg gets. */
import { assert, describe, it } from "@effect/vitest"
import type { HeldValue, ValueType } from "../../src/domain/data/ValueType.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg } from "../../src/domain/kernel/KernelArgument.ts"
import { KernelParameters } from "../../src/layers/OpenCl/kernels/KernelParameters.ts"
import type { OpenClApi } from "../../src/layers/OpenCl/OpenClApi.ts"

/** The bytes that a driver gets for arguments of these types, in hexadecimal, call by call. */
const told = (types: ReadonlyArray<ValueType>, ...rows: ReadonlyArray<ReadonlyArray<HeldValue>>) => {
  const calls: Array<readonly [index: number, bytes: string]> = []
  const parameters = new KernelParameters(
    Kernel.define({ name: "k", args: types.map((type, index) => ScalarArg(type, `a${index}`)), body: {} })
  )
  const api = {
    clSetKernelArg: (_kernel: bigint, index: number, bytes: number, value: ArrayBuffer) => {
      calls.push([index, Buffer.from(value.slice(0, bytes)).toString("hex")])
      return 0
    }
  } as unknown as OpenClApi
  for (const scalars of rows) {
    parameters.set(api, 1n, { compiled: {} as never, vectors: [], scalars, images: [], samplers: [], count: 1 })
  }
  return { calls, bytes: parameters.bytes }
}

describe("KernelParameters", () => {
  it("passes each type in its own size", () => {
    const { bytes, calls } = told(
      ["i8", "u16", "i64", "f64", "f16", "u32"],
      [-128, 0x1234, -2n, 1, 0.5, 7]
    )
    assert.deepStrictEqual(calls, [
      [0, "80"],
      [1, "3412"],
      [2, "feffffffffffffff"],
      [3, "000000000000f03f"],
      [4, "0000003f"],
      [5, "07000000"],
      [6, "01000000"]
    ])
    assert.strictEqual(bytes, 1 + 2 + 8 + 8 + 4 + 4 + 4)
  })

  it("passes a vector of three in the bytes of four, and others in their own", () => {
    const types = ["vec2<u8>", "vec3<u8>", "vec4<i16>", "vec3<f16>", "vec16<f64>"] as const
    const { bytes, calls } = told(types, [
      [1, 2],
      [3, 4, 5],
      [6, 7, 8, -9],
      [1, 2, 3],
      Array.from({ length: 16 }, () => 0)
    ])
    assert.deepStrictEqual(calls.map(([, hex]) => hex.length / 2), [2, 4, 8, 16, 128, 4])
    assert.strictEqual(bytes, 2 + 4 + 8 + 16 + 128 + 4)
    assert.strictEqual(calls[0]?.[1], "0102")
    assert.strictEqual(calls[1]?.[1].slice(0, 6), "030405")
    assert.strictEqual(calls[2]?.[1], "060007000800f7ff")
  })

  it("does not set again what has not changed, and keeps a zero and a negative one apart", () => {
    const { calls } = told(["u64", "f32"], [1n, 0], [1n, 0], [2n, 0], [2n, -0])
    assert.deepStrictEqual(calls.map(([index]) => index), [0, 1, 2, 0, 1])
  })
})
