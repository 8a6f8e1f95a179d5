/** jax-js: arrays of 4 to 8 MiB, which shrink from step to step. */
import { defaultDevice, init, numpy } from "@jax-js/jax"
import type { Workload } from "./Workload.ts"

export const stepsOf = (count: number): Workload => async () => {
  await init("webgpu")
  defaultDevice("webgpu")
  const results: Array<ArrayBufferView> = []
  for (let step = 0; step < count; step++) {
    const length = (1 << 21) - step * 77_777
    const x = numpy.array(new Float32Array(length).fill(step + 1))
    const y = numpy.add(numpy.square(x.ref), x)
    results.push(await numpy.sum(y.ref).data())
    // Each takes its argument, which is freed then.
    results.push(await numpy.cumsum(y.slice([0, 1024])).data())
  }
  return results
}

export const workload = stepsOf(12)
