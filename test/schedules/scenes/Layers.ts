/** Scenes of layers that are built and closed by the scene itself. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import type { DriverObjects } from "../../../src/domain/device/DriverObjects.ts"
import { Host } from "../../../src/host.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../../src/services/images/ImagePool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene, Stage } from "../Stage.ts"

/** A device of the scene's own, which is lost together with the stage's. */
const host = (stage: Stage, options?: Host.HostOptions) => Layer.fresh(Host.layer({ ...options, faults: stage.faults }))

const work = BufferPool.use(64, (lease) => CommandQueue.fill(lease, 7))

/** Checks that no driver object is left, however the work ends. */
const watched = <E, R>(program: (watch: Effect.Effect<void, never, DeviceContext>) => Effect.Effect<unknown, E, R>) =>
  Effect.suspend(() => {
    let objects: DriverObjects | undefined
    const watch = DeviceContext.useSync(({ driverObjects }) => {
      objects = driverObjects
    })
    return Effect.ensuring(
      program(watch),
      Effect.sync(() => Expect.equal("driver objects of closed layers", objects?.live ?? 0, 0))
    )
  })

export const layers: ReadonlyArray<Scene> = [
  {
    name: "a device and a pool are built, used and closed",
    run: (stage) =>
      watched((watch) =>
        Effect.andThen(watch, work).pipe(
          Effect.provide(Layer.provideMerge(BufferPool.layer(), host(stage)))
        )
      )
  },
  {
    name: "two pools on one device",
    run: (stage) =>
      watched((watch) =>
        Effect.all([
          Effect.provide(work, Layer.fresh(BufferPool.layer())),
          Effect.provide(Effect.andThen(watch, work), Layer.fresh(BufferPool.layer()))
        ], { concurrency: "unbounded" }).pipe(Effect.provide(host(stage, { latency: "1 millis" })))
      )
  },
  {
    name: "a pool of images is built and closed",
    run: (stage) =>
      watched((watch) =>
        Effect.andThen(watch, ImagePool.stats).pipe(
          Effect.provide(Layer.provideMerge(ImagePool.layer(), host(stage)))
        )
      )
  },
  {
    name: "a device that does not open",
    run: (stage) =>
      Effect.suspend(() => {
        stage.faults.failOpenings({ nth: 1 })
        return Effect.provide(work, Layer.provideMerge(BufferPool.layer(), host(stage)))
      }),
    mayFail: ["DeviceUnavailable"]
  }
]
