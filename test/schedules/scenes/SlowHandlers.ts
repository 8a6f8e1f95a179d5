/** Scenes of slow handlers, while other fibers allocate and release. */
import * as Effect from "effect/Effect"
import type { Scene } from "../Stage.ts"
import { cache, givesBack } from "./Handlers.ts"
import { atOnce, job } from "./Waiting.ts"

export const slowHandlers: ReadonlyArray<Scene> = [
  {
    name: "a slow handler, and two requests",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () =>
      Effect.andThen(
        cache((lease) => Effect.andThen(Effect.sleep("1 millis"), givesBack(lease))),
        atOnce(job(64), job(32))
      )
  }
]
