/**
 * Heat that spreads over a plate, a picture for each frame. The device is lost in the middle, and the animation goes on: the
 * program keeps the last picture itself, and a fresh device begins with it.
 */
import { Console, Effect, Layer, Schedule } from "effect"
import { BufferPool, CommandQueue, Kernel, KernelArgument, Reconnecting } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"

/** All that a device has, as one layer: it is built anew after a loss. */
export class Gpu extends Reconnecting.Service<Gpu>()("render/Gpu", {
  layer: BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())),
  schedule: Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 5 })),
  onLost: (error, generation) => Console.log(`device ${generation} is gone: ${error.message}`)
}) {}

export interface AnimationOptions {
  /** Points in a row, and rows. */
  readonly size: number
  readonly frames: number
  /** The frame in which the program destroys its own device; none without it. */
  readonly loseAt?: number | undefined
}

export interface Animation {
  readonly picture: Float32Array
  readonly frames: number
  /** How many devices were used. */
  readonly devices: number
}

const step = Kernel.make({
  name: "spread",
  args: [
    KernelArgument.VectorArg("f32", "heat", { access: "read" }),
    KernelArgument.VectorArg("f32", "next", { access: "write" }),
    KernelArgument.ScalarArg("u32", "size")
  ],
  body: {
    wgsl: `
      let row = i / size;
      let column = i % size;
      let up = heat[select(i - size, i, row == 0u)];
      let down = heat[select(i + size, i, row == size - 1u)];
      let left = heat[select(i - 1u, i, column == 0u)];
      let right = heat[select(i + 1u, i, column == size - 1u)];
      next[i] = heat[i] + 0.2 * (up + down + left + right - 4.0 * heat[i]);
    `
  }
})

/** A hot square in the middle. */
const firstPicture = (size: number): Float32Array =>
  Float32Array.from({ length: size * size }, (_, i) => {
    const isInside = (place: number) => Math.abs(place - (size - 1) / 2) < size / 4
    return isInside(Math.floor(i / size)) && isInside(i % size) ? 1 : 0
  })

/** What a driver may do at any time, and a browser to a page in the background. */
const loseDevice = WebGpu.WebGpu.useSync(({ device }) => device.destroy())

export const animate = Effect.fn("Heat.animate")(function*({ frames, loseAt, size }: AnimationOptions) {
  // The program's own copy, which survives a loss.
  let picture = firstPicture(size)
  let frame = 0
  let isToLose = loseAt !== undefined
  const onOneDevice = Effect.gen(function*() {
    let heat = yield* BufferPool.allocate(picture.byteLength, { label: "heat" })
    let next = yield* BufferPool.allocate(picture.byteLength, { label: "next heat" })
    yield* CommandQueue.write(heat, picture)
    while (frame < frames) {
      yield* CommandQueue.dispatch(step, { heat, next, size }, size * size)
      if (isToLose && frame === loseAt) {
        isToLose = false
        yield* loseDevice
      }
      picture = yield* CommandQueue.read(next, Float32Array)
      frame += 1
      const last = heat
      heat = next
      next = last
    }
  }).pipe(Effect.scoped)
  yield* Gpu.provide(onOneDevice).pipe(Effect.retry({ while: Reconnecting.isDeviceLost, times: 3 }))
  const animation: Animation = { picture, frames: frame, devices: yield* Gpu.generation }
  return animation
})
