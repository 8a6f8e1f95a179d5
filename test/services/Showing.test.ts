/**
 * How values of the library are formatted when a program prints them.
 */
import { DeviceArray, ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import {
  BufferPool,
  CommandQueue,
  DeviceContext,
  GpuError,
  Kernel,
  KernelArgument,
  Lease,
  Mapping,
  PoolStats,
  SubRegion
} from "effect-gpu-pool"
import { type Device, KernelCache } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool/images"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { inspect } from "node:util"
import { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import { describeWith } from "../support/required.ts"

const read = { access: "read" } as const
const x = KernelArgument.VectorArg("f32", "x", read)
const halving = ElementwiseKernel.make({
  name: "halving",
  args: [x, KernelArgument.VectorArg("f32", "y", { access: "write" }), KernelArgument.ScalarArg("f32", "by")],
  outputs: ({ by, x }) => ({ y: Expr.divide(x, by) })
})
const combined = { args: [x], combine: Expr.add, neutral: 0 } as const

/** One value of each kind that a program can have, on any device. */
const everything = Effect.gen(function*() {
  const lease = yield* BufferPool.allocate(1000, { label: "x" })
  const region = yield* SubRegion.make(lease, { offset: 512, size: 8 })
  const pool = yield* BufferPool.BufferPool
  const device = yield* DeviceContext.DeviceContext
  const shape = ImageShape.image2d(4, 2)
  yield* CommandQueue.write(lease, new Float32Array(250).fill(7))
  return {
    lease,
    region,
    pool,
    device,
    empty: yield* BufferPool.allocate(0),
    budget: yield* pool.budget("1 MiB", { label: "tenant" }),
    mapped: yield* Mapping.map(region, Float32Array),
    array: yield* DeviceArray.fromHost(Float32Array.of(7, 8)),
    image: yield* Images.make(shape, ImageFormat.rgba8, { label: "picture" }),
    pooledImage: yield* ImagePool.allocate(shape, ImageFormat.rgba8),
    sampler: yield* Images.sampler({ filter: "linear" }),
    event: yield* CommandQueue.event,
    kernel: halving,
    reduction: ReductionKernel.make({ name: "sum", map: ({ x }) => x, ...combined }),
    scan: ScanKernel.make({ name: "sums", map: ({ x }) => x, ...combined }),
    expression: Expr.add(Expr.index, 1),
    status: device.status,
    driverObjects: device.driverObjects,
    queue: yield* CommandQueue.CommandQueue,
    images: yield* Images.Images,
    imagePool: yield* ImagePool.ImagePool,
    cache: yield* KernelCache.KernelCache
  }
})

type Things = Effect.Success<typeof everything>

/** Checks that all ways of printing give the same line, at any depth, for live and ended values. */
const isShownByItsLine = (things: Things): void => {
  for (const [name, thing] of Object.entries(things)) {
    const line = String(thing)
    assert.match(line, /^[A-Z]\w+\([^\n]+\)$/, name)
    strictEqual(inspect(thing), line)
    strictEqual(inspect(thing, { depth: -1, showHidden: true }), line)
    strictEqual(
      inspect([{ deep: { deeper: { deepest: thing } } }], { depth: 9, breakLength: Infinity, compact: 9 }),
      `[ { deep: { deeper: { deepest: ${line} } } } ]`
    )
    strictEqual(JSON.stringify({ thing: [thing] }), JSON.stringify({ thing: [line] }))
  }
}

const pools = Layer.merge(BufferPool.layer(), ImagePool.layer())

/** Runs the checks while everything is live, and again when it has ended. */
const looks = (device: Layer.Layer<Device.Services, GpuError.GpuError>, look: (things: Things) => void) =>
  Effect.gen(function*() {
    const things = yield* everything.pipe(
      Effect.tap((things) => Effect.sync(() => look(things))),
      Effect.scoped,
      Effect.provide(pools.pipe(Layer.provideMerge(device)))
    )
    look(things)
  })

const linesOf = (things: Things) =>
  Object.fromEntries(Object.entries(things).map(([name, thing]) => [name, String(thing)]))

describe("what a program holds", () => {
  it.effect("says what it is and how it stands, alive and afterwards", () =>
    Effect.gen(function*() {
      const seen: Array<Record<string, string>> = []
      yield* looks(Host.layer(), (things) => seen.push(linesOf(things)))
      const on = "on host process memory"
      const usage = "storage | copySrc | copyDst"
      const imageUsage = "sampled | copySrc | copyDst"
      deepStrictEqual(seen, [
        {
          lease: `PooledBuffer("x", 1000 of 1024 B, ${usage}, live ${on})`,
          region: `SubRegion("x[512:520]", 8 B from byte 512 of 1024 B, ${usage}, live ${on})`,
          pool: `BufferPool(active 2 (1008 B), held 0 (0 B), managed 1032 B, hits 0 of 2, no byte limit, alive ${on})`,
          device: `DeviceContext(alive ${on}, 7 driver objects live)`,
          empty: `PooledBuffer(0 of 0 B, ${usage}, live ${on})`,
          budget:
            `Budget("tenant", active 0 (0 B), held 0 (0 B), managed 0 B, hits 0 of 0, budget 1048576 B, alive ${on})`,
          mapped: `MappedArray("x[512:520]", f32 [2], mapped)`,
          array: "DeviceArray(f32 [2])",
          image: `DeviceImage("picture", 2d 4 x 2 of rgba unorm8, 32 B, ${imageUsage}, live ${on})`,
          pooledImage: `PooledImage(2d 4 x 2 of rgba unorm8, 32 B, ${imageUsage}, live ${on})`,
          sampler: `DeviceSampler(linear, clampToEdge, coordinates from 0 to 1, live ${on})`,
          event: "QueueEvent(position 1, done)",
          kernel: `Kernel("halving", read f32 x[], write f32 y[], f32 by)`,
          reduction: `ReductionKernel("sum", read f32 x[])`,
          scan: `ScanKernel("sums", read f32 x[])`,
          expression: "Expr(u32 add, depth 2)",
          status: "DeviceStatus(host, alive)",
          driverObjects: "DriverObjects(7 live of 7 created, device 1, buffer 2, region 1, image 2, sampler 1)",
          queue: `CommandQueue(alive ${on})`,
          images: `Images(alive ${on})`,
          imagePool: `ImagePool(active 1 (32 B), held 0 (0 B), managed 32 B, hits 0 of 1, no byte limit, alive ${on})`,
          cache: `KernelCache(0 of 256 kernels, 0 hits, 0 misses, 0 evictions, alive ${on})`
        },
        {
          ...seen[0],
          lease: `PooledBuffer("x", 1000 of 1024 B, ${usage}, released: its scope closed)`,
          region: `SubRegion("x[512:520]", 8 B from byte 512 of 1024 B, ${usage}, released: its scope closed)`,
          pool: "BufferPool(active 0 (0 B), held 0 (0 B), managed 0 B, hits 0 of 2, no byte limit, closed)",
          device: `DeviceContext(lost ${on}, 0 driver objects live)`,
          empty: `PooledBuffer(0 of 0 B, ${usage}, released: its scope closed)`,
          budget: `Budget("tenant", active 0 (0 B), held 0 (0 B), managed 0 B, hits 0 of 0, budget 1048576 B, closed)`,
          mapped: `MappedArray("x[512:520]", f32 [2], released: its scope closed)`,
          array: "DeviceArray(f32 [2], released: its scope closed)",
          image: `DeviceImage("picture", 2d 4 x 2 of rgba unorm8, 32 B, ${imageUsage}, released)`,
          pooledImage: `PooledImage(2d 4 x 2 of rgba unorm8, 32 B, ${imageUsage}, released: its scope closed)`,
          sampler: "DeviceSampler(linear, clampToEdge, coordinates from 0 to 1, released)",
          status: "DeviceStatus(host, lost)",
          driverObjects: "DriverObjects(0 live of 7 created)",
          queue: `CommandQueue(lost ${on})`,
          images: `Images(lost ${on})`,
          imagePool: "ImagePool(active 0 (0 B), held 0 (0 B), managed 0 B, hits 0 of 1, no byte limit, closed)",
          cache: `KernelCache(0 of 256 kernels, 0 hits, 0 misses, 0 evictions, lost ${on})`
        }
      ])
    }))

  it.effect("says of images and samplers what is peculiar to them", () =>
    Effect.gen(function*() {
      const shape = ImageShape.image2d(4, 2)
      const usage = "sampled | copySrc | copyDst"
      const live = "live on host process memory"
      const lease = yield* BufferPool.allocate(16, { label: "x" })
      const image = yield* Images.make(shape, ImageFormat.rgba8, { label: "picture" })
      const mapped = yield* Images.map(image, Uint8Array, { origin: [1, 1], extent: [2] })
      const over = yield* Images.overBuffer(lease, ImageFormat.rgba8)
      const used = yield* Images.fromHost(new Uint8Array(32), shape, ImageFormat.rgba8, { mode: "use" })
      const levels = yield* Images.sampler({ mipFilter: "linear", lodMin: 1, lodMax: 4 })
      const place = "2 x 1 x 1 elements at [1, 1, 0], rows 8 B and slices 8 B apart"
      strictEqual(String(mapped), `MappedImage("picture", u8 [1, 2, 4], ${place}, mapped)`)
      strictEqual(String(over), `DeviceImage("x", 1dBuffer 4 of rgba unorm8, 16 B, ${usage}, over a buffer, ${live})`)
      strictEqual(
        String(used),
        `DeviceImage(2d 4 x 2 of rgba unorm8, 32 B, ${usage}, in the program's memory, ${live})`
      )
      strictEqual(
        String(levels),
        `DeviceSampler(nearest, clampToEdge, coordinates from 0 to 1, mip filter linear, levels 1 to 4, ${live})`
      )
      yield* Mapping.unmap(mapped)
      strictEqual(String(mapped), `MappedImage("picture", u8 [1, 2, 4], ${place}, released)`)
      yield* Lease.release(lease)
      strictEqual(
        String(over),
        `DeviceImage("x", 1dBuffer 4 of rgba unorm8, 16 B, ${usage}, over a buffer, released: the memory under it ended)`
      )
    }).pipe(Effect.scoped, Effect.provide(pools.pipe(Layer.provideMerge(Host.layer())))))

  it.effect("is its line wherever it is printed, and nothing of what is in it", () =>
    looks(Host.layer(), isShownByItsLine))

  it.effect("differs between a lease that was released and one whose pool closed", () =>
    Effect.gen(function*() {
      const [released, left] = yield* Effect.gen(function*() {
        const scope = yield* Effect.scope
        return yield* Effect.gen(function*() {
          const released = yield* BufferPool.allocate(4)
          const left = yield* BufferPool.allocate(4)
          yield* Lease.release(released)
          yield* Lease.transfer(left, scope)
          return [released, left]
        }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()))
      }).pipe(Effect.scoped, Effect.provide(Host.layer()))
      const usage = "storage | copySrc | copyDst"
      strictEqual(JSON.stringify(released), JSON.stringify(`PooledBuffer(4 of 4 B, ${usage}, released)`))
      strictEqual(JSON.stringify(left), JSON.stringify(`PooledBuffer(4 of 4 B, ${usage}, released: its pool closed)`))
    }))

  it.effect("keeps a label on its line", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4, { label: `two\n"lines"` })
      assert.include(String(lease), `PooledBuffer("two\\n"lines"", 4 of 4 B`)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))

  it.effect("is a message of Effect's loggers", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const logger = Logger.map(Logger.formatStructured, ({ message }) => {
        lines.push(message)
      })
      const line = yield* BufferPool.use(4, (lease) => Effect.as(Effect.log(lease), String(lease))).pipe(
        Effect.provide(BufferPool.layer()),
        Effect.provide(Host.layer()),
        Effect.provide(Logger.layer([logger]))
      )
      deepStrictEqual(lines, [line])
    }))

  it.effect("says what is reserved for a reservation, and that it has ended", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const reserved = yield* pool.reserve(1000, (reserved) => {
        assert.match(
          String(reserved),
          /^Reservation\("job", active 0 .*, 1000 B of the reservation left, maxBytes 4096 B, alive/
        )
        return Effect.succeed(reserved)
      }, { label: "job" })
      assert.match(String(reserved), /^Reservation\("job", .*, its effect has ended\)$/)
    }).pipe(Effect.provide(BufferPool.layer({ maxBytes: 4096 })), Effect.provide(Host.layer())))

  it.effect("leaves the members of a service and the fields of a kernel as they are", () =>
    Effect.gen(function*() {
      const { kernel, pool } = yield* everything.pipe(
        Effect.scoped,
        Effect.provide(pools.pipe(Layer.provideMerge(Host.layer())))
      )
      const copy = { ...pool }
      deepStrictEqual(Object.keys(copy).filter((name) => /JSON|toString/.test(name)), [])
      deepStrictEqual({ ...kernel }, kernel)
      deepStrictEqual(Object.getOwnPropertySymbols(copy), [])
    }))

  it.effect("names services, which have no class, for a browser's console", () =>
    looks(Host.layer(), ({ budget, cache, device, imagePool, images, pool, queue }) => {
      deepStrictEqual(
        [budget, cache, device, imagePool, images, pool, queue].map((service) =>
          Object.prototype.toString.call(service)
        ),
        ["BufferPool", "KernelCache", "DeviceContext", "ImagePool", "Images", "BufferPool", "CommandQueue"]
          .map((kind) => `[object ${kind}]`)
      )
    }))

  it("says of a kernel what is wrong with it", () => {
    const wrong = Kernel.make({
      name: "wrong",
      args: [],
      body: {},
      problem: GpuError.invalidRequest("make", "no body", "Write one.")
    })
    strictEqual(String(wrong), `Kernel("wrong", wrong: make: no body. Write one.)`)
  })

  it("does not throw for what is no instance", () => {
    assert.match(String(Object.create(PooledBuffer.prototype)), /^PooledBuffer\(undefined of undefined B/)
  })
})

