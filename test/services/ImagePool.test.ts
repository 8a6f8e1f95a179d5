import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { ImageDriver } from "../../src/services/device/ImageDriver.ts"
import * as ImageLike from "../../src/services/images/ImageLike.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import { logsTo, reasonOf, tagOf } from "../support/hostPool.ts"
import { hold, isConsistent, onPool, open, r8, row } from "../support/imagePool.ts"

const square = ImageShape.image2d(4, 4)

describe("hits", () => {
  it.effect("reuse an image of the same shape, format and usage, the last one first", () =>
    onPool({}, ({ events, pool }) =>
      Effect.gen(function*() {
        const [one, other] = yield* Effect.scoped(
          Effect.all([pool.allocate(square, ImageFormat.rgba8), pool.allocate(square, ImageFormat.rgba8)]).pipe(
            Effect.map((leases) => leases.map(ImageLike.deviceImage))
          )
        )
        deepStrictEqual(events(), ["create 64", "create 64"])
        // Leases end the last one first.
        const again = yield* pool.allocate({ ...square }, { ...ImageFormat.rgba8 })
        strictEqual(ImageLike.deviceImage(again), one)
        strictEqual(ImageLike.deviceImage(yield* pool.allocate(square, ImageFormat.rgba8)), other)
        deepStrictEqual(events(), [])
        const { activeBytes, hits, misses } = yield* pool.stats
        deepStrictEqual([hits, misses, activeBytes], [2, 2, 128])
      })))

  it.effect("never hand out another shape, format, kind or usage, however many bytes it has", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        yield* Effect.scoped(pool.allocate(square, ImageFormat.rgba8))
        const others = [
          pool.allocate(ImageShape.image2d(8, 2), ImageFormat.rgba8),
          pool.allocate(square, ImageFormat.make("bgra", "unorm8")),
          pool.allocate(square, ImageFormat.make("rgba", "uint8")),
          pool.allocate(ImageShape.image2dArray(4, 4, 1), ImageFormat.rgba8),
          pool.allocate(ImageShape.image3d(4, 4, 1), ImageFormat.rgba8),
          pool.allocate(square, ImageFormat.rgba8, { usage: ImageUsage.copySrc | ImageUsage.copyDst })
        ]
        for (const other of others) yield* other
        const { heldBlocks, hits, misses } = yield* pool.stats
        deepStrictEqual([hits, misses, heldBlocks], [0, 7, 1])
      })))

  it.effect("are one step: nothing else runs between the request and the lease", () =>
    onPool({}, (opened) =>
      Effect.gen(function*() {
        yield* hold(opened, [64])
        const lease = Effect.runSync(Effect.scoped(opened.pool.allocate(row(64), r8)))
        strictEqual(Lease.isLive(lease), false)
        strictEqual(Effect.runSync(opened.pool.use(row(64), r8, (image) => Effect.succeed(image.size))), 64)
      })))

  it.effect(
    "serve a hundred thousand leases from one image, and leave nothing in the scope",
    () =>
      onPool({}, ({ live, pool }) =>
        Effect.gen(function*() {
          for (let turn = 0; turn < 50_000; turn++) {
            yield* Lease.release(yield* pool.allocate(square, ImageFormat.rgba8))
            yield* Effect.scoped(pool.allocate(square, ImageFormat.rgba8))
          }
          const { activeBlocks, heldBlocks, hits, misses } = yield* pool.stats
          deepStrictEqual([hits, misses, heldBlocks, activeBlocks, live.size], [99_999, 1, 1, 0, 1])
        })),
    60_000
  )
})

