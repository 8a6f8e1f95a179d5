import { assert, describe, it } from "@effect/vitest"
import * as ByteSize from "effect/ByteSize"
import * as fc from "fast-check"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import { isGpuError, type Reason } from "../../src/domain/GpuError.ts"
import * as MemoryLimit from "../../src/domain/pool/MemoryLimit.ts"

const largest = Number.MAX_SAFE_INTEGER
const MiB = 2 ** 20

const device = (memoryBytes: number | undefined): Pick<DeviceInfo, "backend" | "limits"> => ({
  backend: "webgpu",
  limits: {
    memoryBytes,
    maxBufferSize: largest,
    maxBindingSize: largest,
    granularity: 4,
    regionAlignment: 4,
    copyAlignment: 4,
    leastCopyAlignment: 1,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: 256,
    maxVectorArguments: 8
  }
})

/** Calls it with values that the types may forbid. */
const resolve = (limit: { readonly bytes?: unknown; readonly fraction?: unknown }, memoryBytes: number | undefined) =>
  MemoryLimit.resolve("Pool.test", "maxBytes", limit as MemoryLimit.MemoryLimit, device(memoryBytes))

const bytesOf = (bytes: unknown, memoryBytes: number | undefined = undefined) => resolve({ bytes }, memoryBytes)
const fractionOf = (fraction: unknown, memoryBytes: number | undefined) => resolve({ fraction }, memoryBytes)

/** Checks that the error names the option, shows the value as it was passed, and says what to do. */
const assertRefused = (
  answer: ReturnType<typeof resolve>,
  tag: Reason["_tag"],
  ...shown: ReadonlyArray<string>
): void => {
  assert(isGpuError(answer), `${String(answer)} is no error`)
  assert.strictEqual(answer.reason._tag, tag)
  for (const text of ["Pool.test: maxBytes ", ...shown]) assert.include(answer.message, text)
  assert.match(answer.message, / pass /i)
  assert.isFalse(answer.isRetryable)
}

const byteCount = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 2 ** 31, 2 ** 32, largest - 1, largest))
const memory = fc.oneof(fc.maxSafeNat(), fc.nat(1000), fc.constantFrom(0, 1, 2 ** 32, 8 * 2 ** 30, largest))
/** A percentage with two places after the point, in hundredths. */
const hundredths = fc.nat(10_000)
const percent = (value: number) => `${Math.floor(value / 100)}.${String(value % 100).padStart(2, "0")}`
const blank = fc.constantFrom("", " ", "  ", "\t", "\n")

