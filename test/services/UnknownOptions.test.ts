/** Each operation that takes options, called with an unknown one: it says which, and which it has. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "@effect-gpu-pool/arrays"
import { Conformance, DeviceTests } from "@effect-gpu-pool/testing"
import { Arbitraries, PoolAgreement } from "@effect-gpu-pool/testing/properties"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { FaultyAllocator, LimitingAllocator } from "../../src/allocators.ts"
import { DeviceMemo, KernelCache, PoolCore } from "../../src/backend.ts"
import { Devices, DeviceSelector, TransferSpeed } from "../../src/devices.ts"
import { Host, JavaScript } from "../../src/host.ts"
import { ImageFormat, ImagePool, Images, ImageShape } from "../../src/images.ts"
import {
  Allocator,
  BufferPool,
  CommandQueue,
  DeviceContext,
  GpuError,
  KernelArgument,
  Mapping,
  MemoryObjects,
  SizePolicy,
  SubRegion
} from "../../src/index.ts"

type Services =
  | Allocator.Allocator
  | BufferPool.BufferPool
  | ImagePool.ImagePool
  | Layer.Success<ReturnType<typeof Host.layer>>
  | Scope.Scope

const services = Layer.mergeAll(BufferPool.layer(), ImagePool.layer(), Allocator.layerImmediate).pipe(
  Layer.provideMerge(Host.layer())
)

/** Options as a program without types has them. */
const named = (name: string, value: unknown = 1, others: object = {}): never => ({ ...others, [name]: value }) as never

const withLease = <A, E, R>(f: (lease: BufferPool.PooledBuffer) => Effect.Effect<A, E, R>) => BufferPool.use(64, f)

const withImage = <A, E, R>(f: (image: Effect.Success<ReturnType<typeof Images.make>>) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(Images.make(ImageShape.image2d(2, 2), ImageFormat.rgba8), f))