describe("an error", () => {
  const error = GpuError.outOfMemory(4096)

  it("is shown with its message and where it was made", () => {
    const [first, second] = inspect(error).split("\n")
    strictEqual(first, `GpuError: ${error.message}`)
    assert.match(second!, /^    at /)
    strictEqual(
      inspect(Object.defineProperty(GpuError.outOfMemory(1), "stack", { value: undefined })),
      `GpuError: ${GpuError.outOfMemory(1).message}`
    )
  })

  it("is data with its message in JSON", () => {
    const { _tag, message, reason } = JSON.parse(JSON.stringify(error))
    deepStrictEqual([_tag, message, reason._tag, reason.requested], ["GpuError", error.message, "OutOfMemory", 4096])
  })
})

describe("the counters of a pool", () => {
  it.effect("are data, and have a wait queue of their own", () =>
    Effect.gen(function*() {
      const stats = yield* Effect.andThen(BufferPool.use(100, () => Effect.void), BufferPool.stats)
      strictEqual(PoolStats.format(stats), "active 0 (0 B), held 1 (100 B), managed 100 B, hits 0 of 1")
      strictEqual(PoolStats.format({ ...stats, waiters: 2 }), `${PoolStats.format(stats)}, 2 waiting`)
      deepStrictEqual(JSON.parse(JSON.stringify(stats)), { ...stats })
    }).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))
})