describe("a limit in bytes", () => {
  it("is the same as a number, a bigint, a ByteSize and text", () => {
    fc.assert(fc.property(byteCount, blank, blank, (bytes, before, after) => {
      assert.strictEqual(bytesOf(bytes), bytes)
      assert.strictEqual(bytesOf(BigInt(bytes)), bytes)
      assert.strictEqual(bytesOf(ByteSize.bytes(bytes)), bytes)
      assert.strictEqual(bytesOf(`${before}${bytes}${after}`), bytes)
      assert.strictEqual(bytesOf(`${bytes} B`), bytes)
    }))
  })

  it("may have a unit, as Effect's ByteSize reads it", () => {
    const factors = { kB: 1000n, MB: 1000n ** 2n, GB: 1000n ** 3n, KiB: 1024n, MiB: 1024n ** 2n, GiB: 1024n ** 3n }
    const unit = fc.constantFrom(...Object.keys(factors) as ReadonlyArray<keyof typeof factors>)
    fc.assert(fc.property(fc.nat(2 ** 20), unit, fc.constantFrom("", " "), (quantity, unit, space) => {
      assert.strictEqual(bytesOf(`${quantity}${space}${unit}`), Number(BigInt(quantity) * factors[unit]))
    }))
  })

  it.each(
    [
      ["512 MiB", 512 * MiB],
      ["512MiB", 512 * MiB],
      ["1.5 GiB", 1536 * MiB],
      ["0.5 KiB", 512],
      ["2 gibibytes", 2048 * MiB],
      ["2 GB", 2_000_000_000],
      ["1073741824", 1024 * MiB],
      ["007", 7],
      [1024n, 1024],
      [0, 0],
      [-0, 0],
      ["0", 0],
      [largest, largest],
      [BigInt(largest), largest],
      [Infinity, Infinity],
      ["Infinity", Infinity],
      ["infinity", Infinity],
      ["unlimited", Infinity],
      [" Unlimited\n", Infinity],
      ["UNLIMITED", Infinity]
    ] as const
  )("%s is %d", (bytes, expected) => {
    assert.strictEqual(bytesOf(bytes), expected)
  })

  it("needs no device that reports its memory", () => {
    assert.strictEqual(bytesOf("512 MiB", undefined), 512 * MiB)
    assert.strictEqual(bytesOf(Infinity, undefined), Infinity)
  })

  it.each(
    [
      [-1, "-1"],
      [-1n, "-1n"],
      ["-1", `"-1"`],
      ["-1 MiB", `"-1 MiB"`],
      [0.5, "0.5"],
      [NaN, "NaN"],
      [-Infinity, "-Infinity"],
      [2 ** 53, "9007199254740992"],
      [2n ** 53n, "9007199254740992n"],
      ["9007199254740992", `"9007199254740992"`],
      ["8 PiB", `"8 PiB"`],
      ["1 QB", `"1 QB"`],
      ["0.1 KiB", `"0.1 KiB"`],
      ["1.5", `"1.5"`],
      ["512 mib", `"512 mib"`],
      ["1 KB", `"1 KB"`],
      ["512 bananas", `"512 bananas"`],
      ["0x10", `"0x10"`],
      ["1e9", `"1e9"`],
      ["", `""`],
      [" ", `" "`],
      ["half", `"half"`],
      ["+Infinity", `"+Infinity"`],
      ["-Infinity", `"-Infinity"`],
      ["unlimited MiB", `"unlimited MiB"`],
      ["none", `"none"`],
      ["%", `"%"`],
      ["-5%", `"-5%"`],
      [".5%", `".5%"`],
      ["50 % of it", `"50 % of it"`],
      ["x".repeat(1000), `"${"x".repeat(40)}..."`],
      [null, "null"],
      [true, "true"],
      [{}, "an object"],
      [[512], "[512]"],
      [() => 512, "a function"],
      [{ toString: () => "512" }, "an object"],
      [Symbol("512"), "Symbol(512)"]
    ] as const
  )("%s is none", (bytes, shown) => {
    assertRefused(bytesOf(bytes, 1000), "InvalidRequest", shown, "whole number of bytes from 0 to 2^53 - 1", "512 MiB")
  })

  it("is refused whatever number is none", () => {
    const none = fc.oneof(fc.integer({ max: -1 }), fc.double().filter((value) => !Number.isInteger(value)))
    fc.assert(fc.property(none, (bytes) => {
      if (bytes !== Infinity) assertRefused(bytesOf(bytes, 1000), "InvalidRequest", String(bytes))
    }))
  })
})

