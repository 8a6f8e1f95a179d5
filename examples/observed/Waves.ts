/** The work of the service: a wave is computed on the device, in memory of the pool, and read back. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { Effect } from "effect"
import { BufferPool, CommandQueue, KernelArgument } from "effect-gpu-pool"

export interface Wave {
  readonly samples: number
  /** Whole periods in all samples together. */
  readonly periods: number
}

const fill = ElementwiseKernel.make({
  name: "fill_wave",
  args: [KernelArgument.VectorArg("f32", "wave"), KernelArgument.ScalarArg("f32", "step")],
  outputs: ({ step }) => ({ wave: Expr.sin(Expr.multiply(Expr.astype(Expr.index, "f32"), step)) })
})

/** The samples of a wave. Its memory goes back to the pool when the request ends. */
export const compute = Effect.fn("Waves.compute")(function*({ periods, samples }: Wave) {
  const step = 2 * Math.PI * periods / samples
  return yield* BufferPool.use(
    4 * samples,
    (wave) =>
      Effect.andThen(
        CommandQueue.dispatch(fill, { wave, step }, samples),
        CommandQueue.read(wave, Float32Array)
      ),
    { label: "wave" }
  )
})

/** The root of the mean square: 0.707 for whole periods. */
export const loudness = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)
