/**
 * Leases that end at any step of an operation on them: the operation uses its owner's bytes or fails with Released, and
 * never reaches the bytes of the next owner.
 *
 * @internal
 */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, CommandQueue, Mapping, SubRegion } from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, ImageLike, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import type { PooledImage } from "effect-gpu-pool/PooledImage"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, expectInvariants, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { onAnyDevice } from "../images/AnyDevice.ts"
import { actAt, actWhileItWaits } from "../StoppedFiber.ts"

const test = inGroup("ended leases")

const size = 1024
const ownByte = 0x11
/** The byte that a late write stores. */
export const lateByte = 0x22
const othersByte = 0x33

const nothing = new Uint8Array(0)

const all = (byte: number, length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length).fill(byte)

/** How the tests lease, write and read one kind of memory, one owner after the other. */
export interface Tenancy<Lease> {
  /** Its name in messages. */
  readonly what: string
  readonly allocate: Effect.Effect<Lease, GpuError, TestServices>
  /** The driver object of the block, which may serve the next owner. */
  readonly blockOf: (lease: Lease) => unknown
  /** Frees all held blocks. */
  readonly freeHeld: Effect.Effect<void, GpuError, TestServices>
  readonly stats: Effect.Effect<PoolStats, never, TestServices>
  readonly write: (lease: Lease, byte: number) => Effect.Effect<void, GpuError, TestServices>
  readonly read: (lease: Lease) => Effect.Effect<Uint8Array, GpuError, TestServices>
}

/** How the lease ends: the pool gives its block to the next owner, or frees it, and the driver may reuse the memory. */
const endings = ["recycled", "freed"] as const

type Ending = (typeof endings)[number]

/** A program that works on a lease full of its owner's bytes. Its result must contain no other bytes. */
export type LateWork<Lease, R = never> = (lease: Lease) => Effect.Effect<Uint8Array, unknown, R | TestServices>

/** Runs between two steps of the work: its lease ends, and the next owner writes. */
const nextOwner = <Lease>(tenancy: Tenancy<Lease>, ending: Ending, scope: Scope.Closeable, block: unknown) =>
  Effect.gen(function*() {
    const before = yield* tenancy.stats
    yield* Scope.close(scope, Exit.void)
    // In a slab the lease may have had neighbours: then it is not freed, and the next owner gets its bytes or others.
    const isAlone = (yield* tenancy.stats).fragmentedBytes === 0
    if (ending === "freed") {
      yield* tenancy.freeHeld
      Expect.isTrue("its block is freed", !isAlone || (yield* tenancy.stats).driverFrees > before.driverFrees)
    }
    const next = yield* tenancy.allocate
    // A freed block may reach the next owner too: the driver may reuse its memory, and an allocator may return it
    // again.
    if (ending === "recycled" && isAlone) {
      Expect.equal("the pool gives its held block to the next owner", tenancy.blockOf(next) === block, true)
    }
    yield* tenancy.write(next, othersByte)
    yield* CommandQueue.finish
    return next
  })

/** Checks that the work got its owner's bytes, no bytes of a view that ended with its lease, or Released. */
const expectOwn = (what: string, exit: Exit.Exit<Uint8Array, unknown>): "bytes" | "released" => {
  if (Exit.isSuccess(exit)) {
    Expect.numbers(what, exit.value, all(ownByte, exit.value.length))
    return "bytes"
  }
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Fail") Expect.fail(`${what}: ${reason.toString()}`)
    else Expect.reasonOf(what, reason.error, "Released")
  }
  return "released"
}

/** Runs `work`, and `act` on another fiber at some step of it. The result is `undefined` if `act` did not run. */
type Run<R> = (
  work: Effect.Effect<Uint8Array, unknown, R | TestServices>,
  act: Effect.Effect<void, unknown, TestServices>
) => Effect.Effect<Exit.Exit<Uint8Array, unknown> | undefined, unknown, R | TestServices>

/** Ends the lease where `run` says, and checks the result of the work and the bytes of the next owner. */
const trial = <Lease, R>(
  what: string,
  tenancy: Tenancy<Lease>,
  ending: Ending,
  work: LateWork<Lease, R>,
  run: Run<R>
): Effect.Effect<"bytes" | "released" | undefined, unknown, R | TestServices> =>
  Effect.scoped(Effect.gen(function*() {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const tenants = yield* Effect.scope
    const lease = yield* Scope.provide(tenancy.allocate, scope)
    yield* tenancy.write(lease, ownByte)
    let next: Lease | undefined
    const end = Effect.map(nextOwner(tenancy, ending, scope, tenancy.blockOf(lease)), (owner) => {
      next = owner
    })
    const exit = yield* run(Effect.scoped(work(lease)), Scope.provide(end, tenants))
    if (next === undefined || exit === undefined) return undefined
    const outcome = expectOwn(what, exit)
    const found = yield* tenancy.read(next)
    Expect.numbers(`${what}: the next owner's bytes`, found, all(othersByte, found.length))
    return outcome
  }))

