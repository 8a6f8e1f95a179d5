import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"

useOclgrind()

describeWith(["oclgrind"], "Shared virtual memory on Oclgrind", () => {
  it.live("is Unsupported, with the reason", () =>
    Effect.gen(function*() {
      const capabilities = yield* Svm.capabilities
      const { missing, ...kinds } = capabilities
      assert.include(missing, "has OpenCL 1.2")
      deepStrictEqual(kinds, {
        coarseGrain: false,
        fineGrain: false,
        fineGrainSystem: false,
        atomics: false,
        maxAlignment: 128
      })
      const buffer = yield* BufferPool.allocate(64)
      const refused: ReadonlyArray<Effect.Effect<unknown, { readonly reason: { readonly _tag: string } }, Services>> = [
        Effect.scoped(Layer.build(Svm.layerPool())),
        Effect.scoped(Layer.build(Svm.layerAllocator({ grain: "fine" }))),
        Effect.scoped(Svm.view(buffer, Float32Array)),
        Svm.pointer(buffer),
        Svm.bindToQueue(buffer, 1n),
        Svm.unbindFromQueue(buffer)
      ]
      for (const use of refused) strictEqual((yield* Effect.flip(use)).reason._tag, "Unsupported")
    }).pipe(
      Effect.scoped,
      Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "Oclgrind" }))))
    ))
})

type Services = OpenCl.Services | BufferPool.BufferPool
