/**
 * Values of wrong types that would end the process in a driver: an effect fails with InvalidRequest for each, on every backend.
 * `test/fuzz` tries such calls at random; these are the known ones.
 *
 * @internal
 */
import { Allocator, BufferPool, BufferUsage, CommandQueue, Kernel, MemoryObjects } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool/images"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup, runsCommands, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { onAnyDevice } from "../images/AnyDevice.ts"
import { expectUsable } from "./BadRequests.ts"

/** Passes a value that the types forbid. */
export const wrong = <A>(value: unknown): A => value as A

const withoutPrototype: object = Object.freeze(Object.create(null))

const unprintable: object = Object.freeze({
  toString() {
    throw new Error("toString was called")
  },
  valueOf() {
    throw new Error("valueOf was called")
  }
})

/** Values that are neither a string, nor a number, nor `undefined`. */
export const oddValues: ReadonlyArray<readonly [name: string, value: unknown]> = [
  ["a symbol", Symbol("odd")],
  ["an object without a prototype", withoutPrototype],
  ["an object whose toString throws", unprintable],
  ["a bigint", 7n],
  ["a boolean", true],
  ["a function", () => {}],
  ["an array", ["odd"]]
]

const shape = ImageShape.image2d(2, 2)

type Call = Effect.Effect<unknown, unknown, TestServices | Scope.Scope>

/** All functions whose label a driver gets. */
const labelled: ReadonlyArray<readonly [name: string, call: (label: string) => Call]> = [
  ["a lease", (label) => BufferPool.allocate(64, { label })],
  ["a zero-byte lease", (label) => BufferPool.allocate(0, { label })],
  ["a loan", (label) => BufferPool.use(64, () => Effect.void, { label })],
  ["a pool", (label) => Layer.build(Layer.fresh(BufferPool.layer({ label })))],
  ["a device buffer", (label) => Effect.provide(Allocator.allocate(64, { label }), Allocator.layerImmediate)],
  [
    "a raw device buffer",
    (label) => DeviceContext.use((device) => device.createBuffer(64, BufferUsage.defaultUsage, label))
  ],
  ["a buffer made of data", (label) => MemoryObjects.fromHost(new Uint8Array(64), { label })],
  ["a pool of images", (label) => Layer.build(Layer.fresh(ImagePool.layer({ label })))]
]

const labelledImages: typeof labelled = [
  ["an image", (label) => Images.make(shape, ImageFormat.rgba8, { label })],
  [
    "a pooled image",
    (label) => Effect.provide(ImagePool.allocate(shape, ImageFormat.rgba8, { label }), Layer.fresh(ImagePool.layer()))
  ]
]

/** All functions that take a size or a usage. */
const measured: ReadonlyArray<readonly [name: string, call: (value: number) => Call]> = [
  ["the size of a lease", (size) => BufferPool.allocate(size)],
  [
    "the size of a raw device buffer",
    (size) => DeviceContext.use((device) => device.createBuffer(size, BufferUsage.defaultUsage))
  ],
  ["the usage of a lease", (usage) => BufferPool.allocate(64, { usage })],
  ["the usage of a raw device buffer", (usage) => DeviceContext.use((device) => device.createBuffer(64, usage))]
]

/** A function is the body of some language. */
const noBody = (value: unknown): unknown => typeof value === "function" ? [value] : value

/** Kernels with any value in place of a string. */
const kernels: ReadonlyArray<readonly [name: string, kernel: (text: string) => Kernel.Kernel]> = ([
  ["name", (name) => ({ name })],
  ["body in WGSL", (wgsl) => ({ body: { wgsl: noBody(wgsl), opencl: "", host: () => {} } })],
  ["body in OpenCL C", (opencl) => ({ body: { wgsl: "", opencl: noBody(opencl), host: () => {} } })],
  ["preamble", (preamble) => ({ preamble: { wgsl: preamble, opencl: preamble } })],
  ["buildOptions", (buildOptions) => ({ buildOptions })]
] as ReadonlyArray<readonly [string, (text: string) => object]>).map(([name, fields]) => [
  name,
  (text) =>
    Kernel.make({
      name: "odd",
      args: [VectorArg("f32", "x")],
      body: { wgsl: "", opencl: "", host: () => {} },
      ...fields(text)
    })
])

const refused = (calls: ReadonlyArray<readonly [name: string, call: (value: never) => Call]>) =>
  Effect.gen(function*() {
    for (const [name, call] of calls) {
      for (const [odd, value] of oddValues) {
        const what = `${name} with ${odd}`
        const reason = yield* Expect.refused(what, Effect.scoped(call(value as never)))
        Expect.isTrue(`${what}: the message is short`, reason.message.length < 400)
      }
    }
    yield* expectUsable
  })

const group = "wrong values"
const odd = inGroup("odd values", { counting: true })

export const tests: ReadonlyArray<ConformanceTest> = [
  /** The program changes the list of arguments after it made a kernel of it. The kernel must not change with it. */
  inGroup(group)("a kernel stays the same when the program changes its list of arguments", function*() {
    const changes: ReadonlyArray<(args: Array<unknown>) => unknown> = [
      (args) => args.push(VectorArg("f32", "more")),
      (args) => args.pop(),
      (args) => args.fill(undefined),
      (args) => args.splice(0, 1)
    ]
    const x = yield* BufferPool.allocate(16)
    for (const change of changes) {
      const args = [VectorArg("f32", "x"), ScalarArg("f32", "a")] as const
      const list = [...args]
      const made = Kernel.make({
        name: "kept",
        args: list as unknown as typeof args,
        body: Kernels.scale.body as never
      })
      const own: typeof made = { ...made, args: list as unknown as typeof args }
      for (const kernel of [made, own]) yield* CommandQueue.dispatch(kernel, { x, a: 2 }, 4)
      change(list)
      yield* CommandQueue.write(x, new Float32Array([1, 2, 3, 4]))
      for (const kernel of [made, own]) yield* CommandQueue.dispatch(kernel, { x, a: 2 }, 4)
      const found = yield* CommandQueue.read(x, Float32Array)
      if (yield* runsCommands) Expect.numbers("after the change", found, [4, 8, 12, 16])
    }
    yield* CommandQueue.finish
  }),
  odd("labels that are no strings are refused", refused(labelled)),
  ...onAnyDevice([odd("labels of images that are no strings are refused", refused(labelledImages))]),
  odd("sizes and usages that are no numbers are refused", refused(measured)),
  odd(
    "kernels with other values than strings are refused",
    refused(kernels.map(([name, kernel]) => [name, (text) => KernelCache.get(kernel(text))]))
  )
]
