import { assert, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { oddValues } from "../../packages/testing/src/memory/WrongValues.ts"
import { OpenCl, OpenClMemory, Svm } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { allocate, onDevice, reasonOf } from "../support/openClDevice.ts"
import { describeWith } from "../support/required.ts"

/** The odd values that are valid for an option after all. */
const fitting: { readonly [option: string]: string } = {
  forceFallbackAdapter: "a boolean",
  hostMemory: "a boolean",
  byteGranular: "a boolean",
  flags: "an array"
}

/** Each odd value with each option for which it is invalid. */
const odd = (names: ReadonlyArray<string>) =>
  names.flatMap((name) =>
    oddValues
      .filter(([what]) => what !== fitting[name])
      .map(([what, value]) => ({ name, what, options: { [name]: value } as never }))
  )

const nothing = () => assert.fail("nothing is enqueued")

const notObjects = [Symbol("odd"), 7, "gpu", null] as ReadonlyArray<unknown> as ReadonlyArray<never>

const fails = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>, said: string) =>
  Effect.map(Effect.flip(effect), ({ message }) => assert.include(message, said))

describeWith(["webgpu"], "Options of a WebGPU layer", () => {
  it.effect.each(odd(["powerPreference", "forceFallbackAdapter", "byteGranular", "label", "flags"]))(
    "are refused where $name is $what",
    ({ name, options }) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Layer.build(WebGpu.layer(options)))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, `WebGpu.layer`)
        assert.include(error.message, name === "flags" ? "flag" : name)
      }).pipe(Effect.scoped)
  )

  it.effect("cannot ask for single bytes, which OpenCL and the host have", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Layer.build(WebGpu.layer({ byteGranular: true })))
      strictEqual(error.reason._tag, "Unsupported")
      assert.include(error.message, "OpenCL")
      yield* Layer.build(WebGpu.layer({ byteGranular: false, flags: ["backend=null"] }))
    }).pipe(Effect.scoped))

  it.effect("are refused where a flag is no text", () =>
    Effect.gen(function*() {
      for (const [what, value] of oddValues) {
        const layer = WebGpu.layer({ flags: ["backend=null", value as string] })
        strictEqual(yield* reasonOf(Layer.build(layer)), "InvalidRequest", what)
      }
      const holes: Array<string> = []
      holes.length = 2
      strictEqual(yield* reasonOf(Layer.build(WebGpu.layer({ flags: holes }))), "InvalidRequest")
    }).pipe(Effect.scoped))

  it.effect("are refused where they are no object, or name an unknown preference", () =>
    Effect.gen(function*() {
      for (const options of notObjects) {
        strictEqual(yield* reasonOf(Layer.build(WebGpu.layer(options))), "InvalidRequest")
      }
      strictEqual(
        yield* reasonOf(Layer.build(WebGpu.layer({ powerPreference: "fast" as "low-power" }))),
        "InvalidRequest"
      )
    }).pipe(Effect.scoped))

  it.effect("are refused for a GPU of the program's too", () =>
    Effect.gen(function*() {
      const { gpu } = yield* WebGpu.WebGpu
      for (const { options } of odd(["powerPreference", "forceFallbackAdapter", "label"])) {
        strictEqual(yield* reasonOf(Layer.build(WebGpu.layerFrom(gpu, options))), "InvalidRequest")
      }
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer({ flags: ["backend=null"] }))))

  it.effect.each([
    ["powerPreferences", "powerPreference"],
    ["flag", "flags"],
    ["kernelCache", "kernelCacheCapacity"]
  ])("are refused where there is no %s", ([name, near]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Layer.build(WebGpu.layer({ [name!]: 1 } as never)))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, `WebGpu.layer: there is no option "${name}". Did you mean ${near}?`)
    }).pipe(Effect.scoped))

  it.effect("are refused where a GPU of the program's has no use for them", () =>
    Effect.gen(function*() {
      const { gpu } = yield* WebGpu.WebGpu
      const flags = yield* Effect.flip(Layer.build(WebGpu.layerFrom(gpu, { flags: [] } as never)))
      assert.include(flags.message, `WebGpu.layerFrom: there is no option "flags".`)
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer({ flags: ["backend=null"] }))))

  it.effect("are refused as labels of what is adopted", () =>
    Effect.gen(function*() {
      const { device } = yield* WebGpu.WebGpu
      const buffer = device.createBuffer({ size: 16, usage: 12 })
      const texture = device.createTexture({ size: [2, 2], format: "rgba8unorm", usage: 3 })
      for (const [what, value] of oddValues) {
        const label = value as string
        strictEqual(yield* reasonOf(WebGpu.adopt(buffer, { label })), "InvalidRequest", what)
        strictEqual(yield* reasonOf(WebGpu.adoptImage(texture, { label })), "InvalidRequest", what)
      }
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer({ flags: ["backend=null"] }))))
})

