/** What disturbs the fibers of the chaos: limits that change, held memory that is freed, handlers. */
import { Effect } from "effect"
import { BufferPool, DeviceMemory, type GpuError, StagingPool } from "effect-gpu-pool"
import { ImagePool } from "effect-gpu-pool/images"
import * as Random from "../Random.ts"
import type { Watch } from "../soak/Watch.ts"
import { limitBytes, type Services } from "./World.ts"

type Deed = (next: () => number) => Effect.Effect<unknown, GpuError.GpuError, Services>

const deeds: Readonly<Record<string, Deed>> = {
  setLimit: (next) =>
    Effect.ensuring(
      Effect.andThen(DeviceMemory.setLimit(Random.integer(next, limitBytes / 2, limitBytes)), Effect.sleep(3)),
      Effect.ignore(DeviceMemory.setLimit(limitBytes))
    ),
  freeHeld: () => DeviceMemory.freeHeld,
  trimTo: (next) => DeviceMemory.trimTo(Random.integer(next, 0, limitBytes)),
  trimImages: () => ImagePool.trimTo(0),
  freeStaging: () => StagingPool.freeHeld,
  stopHolding: () => Effect.ensuring(Effect.andThen(BufferPool.stopHolding, Effect.sleep(2)), BufferPool.resumeHolding),
  handler: (next) => {
    const frees = next() < 0.5
    return Effect.scoped(Effect.andThen(
      BufferPool.onOutOfMemory(() => Effect.as(Effect.yieldNow, frees)),
      Effect.sleep(Random.integer(next, 1, 10))
    ))
  }
}

/** One disturbance after the other, until interrupted. */
export const meddle = (watch: Watch, next: () => number): Effect.Effect<never, never, Services> =>
  Effect.forever(Effect.suspend(() => {
    const name = Random.pick(next, Object.keys(deeds))
    return Effect.andThen(watch.settle(name, deeds[name]!(next)), Effect.sleep(Random.integer(next, 1, 20)))
  }))
