/**
 * Values that are not what a driver wants: some of them end the process when native code gets them.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BufferUsage from "../domain/BufferUsage.ts"
import * as ImageFormat from "../domain/images/ImageFormat.ts"
import * as ImageShape from "../domain/images/ImageShape.ts"
import * as Kernel from "../domain/Kernel.ts"
import { VectorArg } from "../domain/KernelArgument.ts"
import * as Allocator from "../services/Allocator.ts"
import * as BufferPool from "../services/buffers/BufferPool.ts"
import { DeviceContext } from "../services/DeviceContext.ts"
import * as ImagePool from "../services/images/ImagePool.ts"
import * as Images from "../services/images/Images.ts"
import * as KernelCache from "../services/KernelCache.ts"
import * as MemoryObjects from "../services/memory/MemoryObjects.ts"
import * as SubRegion from "../services/memory/SubRegion.ts"
import { expectUsable } from "./BadRequests.ts"
import { type ConformanceTest, inGroup, type TestServices } from "./ConformanceTest.ts"
import * as Expect from "./Expect.ts"
import { onAnyDevice } from "./images/AnyDevice.ts"

const withoutPrototype: object = Object.freeze(Object.create(null))

const throwing: object = Object.freeze({
  toString() {
    throw new Error("toString was called")
  },
  valueOf() {
    throw new Error("valueOf was called")
  }
})

/** None is a string, a number or left out. @internal */
export const oddValues: ReadonlyArray<readonly [name: string, value: unknown]> = [
  ["a symbol", Symbol("odd")],
  ["an object without a prototype", withoutPrototype],
  ["an object whose toString throws", throwing],
  ["a bigint", 7n],
  ["a boolean", true],
  ["a function", () => {}],
  ["an array", ["odd"]]
]

const shape = ImageShape.image2d(2, 2)

type Call = Effect.Effect<unknown, unknown, TestServices | Scope.Scope>

/** Everything that takes a label. */
const labelled: ReadonlyArray<readonly [name: string, call: (label: string) => Call]> = [
  ["a lease", (label) => BufferPool.allocate(64, { label })],
  ["a zero-byte lease", (label) => BufferPool.allocate(0, { label })],
  ["a loan", (label) => BufferPool.use(64, () => Effect.void, { label })],
  ["a pool", (label) => Layer.build(Layer.fresh(BufferPool.layer({ label })))],
  ["a budget", (label) => BufferPool.withBudget(64, { label })(BufferPool.allocate(64))],
  ["a device buffer", (label) => Effect.provide(Allocator.allocate(64, { label }), Allocator.layerImmediate)],
  [
    "a raw device buffer",
    (label) => DeviceContext.use((device) => device.createBuffer(64, BufferUsage.defaultUsage, label))
  ],
  ["a buffer made of data", (label) => MemoryObjects.fromHost(new Uint8Array(64), { label })],
  [
    "a region",
    (label) => Effect.flatMap(BufferPool.allocate(64), (lease) => SubRegion.make(lease, { size: 16 }, { label }))
  ]
]

/** And those of images. */
const labelledImages: typeof labelled = [
  ["an image", (label) => Images.make(shape, ImageFormat.rgba8, { label })],
  [
    "a pooled image",
    (label) => Effect.provide(ImagePool.allocate(shape, ImageFormat.rgba8, { label }), Layer.fresh(ImagePool.layer()))
  ],
  ["a pool of images", (label) => Layer.build(Layer.fresh(ImagePool.layer({ label })))]
]

/** What takes sizes and usages. */
const measured: ReadonlyArray<readonly [name: string, call: (value: number) => Call]> = [
  ["the size of a lease", (size) => BufferPool.allocate(size)],
  [
    "the size of a raw device buffer",
    (size) => DeviceContext.use((device) => device.createBuffer(size, BufferUsage.defaultUsage))
  ],
  ["the usage of a lease", (usage) => BufferPool.allocate(64, { usage })],
  ["the usage of a raw device buffer", (usage) => DeviceContext.use((device) => device.createBuffer(64, usage))]
]

/** Kernels without types can have anything for a text. */
const kernels: ReadonlyArray<readonly [name: string, kernel: (text: string) => Kernel.Kernel]> = ([
  ["name", (name) => ({ name })],
  ["body in WGSL", (wgsl) => ({ body: { wgsl, opencl: "", host: () => {} } })],
  ["body in OpenCL C", (opencl) => ({ body: { wgsl: "", opencl, host: () => {} } })],
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
        const reason = yield* Expect.failsWith(what, Effect.scoped(call(value as never)), "InvalidRequest")
        Expect.isTrue(`${what}: the message is short`, reason.message.length < 400)
      }
    }
    yield* expectUsable
  })

const test = inGroup("odd values")

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = [
  test("labels that are no text are refused", refused(labelled), { counting: true }),
  ...onAnyDevice([test("labels of images that are no text are refused", refused(labelledImages), { counting: true })]),
  test("sizes and usages that are no numbers are refused", refused(measured), { counting: true }),
  test(
    "kernels whose texts are none are refused",
    refused(kernels.map(([name, kernel]) => [name, (text) => KernelCache.get(kernel(text))])),
    { counting: true }
  )
]