describe("a share of the device's memory", () => {
  it("is exact and rounded down, as a percentage and as a fraction", () => {
    fc.assert(fc.property(hundredths, memory, blank, (value, bytes, space) => {
      const expected = Number(BigInt(bytes) * BigInt(value) / 10_000n)
      assert.strictEqual(bytesOf(`${percent(value)}${space}%`, bytes), expected)
      assert.strictEqual(fractionOf(value / 10_000, bytes), expected)
    }))
  })

  it("is never more than the memory, close to the product, and grows with the fraction", () => {
    const fraction = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(fc.property(fraction, fraction, memory, (one, other, bytes) => {
      const [least, most] = [Math.min(one, other), Math.max(one, other)].map((value) =>
        Number(fractionOf(value, bytes))
      )
      assert(least !== undefined && most !== undefined)
      assert.isAtMost(least, most)
      assert.isAtLeast(least, 0)
      assert.isAtMost(most, bytes)
      assert.closeTo(most, Math.max(one, other) * bytes, 1 + bytes * 2 ** -52)
    }))
  })

  it.each(
    [
      ["50%", 1000, 500],
      ["70.5%", 1000, 705],
      ["70.5%", 999, 704],
      ["100%", 1000, 1000],
      ["0%", 1000, 0],
      ["29%", 100, 29],
      ["50%", 0, 0],
      [`100.${"0".repeat(30)}1%`, largest, largest]
    ] as const
  )("%s of %d bytes are %d", (bytes, memoryBytes, expected) => {
    assert.strictEqual(bytesOf(bytes, memoryBytes), expected)
  })

  it.each(
    [
      [0.5, 1001, 500],
      [0.29, 100, 29],
      [0, 1000, 0],
      [-0, 1000, 0],
      [1, largest, largest],
      [1e-7, 10_000_000, 1],
      [1.5e-7, 20_000_000, 3],
      [5e-324, largest, 0]
    ] as const
  )("the fraction %d of %d bytes is %d", (fraction, memoryBytes, expected) => {
    assert.strictEqual(fractionOf(fraction, memoryBytes), expected)
  })

  it.each(["100.5%", "1000%", "101%"])("%s is none", (bytes) => {
    assertRefused(bytesOf(bytes, 1000), "InvalidRequest", JSON.stringify(bytes), `at most "100%"`)
  })

  it.each(
    [
      [-0.1, "-0.1"],
      [1.1, "1.1"],
      [NaN, "NaN"],
      [Infinity, "Infinity"],
      [1n, "1n"],
      ["0.5", `"0.5"`],
      ["50%", `"50%"`],
      [null, "null"],
      [{}, "an object"],
      [true, "true"]
    ] as const
  )("the fraction %s is none", (fraction, shown) => {
    assertRefused(fractionOf(fraction, 1000), "InvalidRequest", `the fraction ${shown} `, "from 0 to 1")
    assertRefused(fractionOf(fraction, undefined), "InvalidRequest", shown)
  })

  it("needs a device that reports its memory, else bytes are the way out", () => {
    assertRefused(bytesOf("50%", undefined), "Unsupported", `"50%"`, "webgpu", "pass bytes")
    assertRefused(fractionOf(0.5, undefined), "Unsupported", "the fraction 0.5", "webgpu", "pass bytes")
    assertRefused(bytesOf("150%", undefined), "InvalidRequest", `"150%"`)
  })
})

describe("a limit", () => {
  it("is none when neither is given", () => {
    assert.isUndefined(resolve({}, 1000))
    assert.isUndefined(resolve({ bytes: undefined, fraction: undefined }, undefined))
  })

  it("is not given twice", () => {
    assertRefused(
      resolve({ bytes: 512, fraction: 0.5 }, 1000),
      "InvalidRequest",
      "512",
      "the fraction 0.5",
      "leave the other"
    )
    assertRefused(resolve({ bytes: "50%", fraction: 0.5 }, undefined), "InvalidRequest", `"50%"`, "0.5")
    assertRefused(resolve({ bytes: null, fraction: null }, 1000), "InvalidRequest", "null")
    assertRefused(resolve({ bytes: Infinity, fraction: 1 }, 1000), "InvalidRequest", "Infinity")
  })

  it("is what it is, or an error that names it, whatever is passed", () => {
    fc.assert(fc.property(fc.anything(), fc.option(memory, { nil: undefined }), (value, bytes) => {
      for (const answer of [bytesOf(value, bytes), fractionOf(value, bytes)]) {
        if (isGpuError(answer)) assert.include(answer.message, "Pool.test: maxBytes ")
        else assert.isTrue(answer === undefined || answer === Infinity || Number.isSafeInteger(answer))
      }
    }))
  })
})