describeWith(["opencl"], "Options of an OpenCL layer", () => {
  it.effect.each(odd(["platform", "device", "hostMemory", "byteGranular", "library"]))(
    "are refused where $name is $what",
    ({ name, options }) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Layer.build(OpenCl.layer(options)))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, `OpenCl.layer`)
        assert.include(error.message, name)
      }).pipe(Effect.scoped)
  )

  it.effect("are refused where they are no object, and for functions of the program's too", () =>
    Effect.gen(function*() {
      const { api } = yield* OpenCl.OpenCl
      for (const options of notObjects) {
        strictEqual(yield* reasonOf(Layer.build(OpenCl.layer(options))), "InvalidRequest")
      }
      for (const { options } of odd(["platform", "device", "hostMemory"])) {
        strictEqual(yield* reasonOf(Layer.build(OpenCl.layerFrom(api, options))), "InvalidRequest")
      }
      for (const [what, value] of oddValues) {
        strictEqual(yield* reasonOf(OpenCl.load({ library: value as string })), "InvalidRequest", what)
      }
    }).pipe(Effect.scoped, Effect.provide(OpenCl.layer())))

  it.effect.each([["plattform", "platform"], ["devices", "device"], ["libary", "library"]])(
    "are refused where there is no %s",
    ([name, near]) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Layer.build(OpenCl.layer({ [name!]: 1 } as never)))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, `OpenCl.layer: there is no option "${name}". Did you mean ${near}?`)
      }).pipe(Effect.scoped)
  )

  it.effect("are refused where functions of the program's have no use for them, and by shared memory", () =>
    Effect.gen(function*() {
      const { api } = yield* OpenCl.OpenCl
      yield* fails(
        Layer.build(OpenCl.layerFrom(api, { library: "libOpenCL.so" } as never)),
        `OpenCl.layerFrom: there is no option "library".`
      )
      yield* fails(Layer.build(Svm.layerPool({ maxByte: 1 } as never)), `"maxByte". Did you mean maxBytes?`)
      yield* fails(Layer.build(Svm.layerPool({ grains: "fine" } as never)), `"grains". Did you mean grain?`)
      yield* fails(Layer.build(Svm.layerAllocator({ align: 8 } as never)), `"align". Did you mean alignment?`)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())))))

  it.effect("are refused as labels and memory of commands and of what is adopted", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { enqueueUnsafe } = yield* OpenCl.OpenCl
        const handle = yield* OpenCl.handle(yield* allocate(16))
        for (const [what, value] of oddValues) {
          const label = value as string
          strictEqual(yield* reasonOf(OpenClMemory.adopt(handle, { label })), "InvalidRequest", what)
          strictEqual(yield* reasonOf(OpenClMemory.adoptImage(handle, { label })), "InvalidRequest", what)
          const command = { label, call: "clEnqueueMarkerWithWaitList", enqueue: nothing }
          assert.isTrue(Exit.isFailure(enqueueUnsafe(command)), what)
          const memory = value as ArrayBuffer
          assert.isTrue(Exit.isFailure(enqueueUnsafe({ ...command, label: "marker", memory })), what)
        }
        strictEqual(watched.count("clRetainMemObject"), 0)
      })
    ))
})