describe("a lease", () => {
  it.effect("says what it is, and equals itself alone", () =>
    onPool({ pool: { label: "scratch" } }, ({ pool }) =>
      Effect.gen(function*() {
        const one = yield* pool.allocate(square, ImageFormat.rgba8, { label: "a" })
        const other = yield* pool.allocate(square, ImageFormat.rgba8)
        deepStrictEqual(
          [one.size, one.label, other.label, one.shape.width, one.format.order],
          [64, "a", "scratch", 4, "rgba"]
        )
        deepStrictEqual([Equal.equals(one, one), Equal.equals(one, other)], [true, false])
        strictEqual(
          String(one),
          `PooledImage("a", 2d 4 x 4 of rgba unorm8, 64 B, sampled | copySrc | copyDst, live on host process memory)`
        )
        yield* Lease.release(one)
        strictEqual(
          String(one),
          `PooledImage("a", 2d 4 x 4 of rgba unorm8, 64 B, sampled | copySrc | copyDst, released)`
        )
      })))

  it.effect("is taken by every operation of images", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const image = yield* pool.allocate(row(4), r8)
        yield* Images.write(image, Uint8Array.of(1, 2, 3, 4))
        yield* Images.copy(image, image, { targetOrigin: [2], extent: [2] })
        deepStrictEqual(Array.from(yield* Images.read(image)), [1, 2, 1, 2])
        yield* Effect.scoped(Effect.map(Images.map(image), (mapped) => mapped.data.fill(9)))
        deepStrictEqual(Array.from(yield* Images.read(image)), [9, 9, 9, 9])
      })))

  it.effect("answers Released once it has ended, and no more owns the image", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const early = yield* pool.allocate(square, ImageFormat.rgba8, { label: "early" })
        yield* Lease.release(early)
        const next = yield* pool.allocate(square, ImageFormat.rgba8)
        const late = yield* Effect.scoped(pool.allocate(row(9), r8))
        const uses: ReadonlyArray<Effect.Effect<unknown, GpuError, Images.Images | Scope.Scope>> = [
          Images.read(early),
          Images.fill(early, 0),
          Images.copy(next, early),
          Images.map(early),
          Lease.release(early),
          Effect.flatMap(Effect.scope, (scope) => Lease.transfer(early, scope)),
          Images.read(late)
        ]
        for (const use of uses) strictEqual(yield* tagOf(use), "Released")
        assert.include(
          (yield* reasonOf(Images.read(early))).message,
          `the image "early" of 64 bytes was released before`
        )
        assert.include((yield* reasonOf(Images.read(late))).message, "scope that is closed")
        yield* Images.fill(next, 0)
      })))

  it.effect("ends its mappings first: the next owner does not see them written", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const first = yield* pool.allocate(row(4), r8)
        const mapped = yield* Images.map(first)
        mapped.data.fill(7)
        yield* Lease.release(first)
        strictEqual(mapped.data.length, 0)
        const next = yield* pool.allocate(row(4), r8)
        yield* Images.fill(next, 1)
        deepStrictEqual(Array.from(yield* Images.read(next)), [1, 1, 1, 1])
      })))

  it.effect("moves to another scope, and into a closed one it is released", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const [outer, closed] = [yield* Scope.make(), yield* Scope.make()]
        yield* Scope.close(closed, Exit.void)
        const kept = yield* Effect.scoped(
          Effect.tap(pool.allocate(square, r8), (image) => Lease.transfer(image, outer))
        )
        strictEqual(Lease.isLive(kept), true)
        const lent = yield* pool.use(square, r8, (image) => Effect.as(Lease.transfer(image, outer), image))
        strictEqual(Lease.isLive(lent), true)
        yield* Scope.close(outer, Exit.void)
        deepStrictEqual([Lease.isLive(kept), Lease.isLive(lent)], [false, false])
        const lost = yield* pool.allocate(square, r8)
        strictEqual(yield* tagOf(Lease.transfer(lost, closed)), "Released")
        strictEqual(Lease.isLive(lost), false)
        strictEqual(yield* tagOf(Scope.provide(pool.allocate(square, r8), closed)), "Released")
        strictEqual((yield* pool.stats).activeBlocks, 0)
      })))

  it.effect("is not recycled once a command on it has failed", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const image = yield* pool.allocate(square, r8)
        ImageLike.deviceImage(image).recyclable = false
        yield* Lease.release(image)
        const { heldBlocks, managedBlocks } = yield* pool.stats
        deepStrictEqual([heldBlocks, managedBlocks], [0, 0])
      })))

  it.effect("of another device is foreign", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const mine = yield* pool.allocate(square, r8)
        const reason = yield* reasonOf(Effect.provide(Images.read(mine), Layer.fresh(Host.layer())))
        strictEqual(reason._tag, "ForeignDevice")
        assert.include(reason.message, "the image belongs to")
      })))
})

