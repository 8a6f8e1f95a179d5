/**
 * The options of layers as Schemas: the parsed values, the messages for wrong values, and which options can be text.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import * as LayerOptions from "../../src/domain/arguments/LayerOptions.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"
import * as MemoryLimit from "../../src/domain/pool/MemoryLimit.ts"
import { BlockOptions } from "../../src/domain/pool/PoolOptions.ts"

const schema = Schema.Struct({
  bytes: MemoryLimit.amount,
  steps: LayerOptions.count(1, 1000),
  wait: LayerOptions.duration(1),
  clear: LayerOptions.oneOf(["never", "acquire"]),
  strict: LayerOptions.boolean,
  label: LayerOptions.label,
  onLost: LayerOptions.callback<() => void>()
})

const read = (options: unknown) => LayerOptions.read("Some.layer", schema, options as never)

const messageOf = (options: unknown): string | undefined => {
  const answer = read(options)
  return isGpuError(answer) ? answer.message : undefined
}

describe("the options of a layer", () => {
  it("are read as they are, whatever a program leaves out", () => {
    fc.assert(fc.property(
      fc.record({
        bytes: fc.oneof(
          fc.nat(),
          fc.constantFrom("1 MiB", "50%", "unlimited", Infinity),
          fc.bigInt({ min: 0n, max: 9n })
        ),
        steps: fc.integer({ min: 1, max: 1000 }),
        wait: fc.oneof(fc.integer({ min: 1, max: 1e9 }), fc.constantFrom("10 seconds" as const)),
        clear: fc.constantFrom("never", "acquire", undefined),
        strict: fc.boolean(),
        label: fc.string(),
        onLost: fc.func(fc.constant(undefined))
      }, { requiredKeys: [] }),
      (options) => deepStrictEqual(read(options), { ...options } as never)
    ))
    deepStrictEqual(read(undefined), {})
  })

  it.each([
    [{ bytes: -1 }, "bytes -1 is no whole number of bytes from 0 to 2^53 - 1"],
    [{ bytes: "12 parsecs" }, `bytes "12 parsecs" is no whole number of bytes`],
    [{ bytes: "101%" }, `bytes "101%" is more than the device's whole memory`],
    [{ steps: 0 }, "steps 0 is no whole number from 1 to 1000"],
    [{ steps: 1.5 }, "steps 1.5 is no whole number from 1 to 1000"],
    [{ wait: 0 }, "wait 0 is no duration of at least 1 ms"],
    [{ wait: "soon" }, `wait "soon" is no duration`],
    [{ clear: "always" }, `clear "always" is unknown. Pass "never" or "acquire"`],
    [{ strict: 1 }, "strict 1 is no boolean"],
    [{ label: Symbol("x") }, "the label Symbol(x) is no string"],
    [{ onLost: 1 }, "onLost 1 is no function"],
    [{ step: 1 }, `there is no option "step". Did you mean steps?`],
    [1, "1 was given for options"]
  ])("%o are answered by name, value and what to do", (options, message) => {
    assert.include(messageOf(options), `Some.layer: ${message}`)
  })

  it("are texts in configuration where they can be written as one", () => {
    const texts = LayerOptions.texts(schema)
    const decode = Schema.decodeUnknownSync(texts)
    deepStrictEqual(decode({ bytes: "1 MiB", steps: 4, clear: "never" }), { bytes: "1 MiB", steps: 4, clear: "never" })
    deepStrictEqual(decode({ onLost: "x" }), {})
    strictEqual(Object.hasOwn((LayerOptions.texts(BlockOptions) as never as typeof schema).fields, "sizePolicy"), false)
  })
})