describeWith(["opencl"], "what a program holds of OpenCL", () => {
  it.effect("never shows a driver's handle", () =>
    Effect.gen(function*() {
      const texts: Array<string> = []
      const services = yield* Effect.gen(function*() {
        const cl = yield* OpenCl.OpenCl
        const { device, image, lease, region } = yield* everything
        const compiled = yield* KernelCache.get(halving)
        const raw = [cl.context, cl.queue, yield* OpenCl.handle(lease), yield* OpenCl.handle(region)]
        const all = { cl, device, image, lease, region, compiled, queue: yield* CommandQueue.CommandQueue }
        texts.push(inspect(all, { depth: 20 }), JSON.stringify(all))
        for (const handle of raw) for (const text of texts) assert.notInclude(text, String(handle))
        return yield* Effect.context<OpenCl.Services>()
      }).pipe(Effect.scoped, Effect.provide(pools.pipe(Layer.provideMerge(OpenCl.layer()))))
      assert.match(texts[0]!, /CompiledKernel\("halving", read f32 x\[\], write f32 y\[\], f32 by, live\)/)
      assert.match(String(Context.get(services, OpenCl.OpenCl)), /^OpenCl\(lost on opencl /)
    }))

  it.effect("is its line wherever it is printed", () => looks(OpenCl.layer(), isShownByItsLine))

  it("shows an address as text", () => {
    strictEqual(JSON.stringify(new Svm.SvmPointer(0xabcn, 4)), `"SvmPointer(0xabc, 4 B)"`)
  })
})

describeWith(["webgpu"], "what a program holds of WebGPU", () => {
  it.effect("is its line wherever it is printed", () => looks(WebGpu.layer(), isShownByItsLine))

  it.effect("shows no object of the driver", () =>
    Effect.gen(function*() {
      const gpu = yield* WebGpu.WebGpu
      const lease = yield* BufferPool.allocate(64)
      yield* WebGpu.handle(lease)
      assert.match(
        inspect({ gpu, lease }, { depth: 9, breakLength: Infinity }),
        /^\{ gpu: WebGpu\(alive on webgpu .*\), lease: Pooled/
      )
    }).pipe(Effect.scoped, Effect.provide(pools.pipe(Layer.provideMerge(WebGpu.layer())))))
})