describe("requests", () => {
  it.effect("that are ill-formed or impossible fail before anybody is asked", () =>
    onPool({ pool: { maxBytes: 1000 }, host: { capacityBytes: 4096 } }, ({ events, pool }) =>
      Effect.gen(function*() {
        const tags: Array<string> = []
        const bad: ReadonlyArray<Effect.Effect<unknown, GpuError, Scope.Scope>> = [
          pool.allocate(ImageShape.image2d(0, 4), r8),
          pool.allocate(ImageShape.image2d(4, 1.5), r8),
          pool.allocate(square, ImageFormat.make("rgb", "uint8")),
          pool.allocate(square, r8, { usage: 0 }),
          pool.allocate(ImageShape.image1d(1_000_000), r8),
          pool.allocate(ImageShape.image2d(1001, 1), r8),
          pool.use(ImageShape.image2d(100, 100), r8, () => Effect.void)
        ]
        for (const effect of bad) tags.push(yield* tagOf(effect))
        deepStrictEqual(tags, [
          ...Array.from({ length: 4 }, () => "InvalidRequest"),
          ...Array.from({ length: 3 }, () => "LimitExceeded")
        ])
        deepStrictEqual(events(), [])
        strictEqual((yield* pool.stats).pendingBytes, 0)
      })))

  it.effect("for a pool with options that make no sense never get one", () =>
    Effect.gen(function*() {
      const options = [
        { clear: JSON.parse(`"always"`) },
        { maxBytes: -1 },
        { maxBytes: 5, maxFraction: 0.5 },
        { maxHeldBytes: "much" },
        JSON.parse("null")
      ]
      for (const given of options) strictEqual(yield* tagOf(open({ pool: given })), "InvalidRequest")
      const shares = onPool({ pool: { maxFraction: 0.5 }, host: { capacityBytes: 1000 } }, () =>
        Effect.flatMap(ImagePool.maxBytes, (limit) => Effect.sync(() => strictEqual(limit, 500))))
      yield* shares
    }))

  it.effect("may say how an image is used; a pool that clears adds what it needs for itself", () =>
    onPool({ pool: { clear: "acquire" } }, ({ pool }) =>
      Effect.gen(function*() {
        const image = yield* pool.allocate(row(4), r8, { usage: ImageUsage.copySrc })
        deepStrictEqual(Array.from(yield* Images.read(image)), [0, 0, 0, 0])
        strictEqual(yield* tagOf(Images.write(image, Uint8Array.of(1, 1, 1, 1))), "InvalidRequest")
        strictEqual(ImageLike.deviceImage(image).usage, ImageUsage.copySrc | ImageUsage.copyDst)
        for (const usage of [0, 1.5, NaN, 2 ** 32 + 1]) {
          strictEqual(yield* tagOf(pool.allocate(row(4), r8, { usage })), "InvalidRequest")
        }
      })))

  it.effect("are released although the program transferred the memory of a mapping", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        const [image, left] = [yield* pool.allocate(row(4), r8), yield* pool.allocate(row(4), r8)]
        for (const lease of [image, left]) {
          const { data } = yield* Images.map(lease)
          structuredClone(data.buffer, { transfer: [data.buffer] })
        }
        yield* Lease.release(image)
        const { activeBlocks, heldBlocks, releaseFailures } = yield* pool.stats
        deepStrictEqual([activeBlocks, heldBlocks, releaseFailures], [1, 1, 1])
      })))
})

