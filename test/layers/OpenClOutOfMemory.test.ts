import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import * as Waiters from "../../packages/testing/src/pool/Waiters.ts"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { describeWithPocl, pocl as platform } from "../support/required.ts"

const MiB = 2 ** 20

const setAddressSpace = (limit: number | "unlimited") => {
  execFileSync("prlimit", ["--pid", String(process.pid), `--as=${limit}:`])
}

const virtualBytes = () => 1024 * Number(/^VmSize:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))![1])

/** Limits this process, which is the test file's own, to so many more bytes from the system. */
const withRoomFor = (bytes: number) =>
  Effect.acquireRelease(
    Effect.sync(() => setAddressSpace(virtualBytes() + bytes)),
    () => Effect.sync(() => setAddressSpace("unlimited"))
  )

const device = OpenCl.layer({ platform })

interface Kind {
  readonly name: string
  readonly device: Layer.Layer<OpenCl.Services, GpuError>
  readonly pool: (options?: BufferPool.BufferPoolOptions) => Layer.Layer<
    BufferPool.BufferPool,
    GpuError,
    OpenCl.Services
  >
  readonly usage: BufferUsage.BufferUsage
}

/** Memory that PoCL takes from the system when it is asked for; otherwise the first touch would abort the process. */
const kinds: ReadonlyArray<Kind> = [
  {
    name: "the default of a device of type CPU",
    device,
    pool: BufferPool.layer,
    usage: BufferUsage.defaultUsage
  },
  {
    name: "BufferUsage.hostMemory, on a device that is told not to use it by itself",
    device: OpenCl.layer({ platform, hostMemory: false }),
    pool: BufferPool.layer,
    usage: BufferUsage.defaultUsage | BufferUsage.hostMemory
  },
  {
    name: "shared virtual memory of coarse grain",
    device,
    pool: Svm.layerPool,
    usage: BufferUsage.defaultUsage
  },
  {
    name: "shared virtual memory of fine grain",
    device,
    pool: (options) => Svm.layerPool({ ...options, grain: "fine" }),
    usage: BufferUsage.defaultUsage
  }
]

const untilExhausted = (usage: BufferUsage.BufferUsage) =>
  Effect.gen(function*() {
    const leases: Array<PooledBuffer.PooledBuffer> = []
    let exit = yield* Effect.exit(BufferPool.allocate(192 * MiB, { usage }))
    while (Exit.isSuccess(exit) && leases.length < 100) {
      leases.push(exit.value)
      exit = yield* Effect.exit(BufferPool.allocate(192 * MiB, { usage }))
    }
    assert.isAbove(leases.length, 1)
    assert.isBelow(leases.length, 6)
    return { leases, error: yield* Effect.flip(exit) }
  })

/** This process is limited while a test runs. A crash would fail the file. */
const exhaust = ({ device, pool, usage }: Kind) =>
  Effect.gen(function*() {
    yield* withRoomFor(1024 * MiB)
    const { error, leases } = yield* untilExhausted(usage)
    strictEqual(error.reason._tag, "OutOfMemory")
    assert.isTrue(error.isRetryable)
    yield* Lease.release(leases.pop()!)
    yield* CommandQueue.fill(yield* BufferPool.allocate(100 * MiB, { usage }), 1)
    yield* CommandQueue.finish
    const stats = yield* BufferPool.stats
    strictEqual(stats.activeBytes, leases.length * 192 * MiB + 100 * MiB)
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(pool(), device)))

/** A held block of another size takes the memory: the fallback evicts it after the driver's refusal. */
const climb = ({ device, pool, usage }: Kind) =>
  Effect.gen(function*() {
    yield* withRoomFor(1024 * MiB)
    const { leases } = yield* untilExhausted(usage)
    for (const lease of leases.splice(0)) yield* Lease.release(lease)
    const held = (yield* BufferPool.stats).heldBlocks
    const large = yield* BufferPool.allocate(500 * MiB, { usage })
    yield* CommandQueue.fill(large, 7)
    deepStrictEqual([...(yield* CommandQueue.read(large, Uint32Array, { length: 2 }))], [7, 7])
    assert.isBelow((yield* BufferPool.stats).heldBlocks, held)
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(pool(), device)))

/** A request that the system cannot serve now waits, and is served when a lease ends. */
const wait = ({ device, pool, usage }: Kind) =>
  Effect.gen(function*() {
    yield* withRoomFor(1024 * MiB)
    const { leases } = yield* untilExhausted(usage)
    const waiting = yield* Waiters.fork(BufferPool.allocate(192 * MiB, { usage, onExhausted: "wait" }))
    yield* Waiters.untilWaiting(1)
    yield* Lease.release(leases.pop()!)
    const served = yield* Fiber.join(waiting)
    yield* CommandQueue.fill(served, 3)
    deepStrictEqual([...(yield* CommandQueue.read(served, Uint32Array, { length: 2 }))], [3, 3])
    strictEqual((yield* BufferPool.stats).waiters, 0)
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(pool(), device)))

/** Data of the program that is to be copied needs memory as well, and is refused when the buffer is made. */
const exhaustByCopies = Effect.gen(function*() {
  const data = new Uint8Array(192 * MiB).fill(9)
  yield* withRoomFor(1024 * MiB)
  const { leases } = yield* untilExhausted(BufferUsage.defaultUsage)
  const error = yield* Effect.flip(MemoryObjects.fromHost(data))
  strictEqual(error.reason._tag, "OutOfMemory")
  yield* Lease.release(leases.pop()!)
  yield* BufferPool.freeHeld
  const copy = yield* MemoryObjects.fromHost(data)
  deepStrictEqual([...(yield* CommandQueue.read(copy, Uint8Array, { length: 4, offset: 100 * MiB }))], [9, 9, 9, 9])
}).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(BufferPool.layer(), device)))

/** 192 MiB. */
const largePicture = Images.make(ImageShape.image2d(8192, 6144), ImageFormat.rgba8)

/**
 * Images are allocated at once too: one that does not fit is refused when it is made, and fits when another is freed.
 */
const exhaustImages = Effect.gen(function*() {
  yield* withRoomFor(1024 * MiB)
  const last = yield* Scope.make()
  let made = 0
  let exit = yield* Effect.exit(Scope.provide(largePicture, last))
  while (Exit.isSuccess(exit) && made < 100) {
    made += 1
    exit = yield* Effect.exit(largePicture)
  }
  assert.isAbove(made, 1)
  assert.isBelow(made, 6)
  strictEqual((yield* Effect.flip(exit)).reason._tag, "OutOfMemory")
  yield* Scope.close(last, Exit.void)
  const image = yield* Images.make(ImageShape.image2d(1024, 1024), ImageFormat.rgba8)
  yield* Images.fill(image, 1)
  deepStrictEqual([...(yield* Images.read(image, Uint8Array, { extent: [1] }))], [255, 255, 255, 255])
}).pipe(Effect.scoped, Effect.provide(device))

// Only here can a process limit its own memory.
if (process.platform === "linux") {
  describeWithPocl([], "Real exhaustion on PoCL", () => {
    it.live.each(kinds)("of $name ends as OutOfMemory, and passes when a lease is released", exhaust)

    it.live("of buffers made from the program's data ends as OutOfMemory, and passes when memory is back", () =>
      exhaustByCopies)

    it.live("of images ends as OutOfMemory, and passes when an image is gone", () => exhaustImages)

    it.live.each(kinds)("of $name makes the pool evict what it holds", climb)

    it.live.each(kinds)("of $name lets a request wait until a lease is released", wait)
  })
}
