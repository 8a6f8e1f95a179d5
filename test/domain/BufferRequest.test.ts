import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as BufferRequest from "../../src/domain/BufferRequest.ts"
import * as BufferUsageRules from "../../src/domain/BufferUsageRules.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"

const largest = Number.MAX_SAFE_INTEGER
const byteCount = fc.oneof(
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, 3, 4, 2 ** 31, 2 ** 32 - 1, 2 ** 32, largest - 1, largest)
)
const noByteCount = fc.oneof(
  fc.integer({ max: -1 }),
  fc.double().filter((value) => !Number.isInteger(value)),
  fc.constantFrom(-1, 0.5, 2 ** 53, 2 ** 53 + 2, NaN, Infinity, -Infinity, Number.MIN_VALUE)
)

/** Checks that the error names the call and shows the value. */
const refuses = (error: GpuError | undefined, tag: string, ...shown: ReadonlyArray<unknown>): void => {
  assert.strictEqual(error?.reason._tag, tag)
  for (const value of ["Pool.test", ...shown]) assert.include(error?.message, String(value))
  assert.isFalse(error?.isRetryable)
}

describe("BufferRequest", () => {
  it("takes every whole number of bytes from 0 to 2^53-1 as a size", () => {
    fc.assert(fc.property(byteCount, (size) => assert.isUndefined(BufferRequest.sizeProblem("Pool.test", size))))
  })

  it("and nothing else", () => {
    fc.assert(fc.property(noByteCount, (size) => {
      refuses(BufferRequest.sizeProblem("Pool.test", size), "InvalidRequest", size)
    }))
    for (const size of ["64", undefined, null, 64n]) {
      refuses(BufferRequest.sizeProblem("Pool.test", size as never), "InvalidRequest", size)
    }
  })

  it("takes a usage exactly when BufferUsage finds no problem, and fails with the problem that it finds", () => {
    fc.assert(fc.property(fc.oneof(fc.nat(16384), fc.double()), (usage) => {
      const error = BufferRequest.usageProblem("Pool.test", usage)
      const problem = BufferUsageRules.problem(usage)
      if (problem === undefined) assert.isUndefined(error)
      else refuses(error, "InvalidRequest", problem)
    }))
  })

  it("lets a limit be reached and not exceeded", () => {
    fc.assert(fc.property(byteCount, fc.oneof(byteCount, fc.constant(Infinity)), (bytes, limit) => {
      const error = BufferRequest.limitProblem("Pool.test", bytes, "maxBytes", limit, { kind: "pool" })
      if (bytes <= limit) assert.isUndefined(error)
      else refuses(error, "LimitExceeded", bytes, "maxBytes", limit)
    }))
    assert.isUndefined(BufferRequest.limitProblem("Pool.test", 64, "maxBytes", 64, { kind: "pool" }))
    refuses(BufferRequest.limitProblem("Pool.test", 65, "maxBytes", 64, { kind: "pool" }), "LimitExceeded", 65, 64)
  })

  it.each([
    [1.5, /Round it up with Math\.ceil/],
    [-1, /Check what it is computed from/],
    [NaN, /Check what it is computed from/],
    [2 ** 53, /Check what it is computed from/],
    ["64 MiB", /the size "64 MiB" .* Pass a number of bytes, as 64 \* 1024 \* 1024/],
    [{}, /the size an object .* Pass a number of bytes/]
  ])("says what to do about a size of %s", (size, expected) => {
    assert.match(BufferRequest.sizeProblem("Pool.test", size as number)?.message ?? "", expected)
  })
})
