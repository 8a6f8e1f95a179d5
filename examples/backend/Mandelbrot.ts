/** Work that threads can share: how long each point of a picture stays in the Mandelbrot set. */
import { Duration, Effect } from "effect"
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"

/** The body uses only its arguments: it runs in threads that have nothing else of this program. */
const mandelbrot = Kernel.make({
  name: "mandelbrot",
  args: [
    KernelArgument.VectorArg("u32", "steps", { access: "write" }),
    KernelArgument.ScalarArg("u32", "size"),
    KernelArgument.ScalarArg("u32", "most")
  ],
  body: {
    host: (from, to, { most, size, steps }) => {
      for (let i = from; i < to; i++) {
        const [x, y] = [3 * (i % size) / size - 2.25, 3 * Math.floor(i / size) / size - 1.5]
        let [re, im, step] = [0, 0, 0]
        while (step < most && re * re + im * im < 4) {
          const next = re * re - im * im + x
          im = 2 * re * im + y
          re = next
          step++
        }
        steps[i] = step
      }
    }
  },
  itemwise: ["steps"]
})

export interface Options {
  /** Points in a row, and rows. */
  readonly size: number
  /** The most steps of a point. */
  readonly most: number
  /** How often it is computed; the fastest time counts. */
  readonly rounds: number
}

/** The steps of each point, and how long they took. */
export const measure = Effect.fnUntraced(function*({ most, rounds, size }: Options) {
  const steps = yield* BufferPool.allocate(4 * size ** 2)
  const compute = Effect.andThen(
    CommandQueue.dispatch(mandelbrot, { steps, size, most }, size ** 2),
    CommandQueue.finish
  )
  // The first run includes compiling the kernel, also by JavaScript's engine.
  yield* compute
  const times = yield* Effect.replicateEffect(Effect.timed(compute), rounds)
  const millis = Math.min(...times.map(([duration]) => Duration.toMillis(duration)))
  return { millis, steps: yield* CommandQueue.read(steps, Uint32Array) }
}, Effect.scoped)