const withArray = <A, E, R>(f: (array: DeviceArray.DeviceArray<"f32">) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(DeviceArray.zeros([2, 2]), f)

const x = KernelArgument.VectorArg("f32", "x", { access: "read" })
const sum = {
  name: "sum",
  args: [x],
  map: (inputs: { readonly x: Expr.Expr<"f32"> }) => inputs.x,
  combine: Expr.add,
  neutral: 0
}
const state = { ...sum, state: { total: "f32" }, neutral: { total: 0 } }

const problemOf = (kernel: { readonly problem: GpuError.GpuError | undefined }) =>
  Effect.suspend(() => kernel.problem ?? Effect.void)

const compiler: KernelCache.KernelCompiler<KernelCache.CompiledKernel> = {
  writer: Effect.succeed(JavaScript.writer),
  compile: () => Effect.never,
  release: () => undefined
}

const framework: Conformance.TestFramework = {
  describe: (_, suite) => suite(),
  it: () => undefined,
  afterAll: () => undefined
}

const calls: ReadonlyArray<readonly [string, string, string, Effect.Effect<unknown, unknown, Services>]> = [
  ["BufferPool.layer", "maxByte", "maxBytes", Layer.build(BufferPool.layer(named("maxByte")))],
  ["BufferPool.layerNoDeps", "sizepolicy", "sizePolicy", Layer.build(BufferPool.layerNoDeps(named("sizepolicy")))],
  ["BufferPool.layerConfig", "maxbytes", "maxBytes", Layer.build(BufferPool.layerConfig(named("maxbytes")))],
  ["ImagePool.layer", "maxHeldByte", "maxHeldBytes", Layer.build(ImagePool.layer(named("maxHeldByte")))],
  ["LimitingAllocator.layer", "limit", "", Layer.build(LimitingAllocator.layer(named("limit")))],
  ["FaultyAllocator.layer", "fault", "faults", Layer.build(FaultyAllocator.layer(named("fault")))],
  ["Host.layer", "capacity", "capacityBytes", Layer.build(Host.layer(named("capacity")))],
  ["Devices.layer", "cacheCapacity", "kernelCacheCapacity", Layer.build(Devices.layer("host", named("cacheCapacity")))],
  ["Devices.layerDefault", "select", "selector", Layer.build(Devices.layerDefault(named("select", "host")))],
  ["BufferPool.allocate", "lable", "label", BufferPool.allocate(64, named("lable"))],
  ["BufferPool.use", "lable", "label", BufferPool.use(64, () => Effect.void, named("lable"))],
  ["BufferPool.allocateAll", "lable", "label", BufferPool.allocateAll([64], named("lable"))],
  ["BufferPool.useAll", "lable", "label", BufferPool.useAll([64], () => Effect.void, named("lable"))],
  ["BufferPool.reserve", "waitatmost", "waitAtMost", BufferPool.reserve(Effect.void, 64, named("waitatmost"))],
  ["BufferPool.withBudget", "onexhausted", "onExhausted", BufferPool.withBudget(Effect.void, 64, named("onexhausted"))],
  ["BufferPool.setLimit", "maxByte", "maxBytes", BufferPool.setLimit(named("maxByte"))],
  ["Allocator.allocate", "lable", "label", Allocator.allocate(64, named("lable"))],
  ["CommandQueue.write", "ofset", "offset", withLease((b) => CommandQueue.write(b, new Uint8Array(4), named("ofset")))],
  ["CommandQueue.read", "lenght", "length", withLease((b) => CommandQueue.read(b, Uint8Array, named("lenght")))],
  [
    "CommandQueue.readInto",
    "ofset",
    "offset",
    withLease((b) => CommandQueue.readInto(b, new Uint8Array(4), named("ofset")))
  ],
  ["CommandQueue.fill", "sizes", "size", withLease((b) => CommandQueue.fill(b, 0, named("sizes")))],
  [
    "CommandQueue.copy",
    "sourceoffset",
    "sourceOffset",
    withLease((b) => CommandQueue.copy(b, b, named("sourceoffset")))
  ],
  [
    "CommandQueue.copyRect",
    "from",
    "",
    withLease((b) => CommandQueue.copyRect(b, b, named("from", {}, { region: [4] })))
  ],
  [
    "CommandQueue.copyRect, source",
    "pitch",
    "",
    withLease((b) => CommandQueue.copyRect(b, b, { region: [4], source: named("pitch") }))
  ],
  [
    "CommandQueue.writeRect",
    "target",
    "",
    withLease((b) => CommandQueue.writeRect(b, new Uint8Array(4), named("target", {}, { region: [4] })))
  ],
  [
    "CommandQueue.readRect",
    "host",
    "",
    withLease((b) => CommandQueue.readRect(b, Uint8Array, named("host", {}, { region: [4] })))
  ],
  [
    "CommandQueue.readRectInto",
    "buffers",
    "buffer",
    withLease((b) => CommandQueue.readRectInto(b, new Uint8Array(4), named("buffers", {}, { region: [4] })))
  ],
  ["Mapping.map", "acces", "access", withLease((b) => Effect.scoped(Mapping.map(b, Uint8Array, named("acces"))))],
  ["SubRegion.make", "lenght", "", withLease((b) => Effect.scoped(SubRegion.make(b, named("lenght"))))],
  ["SubRegion.make", "lable", "label", withLease((b) => Effect.scoped(SubRegion.make(b, {}, named("lable"))))],
  ["MemoryObjects.fromHost", "modes", "mode", Effect.scoped(MemoryObjects.fromHost(new Uint8Array(4), named("modes")))],
  [
    "MemoryObjects.migrate",
    "contentundefined",
    "contentUndefined",
    MemoryObjects.migrate([], named("contentundefined"))
  ],
  ["TransferSpeed.measure", "atleast", "atLeast", TransferSpeed.measure("deviceToHost", 4, named("atleast"))],
  [
    "Images.make",
    "lable",
    "label",
    Effect.scoped(Images.make(ImageShape.image2d(2, 2), ImageFormat.rgba8, named("lable")))
  ],
  [
    "Images.fromArray",
    "channel",
    "channels",
    Effect.scoped(Images.fromArray(new Uint8Array(4), ImageShape.image2d(2, 2), named("channel")))
  ],
  [
    "Images.fromHost",
    "mdoe",
    "mode",
    Effect.scoped(
      Images.fromHost(new Uint8Array(16), ImageShape.image2d(2, 2), ImageFormat.rgba8, named("mdoe", "use"))
    )
  ],
  [
    "Images.overBuffer",
    "wdith",
    "width",
    withLease((b) => Effect.scoped(Images.overBuffer(b, ImageFormat.rgba8, named("wdith", 4))))
  ],
  ["Images.write", "rowpitch", "rowPitch", withImage((i) => Images.write(i, new Uint8Array(16), named("rowpitch")))],
  ["Images.read", "extend", "extent", withImage((i) => Images.read(i, named("extend")))],
  [
    "Images.readInto",
    "slicepitch",
    "slicePitch",
    withImage((i) => Images.readInto(i, new Uint8Array(16), named("slicepitch")))
  ],
  ["Images.fill", "rowPitch", "", withImage((i) => Images.fill(i, [0, 0, 0, 0], named("rowPitch")))],
  ["Images.copy", "origin", "sourceOrigin", withImage((i) => Images.copy(i, i, named("origin")))],
  ["Images.toBuffer", "ofset", "offset", withImage((i) => withLease((b) => Images.toBuffer(i, b, named("ofset"))))],
  ["Images.fromBuffer", "ofset", "offset", withImage((i) => withLease((b) => Images.fromBuffer(b, i, named("ofset"))))],
  ["Images.map", "acces", "access", withImage((i) => Effect.scoped(Images.map(i, named("acces"))))],
  ["Images.sampler", "filters", "filter", Effect.scoped(Images.sampler(named("filters")))],
  [
    "ImagePool.allocate",
    "lable",
    "label",
    ImagePool.allocate(ImageShape.image2d(2, 2), ImageFormat.rgba8, named("lable"))
  ],
  ["DeviceArray.zeros", "type", "dtype", DeviceArray.zeros([2], named("type"))],
  ["DeviceArray.linspace", "counts", "count", DeviceArray.linspace(0, 1, named("counts"))],
  ["DeviceArray.eye", "column", "columns", DeviceArray.eye(2, named("column"))],
  ["DeviceArray.fromHost", "shapes", "shape", DeviceArray.fromHost([1], named("shapes"))],
  ["DeviceArray.fromLease", "ofset", "offset", withLease((b) => DeviceArray.fromLease(b, named("ofset")))],
  ["DeviceArray.sum", "axes", "axis", withArray((a) => DeviceArray.sum(a, named("axes")))],
  ["DeviceArray.take", "modes", "mode", withArray((a) => DeviceArray.take(a, [0], named("modes")))],
  ["DeviceArray.scoped", "reserved", "reserve", DeviceArray.scoped(DeviceArray.zeros([2]), named("reserved"))],
  [
    `ElementwiseKernel.make, kernel "k"`,
    "workGroupSize",
    "workgroupSize",
    KernelCache.get(
      ElementwiseKernel.make(named("workGroupSize", 4, { name: "k", args: [x], outputs: () => ({}) }))
    )
  ],
  [
    `ReductionKernel.make, kernel "sum"`,
    "comutative",
    "commutative",
    problemOf(ReductionKernel.make(named("comutative", true, sum)))
  ],
  [
    `ReductionKernel.makeState, kernel "sum"`,
    "states",
    "state",
    problemOf(ReductionKernel.makeState(named("states", {}, state)))
  ],
  [`ScanKernel.make, kernel "sum"`, "outputs", "output", problemOf(ScanKernel.make(named("outputs", Expr.add, sum)))],
  [
    `ScanKernel.run, kernel "sum"`,
    "inclusive",
    "exclusive",
    withLease((lease) => ScanKernel.run(ScanKernel.make(sum as never), { x: lease } as never, 4, named("inclusive")))
  ],
  ["Devices.choice", "homes", "home", Devices.choice(named("homes"))],
  [
    "KernelCache.make",
    "capcity",
    "capacity",
    Effect.flatMap(
      DeviceContext.DeviceContext,
      ({ info, status }) => KernelCache.make(compiler, named("capcity", 1, { info, status }))
    )
  ]
]

const expectRefusal = (operation: string, name: string, near: string, error: unknown): void => {
  assert(GpuError.isGpuError(error), String(error))
  const { message, reason } = error
  strictEqual(reason._tag, "InvalidRequest")
  assert.include(message, `: there is no option "${name}". `)
  assert.include(message.split(": there")[0], operation.split(".layer")[0]!)
  if (near !== "") assert.include(message, `Did you mean ${near}? `)
  assert.match(message, /The (only option is|options are) /)
}

describe("an unknown option is refused", () => {
  it.effect.each(calls)("by %s: %s", ([operation, name, near, call]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(call)
      expectRefusal(operation, name, near, error)
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.effect("by Devices.forTests, which fails the tests", () =>
    Effect.gen(function*() {
      const { problem } = yield* Devices.forTests(named("select", "host"))
      assert.include(problem, `there is no option "select". Did you mean selector?`)
    }))

  it.each([
    ["DeviceMemo.make", () => DeviceMemo.make(() => Effect.void, named("capcity"))],
    ["PoolCore.PoolCore", () => new PoolCore.PoolCore(named("maxByte"))],
    [
      "PoolCore.PoolCore, idle",
      () => new PoolCore.PoolCore({ idle: named("keepByte", 0, { steps: 1, keepBytes: 0 }) })
    ],
    ["DeviceTests.make", () => DeviceTests.make(framework, { devices: [] }, named("ovr"))],
    ["Conformance.register", () => Conformance.register(framework, Host.layer(), [], named("workscale"))],
    ["PoolAgreement.on", () => PoolAgreement.on(Host.layer(), named("maxCommand"))],
    ["PoolAgreement.onHost", () => PoolAgreement.onHost(named("policie"))],
    ["Arbitraries.sizes", () => Arbitraries.sizes(named("maxi"))],
    ["Arbitraries.requests", () => Arbitraries.requests(named("zeros"))],
    ["Arbitraries.traces", () => Arbitraries.traces(named("slot"))]
  ])("by %s, a function of values, with a TypeError", (operation, call) => {
    assert.throws(call, TypeError, `${operation}: there is no option `)
    assert.throws(call, TypeError, "Did you mean ")
  })

  const made = Host.makeFaults()
  const carried: ReadonlyArray<readonly [operation: string, layer: Layer.Layer<never, GpuError.GpuError, Services>]> = [
    ["SizePolicy.sizeClasses", BufferPool.layer({ sizePolicy: SizePolicy.sizeClasses(4, named("borow")) })],
    ["SizePolicy.table", BufferPool.layer({ sizePolicy: SizePolicy.table([64], named("borow")) })],
    ["Faults.failAllocations", (made.failAllocations(named("time")), Host.layer({ faults: made }))]
  ]
  it.effect.each(carried)(
    "by %s, with the error of what uses the value",
    ([operation, layer]) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Layer.build(layer))
        assert.include(error.message, `${operation}: there is no option `)
        assert.include(error.message, "Did you mean ")
      }).pipe(Effect.scoped, Effect.provide(services))
  )

  it.each([
    ["DeviceSelector.parse", DeviceSelector.parse],
    ["DeviceSelector.parsePyOpenClTest", DeviceSelector.parsePyOpenClTest],
    ["DeviceSelector.parsePyOpenClContext", DeviceSelector.parsePyOpenClContext],
    ["DeviceSelector.parseCudaDevice", DeviceSelector.parseCudaDevice]
  ])("by %s, which answers with the error", (operation, parse) => {
    const answer = parse("0", named("sourc"))
    assert(Result.isFailure(answer))
    expectRefusal(operation, "sourc", "source", answer.failure)
  })

  it("but not where DeviceTests.make gets none", () => {
    const titles: Array<string> = []
    const { itDevices } = DeviceTests.make(
      { ...framework, it: (title) => titles.push(title) },
      { devices: [{ name: "host", layer: Host.layer() }] },
      {} as never
    )
    itDevices("opens", DeviceContext.DeviceContext)
    deepStrictEqual(titles, ["opens on host"])
  })

  it.effect("but not where it is undefined, or where the name is known", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(64, { label: "x", lable: undefined } as { readonly label: string })
      yield* Layer.build(BufferPool.layer({ maxBytes: 64, label: undefined }))
    }).pipe(Effect.scoped, Effect.provide(services)))
})
