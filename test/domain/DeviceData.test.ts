import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import * as DeviceData from "../../src/domain/characterisation/DeviceData.ts"

const attributes = { maxThreads: 512, warpSize: 32, registers: 8192, sharedMemory: 16384 }

describe("PyCUDA's figures", () => {
  it.each([
    [1, 0, 24, 16, 512, "block"],
    [1, 2, 32, 16, 512, "block"],
    [2, 0, 48, 32, 128, "warp"],
    [3, 0, 64, 32, 128, "warp"],
    [9, 0, 64, 32, 128, "warp"]
  ])("of %d.%d", (major, minor, warps, granularity, allocation, unit) => {
    const data = DeviceData.make({ ...attributes, computeCapability: { major, minor } })
    deepStrictEqual(
      [
        data.warpsPerMultiprocessor,
        data.sharedMemoryGranularity,
        data.sharedMemoryAllocationGranularity,
        data.registerAllocationUnit
      ],
      [warps, granularity, allocation, unit]
    )
    strictEqual(data.threadBlocksPerMultiprocessor, 8)
    strictEqual(data.maxThreads, 512)
  })

  it("round up to where words coalesce, and no further", () => {
    fc.assert(fc.property(fc.nat(1e6), fc.constantFrom(4, 8, 16), (amount, wordSize) => {
      const unit = wordSize === 4 ? 64 : 128
      deepStrictEqual(DeviceData.alignBytes(wordSize), Result.succeed(unit))
      deepStrictEqual(DeviceData.alignWords(wordSize), Result.succeed(unit / wordSize))
      for (
        const [answer, step] of [
          [DeviceData.align(amount, wordSize), unit],
          [DeviceData.alignElements(amount, wordSize), unit / wordSize]
        ] as const
      ) {
        assert(Result.isSuccess(answer))
        const rounded = answer.success
        assert.isTrue(rounded >= amount && rounded - amount < step && rounded % step === 0)
      }
    }))
  })

  it("are of words of 4 bytes, as PyCUDA's, where no word is named", () => {
    deepStrictEqual([DeviceData.alignBytes(), DeviceData.align(65)], [Result.succeed(64), Result.succeed(128)])
  })

  it("know no other words, negative amounts, or textures of five channels", () => {
    for (
      const wrong of [
        DeviceData.alignBytes(12),
        DeviceData.alignWords(2),
        DeviceData.align(-1, 4),
        DeviceData.align(4, 3),
        DeviceData.alignElements(1.5, 4),
        DeviceData.validTextureChannelCount(0),
        DeviceData.validTextureChannelCount(5)
      ]
    ) assert(Result.isFailure(wrong) && wrong.failure.reason._tag === "InvalidRequest")
    deepStrictEqual(
      [1, 2, 3, 4].map(DeviceData.validTextureChannelCount),
      ([1, 2, 4, 4] as const).map((count) => Result.succeed(count))
    )
  })
})