describe("clear", () => {
  it.effect("fills what was left, in queue order, before the next owner sees it", () =>
    onPool({ pool: { clear: "acquire" } }, ({ pool }) =>
      Effect.gen(function*() {
        const contents = Effect.scoped(Effect.gen(function*() {
          const image = yield* pool.allocate(square, ImageFormat.rgba8)
          const before = yield* Images.read(image)
          yield* Images.fill(image, 1)
          return before
        }))
        for (const data of [yield* contents, yield* contents]) {
          assert.isTrue(Array.from(data).every((byte) => byte === 0))
        }
        strictEqual((yield* pool.stats).hits, 1)
      })))

  it.effect("is not asked for by default: recycled images are handed out as they are", () =>
    onPool({}, ({ pool }) =>
      Effect.gen(function*() {
        yield* pool.use(row(2), r8, (image) => Images.fill(image, 5))
        const data = yield* pool.use(row(2), r8, (image) => Images.read(image))
        deepStrictEqual(Array.from(data), [5, 5])
      })))

  it.effect("that fails fails the request, and the image is not held", () =>
    onPool({ pool: { clear: "acquire" } }, ({ faults, pool }) =>
      Effect.gen(function*() {
        yield* pool.use(row(2), r8, () => Effect.void)
        faults.lose("unplugged")
        strictEqual(yield* tagOf(pool.use(row(2), r8, () => Effect.void)), "DeviceLost")
        strictEqual((yield* pool.stats).managedBlocks, 0)
      })))
})

describe("held images", () => {
  it.effect("that the driver does not take back are counted and logged, and the scope closes all the same", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      yield* onPool({}, (opened) =>
        Effect.gen(function*() {
          const driver = yield* ImageDriver
          const error = yield* Effect.flip(Effect.scoped(opened.pool.allocate(square, r8, { usage: 0 })))
          yield* Effect.scoped(Effect.gen(function*() {
            const image = yield* opened.pool.allocate(square, r8)
            const mapped = yield* Images.map(image)
            mapped.data.fill(1)
            Object.assign(driver, { writeUnsafe: () => Exit.fail(error) })
            yield* Lease.release(image)
          }))
          strictEqual((yield* opened.pool.stats).releaseFailures, 1)
        })).pipe(Effect.provide(logsTo(lines)))
      strictEqual(lines.length, 1)
      assert.include(lines[0], "A block of the ImagePool could not be freed")
    }))
})

describe("closing", () => {
  it.effect("a pool ends its leases, and their scopes find nothing to do", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      const image = yield* Scope.provide(opened.pool.allocate(square, r8), scope)
      yield* hold(opened, [9])
      yield* opened.closePool
      strictEqual(opened.driverObjects.live, 1)
      const reason = yield* reasonOf(Effect.provide(Images.read(image), opened.context))
      assert.include(reason.message, "pool that is closed")
      strictEqual(yield* tagOf(Effect.scoped(opened.pool.allocate(square, r8))), "Released")
      strictEqual(yield* tagOf(opened.pool.use(square, r8, () => Effect.void)), "Released")
      yield* Scope.close(scope, Exit.void)
      yield* opened.pool.resumeHolding
      isConsistent(yield* opened.pool.stats, opened)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("of the pool comes first in the errors of requests, whatever became of its device", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      opened.faults.lose()
      yield* opened.closePool
      const reason = yield* reasonOf(Effect.scoped(opened.pool.allocate(row(8), r8, { label: "late" })))
      assert(reason._tag === "Released", reason._tag)
      deepStrictEqual([reason.why, reason.size, reason.label], ["poolClosed", 8, "late"])
      strictEqual(yield* tagOf(Effect.scoped(opened.pool.allocate(row(-1), r8))), "InvalidRequest")
      yield* opened.closeHost
    }))

  it.effect("the device first is a loss: leases fail, and everything can still be closed", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      const image = yield* Scope.provide(opened.pool.allocate(square, r8), scope)
      yield* hold(opened, [9])
      yield* opened.closeHost
      strictEqual(yield* tagOf(Effect.provide(Images.read(image), opened.context)), "DeviceLost")
      strictEqual(yield* tagOf(Scope.provide(opened.pool.allocate(square, r8), scope)), "DeviceLost")
      yield* Scope.close(scope, Exit.void)
      yield* opened.closePool
      strictEqual((yield* opened.pool.stats).managedBlocks, 0)
      strictEqual(opened.driverObjects.live, 0)
    }))
})

