/** Sessions of onnxruntime-web on leases: equal bits with its own tensors, and what fails. */
import { kvCache, type KvCacheOptions } from "@effect-gpu-pool/interop/ort"
import * as Interop from "@effect-gpu-pool/interop/ort"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { InferenceSession, Tensor } from "onnxruntime-web"
import { create, globals } from "webgpu"
import { describeWith } from "../../../test/support/required.ts"
import { attention, width } from "./workloads/Onnx.ts"
import { encode } from "./workloads/OnnxModel.ts"
import { random, randomValues } from "./workloads/Random.ts"

// Onnxruntime-web looks for the classes of a page when it is loaded.
const gpu = create([])
Object.assign(globalThis, globals)
Object.defineProperty(globalThis.navigator, "gpu", { value: gpu, configurable: true })
const ort = await import("onnxruntime-web/webgpu")

const layers = 2

const entries: KvCacheOptions["entries"] = Array.from(
  { length: layers },
  (_, layer) =>
    ["key", "value"].map((part) => ({
      past: `past_${part}${layer}`,
      present: `present_${part}${layer}`,
      dims: (tokens: number) => [tokens, width]
    }))
).flat()

class Model extends Context.Service<Model, InferenceSession>()("test/Model") {}

/** The session ends before the device: it has buffers there. */
const model = Layer.effect(
  Model,
  Effect.gen(function*() {
    const provider = yield* Interop.executionProvider
    return yield* Effect.acquireRelease(
      Effect.promise(() =>
        ort.InferenceSession.create(encode(attention(layers, true)), {
          executionProviders: [provider],
          preferredOutputLocation: "gpu-buffer"
        })
      ),
      (session) => Effect.promise(() => session.release())
    )
  })
)

const device = Layer.unwrap(Effect.map(
  Effect.promise(async () => await (await gpu.requestAdapter())!.requestDevice()),
  (device) => WebGpu.layerFromDevice(device)
))

const numbersOf = (output: Tensor | undefined): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    const numbers = Array.from(await output!.getData() as Float32Array)
    output!.dispose()
    return numbers
  })

const rows = (seed: number, count: number) => {
  const next = random(seed)
  return Array.from({ length: count }, () => randomValues(width, next, 1))
}

const onHost = (values: Float32Array<ArrayBuffer>) => new ort.Tensor("float32", values, [1, width])

/** What the model makes of these rows with tensors of its own, on the host between two steps. */
const expected = Effect.fnUntraced(
  function*(session: InferenceSession, texts: ReadonlyArray<Float32Array<ArrayBuffer>>) {
    let past: Record<string, Tensor> = Object.fromEntries(
      entries.map(({ dims, past }) => [past, new ort.Tensor("float32", new Float32Array(0), [...dims(0)])])
    )
    const outputs: Array<ReadonlyArray<number>> = []
    for (const x of texts) {
      const { y, ...present } = yield* Effect.promise(() => session.run({ x: onHost(x), ...past }))
      outputs.push(yield* numbersOf(y))
      past = {}
      for (const [name, tensor] of Object.entries(present)) {
        const numbers = Float32Array.from(yield* numbersOf(tensor))
        past[name.replace("present", "past")] = new ort.Tensor("float32", numbers, [numbers.length / width, width])
      }
    }
    return outputs
  }
)

