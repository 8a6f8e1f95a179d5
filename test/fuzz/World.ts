import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import * as ReductionKernel from "@effect-gpu-pool/arrays/ReductionKernel"
import * as ScanKernel from "@effect-gpu-pool/arrays/ScanKernel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { join } from "node:path"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as GroupKernel from "../../src/domain/kernel/GroupKernel.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { LocalArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as SourceKernel from "../../src/domain/kernel/SourceKernel.ts"
import { Faults as HostFaults, Host } from "../../src/layers/Host/Host.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as FaultyAllocator from "../../src/services/buffers/allocators/FaultyAllocator.ts"
import * as StatisticsAllocator from "../../src/services/buffers/allocators/StatisticsAllocator.ts"
import * as TrackingAllocator from "../../src/services/buffers/allocators/TrackingAllocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { foreign } from "./Backends.ts"
import type { Random } from "./Random.ts"
import { declaring, moduleOf, root } from "./SourceModule.ts"
import { Thief } from "./Thief.ts"

/**
 * y[i] = x[i] * a, in each language. All kernels here are itemwise: ranges of three dimensions may have so many items that
 * an index beyond the buffer, which OpenCL does not check, ends the process.
 */
const scale = Kernel.make({
  name: "scale",
  itemwise: ["x"],
  args: [VectorArg("f32", "x"), ScalarArg("f32", "a")],
  body: {
    wgsl: "x[i] = a * x[i];",
    opencl: "x[i] = a * x[i];",
    host: (from, to, { a, x }) => {
      for (let i = from; i < to; i++) x[i] = a * x[i]!
    }
  }
})

const add = ElementwiseKernel.make({
  name: "add",
  args: [VectorArg("f32", "x", { access: "read" }), VectorArg("f32", "y", { access: "write" })],
  outputs: ({ x }) => ({ y: Expr.add(x, 1) })
})

/** A kernel that is written for workgroups, with a body for one item of each language. */
const reverse = GroupKernel.make({
  name: "reverse",
  args: [VectorArg("u32", "x"), LocalArg("u32", "part", 8, { atomic: true })],
  workgroupSize: [4, 2],
  itemwise: ["x"],
  body: {
    wgsl: "atomicStore(&part[local_index], x[global_id.x]); workgroupBarrier(); x[0] = atomicLoad(&part[0]);",
    opencl: "part[local_index] = 1; barrier(CLK_LOCAL_MEM_FENCE); if (global_id.x == 0) x[0] = part[0];",
    host: ({ items }, { part, x }) => {
      items(({ localIndex }) => {
        part[localIndex] = 1
      })
      x[0] = part[0]!
    }
  }
})

/** Sources of the program's own: one whose parameters fit its arguments, and one of which the library must find that they do not. */
const sourced = (parameters: string) =>
  SourceKernel.make({
    name: "sourced",
    args: [VectorArg("f32", "x"), ScalarArg("u64", "a"), LocalArg("f32", "part", 4)],
    workgroupSize: [2, 2],
    itemwise: ["x"],
    source: {
      wgsl: "@group(0) @binding(1) var<storage, read_write> x: array<f32>;\n" +
        "@compute @workgroup_size(2, 2) fn sourced() { x[0] = 1.0; }",
      opencl: `__kernel void sourced(${parameters}) { }`,
      host: () => {}
    }
  })

const workgroupKernels = [
  reverse,
  sourced("__global float *x, ulong a, __local float *part"),
  sourced("__global float *x, __global float *a, __local float *part"),
  sourced("ulong x, ulong a, __global float *part")
]

/** Sources nested so deeply that a recursive compiler would overflow its stack: the library must refuse them. */
const deep = (name: string, statement: string) =>
  Kernel.make({
    name,
    args: [VectorArg("f32", "x")],
    itemwise: ["x"],
    body: { wgsl: statement, opencl: statement, host: () => undefined }
  })

const parenthesised = (levels: number): string => `x[i] = ${"(".repeat(levels)}x[i]${")".repeat(levels)};`

const deepKernels = [
  deep("brackets", parenthesised(40)),
  deep("manyBrackets", parenthesised(20_000)),
  deep("terms", `x[i] = ${Array.from({ length: 600 }, () => "x[i]").join(" + ")};`),
  deep("conditions", `${"if (x[i] > 0) { ".repeat(50)}x[i] = 1;${" }".repeat(50)}`)
]

/** The values of a running program from which arguments are taken: live ones, ended ones, and ones of other devices. */
export class World {
  readonly thief = new Thief()
  readonly #values = new Map<string, Array<unknown>>()
  readonly #most = 24

  /** The key must be the file and the name that declare the values' type, or the values are not found. */
  put(key: string, ...values: ReadonlyArray<unknown>): void {
    const known = this.#values.get(key) ?? []
    if (!this.#values.has(key)) demandDeclared(key)
    this.#values.set(key, known)
    for (const value of values) {
      if (known.length < this.#most && !known.includes(value)) known.push(value)
    }
  }

  of(key: string): ReadonlyArray<unknown> {
    return this.#values.get(key) ?? []
  }

  /** The values that have an array over the library's memory. */
  get lent(): ReadonlyArray<unknown> {
    return [...this.of(keys.mapped), ...this.of(keys.staged)]
  }

  any(random: Random): unknown {
    return random.pick(random.pick([...this.#values.values()]))
  }
}

const demandDeclared = (key: string): void => {
  const [path = "", name = ""] = key.split("#")
  const found = declaring(moduleOf(join(root, path)), name)
  if (found?.module.key(found.name) !== key) throw new Error(`no source declares ${key}`)
}

const keys = {
  lease: "src/services/buffers/PooledBuffer.ts#PooledBuffer",
  buffer: "src/services/device/DeviceBuffer.ts#DeviceBuffer",
  image: "src/services/device/DeviceImage.ts#DeviceImage",
  pooledImage: "src/services/images/PooledImage.ts#PooledImage",
  sampler: "src/services/device/DeviceSampler.ts#DeviceSampler",
  array: "packages/arrays/src/array/ArrayValue.ts#DeviceArray",
  kernel: "src/domain/kernel/Kernel.ts#Kernel",
  mapped: "src/services/buffers/mapping/MappedArray.ts#MappedArray",
  staged: "src/services/staging/StagedArray.ts#StagedArray",
  event: "src/services/device/queues/EventOrder.ts#QueueEvent"
}

/** Everything that a program may have at hand, made on the device under test. */
export const populate = (scope: Scope.Scope) =>
  Effect.gen(function*() {
    const world = new World()
    const pool = yield* BufferPool.BufferPool
    world.put("src/services/buffers/BufferPool.ts#BufferPool", pool)
    world.put("src/services/buffers/BufferPool.ts#Pool", pool, yield* pool.budget(4 << 20))
    world.put("src/services/queue/CommandQueue.ts#CommandQueue", yield* CommandQueue.CommandQueue)
    world.put("src/services/images/Images.ts#Images", yield* Images.Images)
    const imagePool = yield* ImagePool.ImagePool
    world.put("src/services/images/ImagePool.ts#ImagePool", imagePool)
    world.put("src/services/device/KernelCache.ts#KernelCache", yield* KernelCache.KernelCache)
    world.put("src/services/buffers/Allocator.ts#Allocator", yield* Allocator.Allocator)
    world.put("src/services/buffers/allocators/FaultyAllocator.ts#Faults", FaultyAllocator.makeFaults())
    world.put(
      "src/services/buffers/allocators/StatisticsAllocator.ts#AllocatorStatistics",
      yield* StatisticsAllocator.AllocatorStatistics
    )
    world.put(
      "src/services/buffers/allocators/TrackingAllocator.ts#AllocationTracker",
      yield* TrackingAllocator.AllocationTracker
    )
    world.put("src/layers/Host/Faults.ts#Faults", new HostFaults())
    const pools = yield* BufferPools.BufferPools
    world.put("src/services/backend/several/OpenPools.ts#BufferPools", pools)
    world.put(keys.lease, yield* pools.on("0", BufferPool.allocate(64)), yield* pools.on("1", BufferPool.allocate(64)))
    const device = yield* DeviceContext
    world.put("src/domain/device/DeviceInfo.ts#DeviceInfo", device.info)
    yield* leases(world, pool)
    yield* staging(world, pool)
    yield* images(world)
    yield* arrays(world)
    world.put(
      keys.kernel,
      scale,
      add,
      Kernel.make({ name: "no", args: [], body: {} }),
      ...deepKernels,
      ...workgroupKernels
    )
    world.put("packages/arrays/src/kernels/ReductionKernel.ts#ReductionKernel", ...reductions())
    world.put("packages/arrays/src/kernels/ScanKernel.ts#ScanKernel", ...scans())
    world.put(keys.event, yield* CommandQueue.event)
    world.put("src/domain/GpuError.ts#GpuError", yield* Effect.flip(pool.setLimit({ maxBytes: -1 })))
    const host = yield* Effect.serviceOption(Host)
    if (host._tag === "Some") world.put("src/layers/Host/Host.ts#Host", host.value)
    yield* strangers(world, scope)
    return world
  })

const leases = (world: World, pool: BufferPool.Pool) =>
  Effect.gen(function*() {
    const live = yield* Effect.forEach([64, 4096, 7], (size) => pool.allocate(size, { label: `${size} bytes` }))
    const narrow = yield* pool.allocate(64, { usage: BufferUsage.copySrc })
    const uniform = yield* pool.allocate(256, { usage: BufferUsage.uniform | BufferUsage.copyDst })
    const empty = yield* pool.allocate(0)
    const ended = yield* Effect.scoped(pool.allocate(64))
    const released = yield* pool.allocate(64)
    yield* Lease.release(released)
    const charged = yield* Effect.flatMap(pool.budget(1 << 20), (budget) => budget.allocate(64))
    const mapped = yield* pool.allocate(256)
    const mapping = yield* Mapping.map(mapped, Float32Array)
    const unmapped = yield* Mapping.map(live[0]!, Float32Array)
    yield* Mapping.unmap(unmapped)
    const parent = yield* pool.allocate(4096)
    const region = yield* SubRegion.make(parent, { offset: 0, size: 1024 })
    const raw = yield* Allocator.allocate(128)
    const data = yield* MemoryObjects.fromHost(new Float32Array(16))
    world.put(keys.lease, ...live, narrow, uniform, empty, ended, released, charged, mapped, parent)
    world.put(keys.buffer, raw, data, region)
    world.put(keys.mapped, mapping, unmapped)
  })

/** Memory that the program maps in place. */
const staging = (world: World, pool: BufferPool.Pool) =>
  Effect.gen(function*() {
    world.put("src/services/staging/StagingPool.ts#StagingPool", yield* StagingPool.StagingPool)
    const { download, upload } = BufferUsage
    const each = { upload, download, both: BufferUsage.hostMemory | BufferUsage.copySrc | BufferUsage.copyDst } as const
    for (const direction of ["upload", "download", "both"] as const) {
      const usage = each[direction]
      const mapped = yield* Mapping.map(yield* pool.allocate(256, { usage }), Float32Array)
      const unmapped = yield* pool.allocate(64, { usage })
      world.put(keys.mapped, mapped)
      world.put(keys.lease, unmapped)
      world.put(keys.staged, yield* StagingPool.allocate([4, 4], Float32Array, { direction }))
      world.put(keys.staged, yield* Effect.scoped(StagingPool.allocate(4, Float32Array, { direction })))
    }
  })

const images = (world: World) =>
  Effect.gen(function*() {
    const shape = ImageShape.image2d(8, 4)
    const image = yield* Images.make(shape, ImageFormat.rgba8, { label: "image" })
    const writable = yield* Images.make(shape, ImageFormat.make("r", "float32"), {
      usage: ImageUsage.defaultUsage | ImageUsage.storage
    })
    const ended = yield* Effect.scoped(Images.make(shape, ImageFormat.rgba8))
    const pooled = yield* ImagePool.allocate(shape, ImageFormat.rgba8)
    const pooledEnded = yield* Effect.scoped(ImagePool.allocate(shape, ImageFormat.rgba8))
    world.put(keys.image, image, writable, ended)
    world.put(keys.pooledImage, pooled, pooledEnded)
    world.put(keys.sampler, yield* Images.sampler(), yield* Effect.scoped(Images.sampler()))
    world.put("src/domain/images/ImageShape.ts#ImageShape", shape, ImageShape.image1d(16), ImageShape.image3d(2, 2, 2))
    world.put("src/domain/images/ImageFormat.ts#ImageFormat", ImageFormat.rgba8, ImageFormat.make("r", "float32"))
  })

const arrays = (world: World) =>
  Effect.gen(function*() {
    const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
    const y = yield* DeviceArray.arange(6, { dtype: "i32" })
    const lone = yield* DeviceArray.fromHost(new Float32Array([1]))
    const ended = yield* Effect.scoped(DeviceArray.zeros([2, 3]))
    const pending = yield* DeviceArray.lazy(DeviceArray.add(x, 1))
    world.put(keys.array, x, y, lone, ended, pending)
  })

const reductions = () => [
  ReductionKernel.make({
    name: "total",
    args: [VectorArg("f32", "x", { access: "read" })],
    map: ({ x }) => x,
    combine: (a, b) => Expr.add(a, b),
    neutral: 0
  })
]

const scans = () => [
  ScanKernel.make({
    name: "running",
    args: [VectorArg("f32", "x", { access: "read" })],
    map: ({ x }) => x,
    combine: (a, b) => Expr.add(a, b),
    neutral: 0
  })
]

/** Leases and images of another device. */
const strangers = (world: World, scope: Scope.Scope) =>
  Effect.gen(function*() {
    const context = yield* Layer.buildWithScope(foreign, scope)
    const made = Effect.gen(function*() {
      world.put(keys.lease, yield* BufferPool.allocate(64, { label: "foreign" }))
      world.put(keys.pooledImage, yield* ImagePool.allocate(ImageShape.image2d(2, 2), ImageFormat.rgba8))
      world.put(keys.event, yield* CommandQueue.event)
      world.put(keys.array, yield* DeviceArray.zeros([4]))
    })
    yield* Effect.provideContext(made, Context.add(context, Scope.Scope, scope))
  })