/** More steps than any of these programs takes. */
const mostSteps = 2000

/** Ends the lease before each step of the work, up to its last, and while it waits for the device. */
export const endedAnywhere = <Lease, R>(
  tenancy: Tenancy<Lease>,
  work: LateWork<Lease, R>
): Effect.Effect<void, unknown, R | TestServices> =>
  Effect.gen(function*() {
    for (const ending of endings) {
      const outcomes = new Set<string | undefined>()
      for (let step = 0, isInside = true; isInside; step++) {
        const what = `the ${tenancy.what}'s lease is ${ending} before step ${step}`
        const outcome = yield* trial(what, tenancy, ending, work, (work, act) => actAt(work, step, act))
        isInside = outcome !== undefined
        if (isInside) outcomes.add(outcome)
        Expect.isTrue("the work ends", step < mostSteps)
      }
      yield* trial(
        `the ${tenancy.what}'s lease is ${ending} while the work waits`,
        tenancy,
        ending,
        work,
        actWhileItWaits
      )
      // Any other outcomes mean that the lease never ended before the work began, or never after it.
      Expect.same(`outcomes where it is ${ending}`, [...outcomes].sort(), ["bytes", "released"])
    }
    expectInvariants(yield* BufferPool.stats)
  })

export const buffers: Tenancy<PooledBuffer> = {
  what: "buffer",
  allocate: BufferPool.allocate(size),
  blockOf: BufferLike.deviceBuffer,
  freeHeld: BufferPool.freeHeld,
  stats: BufferPool.stats,
  write: (lease, byte) => CommandQueue.write(lease, all(byte, size)),
  read: (lease) => CommandQueue.read(lease, Uint8Array)
}

/** Reads elements one by one, because methods of an array that ended with its lease throw. */
const copyOf = (data: Uint8Array): Uint8Array => Uint8Array.from({ length: data.length }, (_, at) => data[at]!)

const overwrite = (data: Uint8Array): void => {
  for (let at = 0; at < data.length; at++) data[at] = lateByte
}

/** The second half of a lease, or the first half if the device's alignment of sub-regions is too large. */
const halfOf = (lease: PooledBuffer) =>
  Effect.flatMap(DeviceContext, ({ info }) => {
    const half = size / 2
    return SubRegion.make(lease, { offset: half % info.limits.regionAlignment === 0 ? half : 0, size: half })
  })

const rows = { region: [16, 8], buffer: { rowPitch: 64 } } as const

const reads: Readonly<Record<string, LateWork<PooledBuffer>>> = {
  "a read": (lease) => CommandQueue.read(lease, Uint8Array),
  "a read into an array": (lease) => {
    const target = new Uint8Array(size)
    return Effect.as(CommandQueue.readInto(lease, target), target)
  },
  "a rectangular read": (lease) => CommandQueue.readRect(lease, Uint8Array, rows),
  "a rectangular read of rows far apart": (lease) =>
    CommandQueue.readRect(lease, Uint8Array, { region: [4, 4], buffer: { rowPitch: 256 } }),
  "a rectangular read into an array": (lease) => {
    const target = new Uint8Array(128)
    return Effect.as(CommandQueue.readRectInto(lease, target, rows), target)
  },
  "a read of a region": (lease) =>
    Effect.scoped(Effect.flatMap(halfOf(lease), (region) => CommandQueue.read(region, Uint8Array))),
  "a rectangular read of a region": (lease) =>
    Effect.scoped(Effect.flatMap(halfOf(lease), (region) => CommandQueue.readRect(region, Uint8Array, rows))),
  "a mapping to read": (lease) =>
    Effect.scoped(Effect.map(Mapping.map(lease, Uint8Array, { access: "read" }), ({ data }) => copyOf(data))),
  "a mapping of a region": (lease) =>
    Effect.scoped(Effect.map(
      Effect.flatMap(halfOf(lease), (region) => Mapping.map(region, Uint8Array)),
      ({ data }) => copyOf(data)
    )),
  "an array that is read": (lease) =>
    Effect.gen(function*() {
      const array = yield* DeviceArray.fromLease(lease, { dtype: "u32" })
      return new Uint8Array((yield* DeviceArray.toHost(array)).buffer)
    }),
  "an array that a kernel copies": (lease) =>
    Effect.gen(function*() {
      const array = yield* DeviceArray.fromLease(lease, { dtype: "u32", shape: [16, 16] })
      return new Uint8Array((yield* DeviceArray.toHost(yield* DeviceArray.transpose(array))).buffer)
    })
}

