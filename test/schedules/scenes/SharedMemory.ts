/** Scenes of buffers and images on one memory. */
import * as Effect from "effect/Effect"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as ImageFormat from "../../../src/domain/images/ImageFormat.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Images from "../../../src/services/images/Images.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import type { Scene, Stage } from "../Stage.ts"
import { all, shape } from "./Images.ts"
import { job } from "./Waiting.ts"

/** The bytes of an image. */
const bytes = 32

const atOnce = { concurrency: "unbounded" } as const

/** A `use` with some work. */
const drawing = ({ images }: Stage, byte: number) => {
  if (images === undefined) return Expect.fail("a scene without images")
  return images.use(
    shape,
    ImageFormat.rgba8,
    (image) => Effect.andThen(Images.write(image, all(byte)), Effect.yieldNow)
  )
}

export const sharedMemory: ReadonlyArray<Scene> = [
  {
    name: "buffers and images wait for each other's memory",
    sharedBytes: 2 * bytes,
    run: (stage) => Effect.all([job(2 * bytes), drawing(stage, 1), job(bytes)], atOnce)
  },
  {
    name: "a buffer that is released early serves who waits for an image",
    sharedBytes: bytes,
    run: (stage) =>
      Effect.all([
        Effect.scoped(Effect.gen(function*() {
          const lease = yield* Effect.flatMap(BufferPool.allocate(bytes), stage.share)
          yield* Effect.yieldNow
          yield* Lease.release(lease)
        })),
        drawing(stage, 2)
      ], atOnce),
    // Left out, because it keeps the memory until the scene has ended, and the scene waits for that.
    without: ["the next owner"]
  },
  {
    name: "a budget of buffers beside images, on a slow device",
    sharedBytes: 2 * bytes,
    host: { latency: "1 millis" },
    run: (stage) =>
      Effect.all(
        [BufferPool.withBudget(Effect.all([job(bytes), job(bytes)], atOnce), bytes), drawing(stage, 3)],
        atOnce
      )
  }
]