describeWith(["webgpu"], "onnxruntime-web on leases", () => {
  layer(model.pipe(Layer.provideMerge(BufferPool.layer()), Layer.provideMerge(device)))((it) => {
    it.effect.each(["double", "exact"] as const)(
      "has a KV cache that grows, %s, with equal bits",
      (growth) =>
        Effect.gen(function*() {
          const session = yield* Model
          const texts = rows(7, 9)
          const wanted = yield* expected(session, texts)
          const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 16, tokens: 2, growth })
          for (const [index, x] of texts.entries()) {
            const { y, ...others } = yield* cache.step({ x: onHost(x) })
            deepStrictEqual(Object.keys(others), [])
            deepStrictEqual(yield* numbersOf(y), wanted[index])
          }
          strictEqual(cache.tokens, texts.length)
          yield* cache.reset
          const { y } = yield* cache.step({ x: onHost(texts[0]!) })
          deepStrictEqual(yield* numbersOf(y), wanted[0])
        }).pipe(Effect.scoped)
    )

    it.effect("allocates nothing while there is room, and gives all back", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const before = yield* BufferPool.stats
        yield* Effect.scoped(Effect.gen(function*() {
          const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 16, tokens: 8 })
          const texts = rows(8, 8)
          const requests: Array<number> = []
          for (const x of texts) {
            yield* numbersOf((yield* cache.step({ x: onHost(x) })).y)
            const { hits, misses } = yield* BufferPool.stats
            requests.push(hits + misses - before.hits - before.misses)
          }
          // Two leases of each entry, and no request from the third step on.
          deepStrictEqual(requests, [4, 8, 8, 8, 8, 8, 8, 8])
        }))
        strictEqual((yield* BufferPool.stats).activeBlocks, before.activeBlocks)
      }))

    it.effect("keeps its tokens when a step fails", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const texts = rows(9, 3)
        const wanted = yield* expected(session, texts)
        const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 3 })
        for (const [index, x] of texts.entries()) {
          const error = yield* Effect.flip(cache.step({ z: onHost(x) }))
          strictEqual(error.reason._tag, "DriverError")
          assert.match(error.message, /^onnxruntime-web: InferenceSession\.run failed: /)
          strictEqual(cache.tokens, index)
          const { y } = yield* cache.step({ x: onHost(x) })
          deepStrictEqual(yield* numbersOf(y), wanted[index])
        }
        const full = yield* Effect.flip(cache.step({ x: onHost(texts[0]!) }))
        assert.match(full.message, /1 new tokens after 3 of at most 3/)
        for (const count of [0, -1, 0.5, NaN]) {
          const error = yield* Effect.flip(cache.step({ x: onHost(texts[0]!) }, count))
          strictEqual(error.reason._tag, "InvalidRequest")
        }
      }).pipe(Effect.scoped))

    it.effect("ends with its scope", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const [row] = rows(12, 1)
        const ended = yield* Effect.scoped(Effect.gen(function*() {
          const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 4 })
          yield* numbersOf((yield* cache.step({ x: onHost(row!) })).y)
          return cache
        }))
        const error = yield* Effect.flip(ended.step({ x: onHost(row!) }))
        strictEqual(error.reason._tag, "Released")
      }))

    it.effect("takes one step at a time", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const texts = rows(10, 4)
        const wanted = yield* expected(session, texts)
        const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 4 })
        const outputs = yield* Effect.forEach(texts, (x) => cache.step({ x: onHost(x) }), {
          concurrency: "unbounded"
        })
        deepStrictEqual(yield* Effect.forEach(outputs, ({ y }) => numbersOf(y)), wanted)
      }).pipe(Effect.scoped))

    it.effect("reads and writes leases, after what the program has recorded", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const [row] = rows(11, 1)
        const [wanted] = yield* expected(session, [row!])
        const [x, y] = [yield* BufferPool.allocate(4 * width), yield* BufferPool.allocate(4 * width)]
        yield* CommandQueue.write(x, row!)
        yield* CommandQueue.fill(y, 0)
        const dims = [1, width]
        const feed = yield* Interop.tensor(ort.Tensor, x, "float32", dims)
        const fetch = yield* Interop.tensor(ort.Tensor, y, "float32", dims)
        const empty = Object.fromEntries(
          entries.map(({ dims, past }) => [past, new ort.Tensor("float32", new Float32Array(0), [...dims(0)])])
        )
        yield* Interop.run(session, { x: feed, ...empty }, { y: fetch })
        deepStrictEqual(Array.from(yield* CommandQueue.read(y, Float32Array)), wanted)
      }).pipe(Effect.scoped))

    it.effect("refuses leases that are too small or have ended, and options that are none", () =>
      Effect.gen(function*() {
        const session = yield* Model
        const lease = yield* BufferPool.allocate(4 * width - 4)
        const small = yield* Effect.flip(Interop.tensor(ort.Tensor, lease, "float32", [1, width]))
        assert.match(small.message, /the lease has 252 B, and a tensor of float32 and dims \[1, 64\] takes 256 B/)
        const ended = yield* Effect.scoped(BufferPool.allocate(256))
        const released = yield* Effect.flip(Interop.tensor(ort.Tensor, ended, "float16", [1, width]))
        strictEqual(released.reason._tag, "Released")
        const wrong: ReadonlyArray<Partial<KvCacheOptions>> = [
          { maxTokens: 0 },
          { maxTokens: 1.5 },
          { maxTokens: 4, tokens: 5 },
          { maxTokens: 4, tokens: 0 }
        ]
        for (const options of wrong) {
          const error = yield* Effect.flip(kvCache(session, ort.Tensor, { entries, maxTokens: 4, ...options }))
          strictEqual(error.reason._tag, "InvalidRequest")
        }
      }).pipe(Effect.scoped))
  })
})