describe("a lost device", () => {
  it.effect("drops what is held, fails what is asked for and what is under way, and keeps nothing more", () =>
    onPool({ slow: true }, (opened) =>
      Effect.gen(function*() {
        const { faults, pool } = opened
        yield* hold(opened, [10, 20])
        const image = yield* pool.allocate(row(30), r8)
        const waiting = yield* Effect.forkChild(tagOf(Effect.scoped(pool.allocate(row(40), r8))), {
          startImmediately: true
        })
        faults.lose("unplugged")
        strictEqual((yield* pool.stats).heldBlocks, 0)
        strictEqual(yield* Fiber.join(waiting), "DeviceLost")
        strictEqual(yield* tagOf(pool.allocate(row(10), r8)), "DeviceLost")
        strictEqual(yield* tagOf(Images.read(image)), "DeviceLost")
        yield* Lease.release(image)
        yield* pool.resumeHolding
        const { heldBlocks, managedBlocks, pendingBytes } = yield* pool.stats
        deepStrictEqual([heldBlocks, managedBlocks, pendingBytes], [0, 0, 0])
      })))
})

it.effect("programs get the pool from a layer, beside or without a buffer pool", () =>
  Effect.gen(function*() {
    const first = yield* ImagePool.allocate(square, r8)
    const second = yield* ImagePool.allocate(square, r8)
    assert.notStrictEqual(ImageLike.deviceImage(first), ImageLike.deviceImage(second))
    const lent = yield* ImagePool.use(row(3), r8, (image) => Effect.succeed(image.size))
    const holders = yield* ImagePool.holders(1)
    deepStrictEqual([lent, holders], [3, [{ label: undefined, size: 16, capacity: 16, age: 1 }]])
    yield* ImagePool.stopHolding
    yield* ImagePool.resumeHolding
    yield* ImagePool.trimTo("1 KiB")
    yield* ImagePool.freeHeld
    strictEqual((yield* ImagePool.stats).managedBytes, 32)
    strictEqual(yield* ImagePool.maxBytes, Infinity)
  }).pipe(Effect.scoped, Effect.provide(ImagePool.layer()), Effect.provide(Host.layer())))

const layerWith = (strategy: PoolStrategy.PoolStrategy) =>
  ImagePool.layer({ strategy }).pipe(Layer.provideMerge(Host.layer()))

describe("a strategy that splits memory", () => {
  it.effect("is refused by a pool of images, whose images cannot be split", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layerWith(PoolStrategy.arena()))))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "the strategy splits memory, and images cannot be split")
      yield* Effect.scoped(Layer.build(layerWith(PoolStrategy.blocks)))
    }))

  it.effect("of a memory that the pool shares is for the buffers there", () =>
    Effect.gen(function*() {
      yield* ImagePool.allocate(square, ImageFormat.rgba8)
      for (const bytes of [100, 200, 300]) yield* BufferPool.allocate(bytes)
      const { driverAllocations } = yield* DeviceMemory.stats
      strictEqual(driverAllocations, 2)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.merge(ImagePool.layerShared(), BufferPool.layerShared()).pipe(
          Layer.provideMerge(DeviceMemory.layer({ strategy: PoolStrategy.arena() })),
          Layer.provideMerge(Host.layer())
        )
      )
    ))
})
