import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as DeviceData from "../../src/domain/characterisation/DeviceData.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"

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
      strictEqual(DeviceData.alignBytes(wordSize), unit)
      strictEqual(DeviceData.alignWords(wordSize), unit / wordSize)
      for (
        const [rounded, step] of [
          [DeviceData.align(amount, wordSize), unit],
          [DeviceData.alignElements(amount, wordSize), unit / wordSize]
        ]
      ) {
        if (typeof rounded !== "number" || typeof step !== "number") throw new Error("no number")
        assert.isTrue(rounded >= amount && rounded - amount < step && rounded % step === 0)
      }
    }))
  })

  it("are of words of 4 bytes, as PyCUDA's, where no word is named", () => {
    strictEqual(DeviceData.alignBytes(), 64)
    strictEqual(DeviceData.align(65), 128)
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
    ) assert.isTrue(isGpuError(wrong))
    deepStrictEqual([1, 2, 3, 4].map(DeviceData.validTextureChannelCount), [1, 2, 4, 4])
  })
})
