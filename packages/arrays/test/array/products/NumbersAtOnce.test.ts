/** How many numbers of the second operand a kernel reads at once: as many as its language says that it can, and it reads them so. */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { Language } from "effect-gpu-pool/Language"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Effect from "effect/Effect"
import { openClC } from "../../../../../src/layers/OpenCl/language/OpenClC.ts"
import { wgsl } from "../../../../../src/layers/WebGpu/language/Wgsl.ts"
import { dense, Pending } from "../../../src/array/ArrayValue.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import type { ArrayOperation } from "../../../src/array/elementwise/ArrayOperation.ts"
import * as Plan from "../../../src/array/fusion/Plan.ts"
import * as MatrixProduct from "../../../src/array/products/MatrixProduct.ts"
import { bind } from "../../../src/array/products/ProductKernel.ts"
import { strictHost } from "../ArrayBackends.ts"

/** The type of the second operand of a product's kernel, and the body of the kernel. */
const kernelIn = (writer: LanguageWriter) =>
  Effect.gen(function*() {
    const { info } = yield* CommandQueue
    const [a, b] = [yield* DeviceArray.ones([4, 8]), yield* DeviceArray.ones([8, 16])]
    const product = MatrixProduct.make("test", a, b)
    assert(!("reason" in product))
    const operation: ArrayOperation = { name: "matmul", build: ([element]) => element! }
    const pending = new Pending(operation, [a, b], ["f32", "f32"], "f32", undefined, undefined, product)
    const plan = Plan.make([dense("f32", product.shape, pending)], product.shape)
    const traits = { ...info.traits, language: writer.language }
    const { args, generate } = bind(plan, product, { ...info, traits }).kernel
    const second = args.find(({ name }) => name === "b")
    assert(second?._tag === "VectorArg" && generate !== undefined)
    return { type: second.dtype, body: String(generate(writer).body) }
  })

const withLanguage = (writer: LanguageWriter, parts: Partial<Language>): LanguageWriter => ({
  ...writer,
  language: { ...writer.language, ...parts }
})

describe("The second operand of a product", () => {
  it.effect("is read by fours, by eights, or by single numbers", () =>
    Effect.scoped(Effect.gen(function*() {
      const cases = [
        [wgsl, "vec4<f32>", "vec4<f32> = b[", ": f32 = b["],
        [withLanguage(wgsl, { fours: undefined }), "f32", ": f32 = b[", "vec4"],
        [openClC, "f32", "vload8(0, b + ", " = b["],
        [withLanguage(openClC, { eights: undefined }), "f32", " = b[", "vload8"]
      ] as const
      for (const [writer, type, read, unread] of cases) {
        const kernel = yield* kernelIn(writer)
        strictEqual(kernel.type, type)
        assert.include(kernel.body, read)
        assert.notInclude(kernel.body, unread)
      }
    })).pipe(Effect.provide(strictHost)))
})
