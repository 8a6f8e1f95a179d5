/**
 * Scenes on devices of their own: intruders that act on the stage's pool do not affect them, and they must leave no
 * driver object.
 */
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import type { Scene, Stage } from "./Stage.ts"

/** Intruders that act on the stage's pool. */
const ofTheStage: ReadonlyArray<string> = [
  "a release",
  "the next owner",
  "a transfer",
  "a change of the limit",
  "an end of holding",
  "the pool's end",
  "the layers' end",
  "the device's end"
]

/** Makes a scene: `make` gets the faults of the stage's device, and `check` throws if something is left at the end. */
export const onOwnDevices = <Services, Own extends { readonly layer: Layer.Layer<Services, GpuError> }>(
  name: string,
  make: (faults: Stage["faults"]) => Own,
  run: (own: Own) => Effect.Effect<unknown, GpuError, Services | Scope.Scope>,
  check: (own: Own) => void,
  without: ReadonlyArray<string> = []
): Scene => ({
  name,
  without: [...without, ...ofTheStage],
  run: ({ faults }) =>
    Effect.suspend(() => {
      const own = make(faults)
      return Effect.scoped(run(own)).pipe(
        Effect.provide(Layer.fresh(own.layer)),
        Effect.ensuring(Effect.andThen(Schedules.quiet, Effect.sync(() => check(own))))
      )
    })
})
