/** Scenes of reading: the reader gets its own data, or the lease has ended. */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import * as Effect from "effect/Effect"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as ImageFormat from "../../../src/domain/images/ImageFormat.ts"
import { Host } from "../../../src/host.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../../src/services/buffers/SubRegion.ts"
import * as ImagePool from "../../../src/services/images/ImagePool.ts"
import * as Images from "../../../src/services/images/Images.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene, Stage } from "../Stage.ts"
import { sum } from "./Arrays.ts"
import { all, shape } from "./Images.ts"

const own = 0x0a

const filled = (stage: Stage) =>
  Effect.gen(function*() {
    const lease = yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
    yield* CommandQueue.fill(lease, own)
    return lease
  })

const expectOwn = (found: Uint32Array) =>
  Expect.numbers("what was read", found, new Uint32Array(found.length).fill(own))

/** The compiler's library is older than this. */
const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

const expectTen = (found: Float32Array) => Expect.numbers("the result", found, new Float32Array(4).fill(10))

export const reading: ReadonlyArray<Scene> = [
  {
    name: "a buffer is read",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        expectOwn(yield* CommandQueue.read(lease, Uint32Array))
      })
  },
  {
    name: "a buffer is read slowly",
    host: { latency: "1 millis" },
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        expectOwn(yield* CommandQueue.read(lease, Uint32Array, { offset: 32 }))
      })
  },
  {
    name: "a cleared buffer is read",
    pool: { clear: "acquire" },
    run: (stage) =>
      Effect.gen(function*() {
        yield* BufferPool.use(64, (lease) => CommandQueue.fill(lease, 9))
        const lease = yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
        Expect.numbers("cleared", yield* CommandQueue.read(lease, Uint32Array), new Uint32Array(16))
      })
  },
  {
    name: "a buffer is read into memory of the program",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        const found = new Uint32Array(16)
        yield* CommandQueue.readInto(lease, found)
        expectOwn(found)
      })
  },
  {
    name: "a rectangle is read",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        expectOwn(yield* CommandQueue.readRect(lease, Uint32Array, { region: [8, 2], buffer: { rowPitch: 32 } }))
      })
  },
  {
    name: "a part of a buffer is read",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        const part = yield* SubRegion.make(lease, { offset: 32 })
        expectOwn(yield* CommandQueue.read(part, Uint32Array))
      })
  },
  {
    name: "two fibers read one buffer",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        const read = Effect.map(CommandQueue.read(lease, Uint32Array), expectOwn)
        yield* Effect.all([read, read], { concurrency: "unbounded" })
      })
  },
  {
    name: "the host's memory is looked at in place",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* filled(stage)
        yield* CommandQueue.finish
        const bytes = yield* Host.bytes(lease)
        // A view ends with its lease.
        if (bytes.byteLength === 0) return
        expectOwn(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4))
      })
  },
  {
    name: "the host's memory is taken away and kept",
    run: (stage) =>
      Effect.gen(function*() {
        const kept = yield* Effect.scoped(Effect.gen(function*() {
          const lease = yield* filled(stage)
          // The commands need the memory until then.
          yield* CommandQueue.finish
          const { buffer } = yield* Host.bytes(lease)
          return buffer.byteLength === 0 ? undefined : new Uint32Array(transfer.call(buffer))
        }))
        const next = yield* filled(stage)
        kept?.fill(9)
        expectOwn(yield* CommandQueue.read(next, Uint32Array))
      })
  },
  {
    name: "an image is read",
    run: () =>
      Effect.gen(function*() {
        const image = yield* Images.make(shape, ImageFormat.rgba8)
        yield* Images.write(image, all(3))
        Expect.numbers("read", yield* Images.read(image, Uint8Array), all(3))
      })
  },
  {
    name: "a pooled image is read while it is released",
    run: () =>
      Effect.gen(function*() {
        const pool = yield* ImagePool.make()
        const image = yield* pool.allocate(shape, ImageFormat.rgba8)
        yield* Images.write(image, all(3))
        const read = Effect.matchEffect(Images.read(image, Uint8Array), {
          onSuccess: (found) => Effect.sync(() => Expect.numbers("read", found, all(3))),
          onFailure: (error) => error.reason._tag === "Released" ? Effect.void : Effect.fail(error)
        })
        const next = Effect.andThen(
          Lease.release(image),
          Effect.scoped(Effect.flatMap(pool.allocate(shape, ImageFormat.rgba8), (other) => Images.write(other, all(9))))
        )
        yield* Effect.all([read, next], { concurrency: "unbounded" })
      })
  },
  {
    name: "an array comes back to the host",
    run: (stage) =>
      Effect.gen(function*() {
        const result = yield* DeviceArray.scoped(sum)
        if (result.lease !== undefined) yield* stage.share(result.lease)
        expectTen(yield* DeviceArray.toHost(result))
      })
  },
  {
    name: "a recorded array comes back to the host",
    run: () => Effect.scoped(Effect.map(Effect.flatMap(DeviceArray.lazy(sum), DeviceArray.toHost), expectTen))
  }
]