const late = all(lateByte, size)

const writes: Readonly<Record<string, LateWork<PooledBuffer>>> = {
  "a write": (lease) => Effect.as(CommandQueue.write(lease, late), nothing),
  "a fill": (lease) => Effect.as(CommandQueue.fill(lease, 0x22222222), nothing),
  "a rectangular write": (lease) => Effect.as(CommandQueue.writeRect(lease, late.subarray(0, 128), rows), nothing),
  "a copy": (lease) =>
    BufferPool.use(2 * size, (other) =>
      Effect.gen(function*() {
        yield* CommandQueue.fill(other, 0x22222222)
        yield* CommandQueue.copy(other, lease, { size })
        return nothing
      })),
  "a copy out of it": (lease) =>
    BufferPool.use(2 * size, (other) =>
      Effect.gen(function*() {
        yield* CommandQueue.copy(lease, other)
        return yield* CommandQueue.read(other, Uint8Array, { length: size })
      })),
  "a kernel": (y) => Effect.as(CommandQueue.dispatch(Kernels.iota, { y, start: 7 }, size / 4), nothing),
  "a mapping to write": (lease) =>
    Effect.as(
      Effect.scoped(
        Effect.map(Mapping.map(lease, Uint8Array, { access: "write" }), ({ data }) => overwrite(data))
      ),
      nothing
    ),
  "a mapping to read and write": (lease) =>
    Effect.scoped(Effect.map(Mapping.map(lease, Uint8Array), ({ data }) => {
      const found = copyOf(data)
      overwrite(data)
      return found
    }))
}

const shape = ImageShape.image2d(8, 4)
const bytes = 8 * 4 * 4
const usage = ImageUsage.copySrc | ImageUsage.copyDst

const images = (pool: ImagePool.Pool): Tenancy<PooledImage> => ({
  what: "image",
  allocate: pool.allocate(shape, ImageFormat.rgba8, { usage }),
  blockOf: ImageLike.deviceImage,
  freeHeld: pool.freeHeld,
  stats: pool.stats,
  write: (image, byte) => Images.write(image, all(byte, bytes)),
  read: (image) => Images.read(image, Uint8Array)
})

const imageWorks: Readonly<Record<string, LateWork<PooledImage>>> = {
  "a read of an image": (image) => Images.read(image, Uint8Array),
  "a read of an image into an array": (image) => {
    const target = new Uint8Array(bytes)
    return Effect.as(Images.readInto(image, target), target)
  },
  "a mapping of an image": (image) =>
    Effect.map(
      Images.map(image, { access: "read" }),
      ({ data }) => copyOf(data as Uint8Array)
    ),
  "a mapping of an image to write": (image) =>
    Effect.map(Images.map(image, { access: "write" }), ({ data }) => {
      overwrite(data as Uint8Array)
      return nothing
    }),
  "a write of an image": (image) => Effect.as(Images.write(image, all(lateByte, bytes)), nothing),
  "a copy of an image to a buffer": (image) =>
    BufferPool.use(
      bytes,
      (buffer) => Effect.andThen(Images.toBuffer(image, buffer), CommandQueue.read(buffer, Uint8Array))
    ),
  "a copy of a buffer to an image": (image) =>
    BufferPool.use(bytes, (buffer) =>
      Effect.gen(function*() {
        yield* CommandQueue.write(buffer, all(lateByte, bytes))
        yield* Images.fromBuffer(buffer, image)
        return nothing
      }))
}

export const tests: ReadonlyArray<ConformanceTest> = [
  ...Object.entries({ ...reads, ...writes }).map(([name, work]) =>
    test(`${name} never reaches the next owner's bytes, whenever its lease ends`, endedAnywhere(buffers, work))
  ),
  ...onAnyDevice(
    Object.entries(imageWorks).map(([name, work]) =>
      test(
        `${name} never reaches the next owner's elements, whenever its lease ends`,
        Effect.scoped(Effect.flatMap(ImagePool.make({}), (pool) => endedAnywhere(images(pool), work)))
      )
    )
  )
]
