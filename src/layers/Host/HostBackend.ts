/**
 * The host in the list of devices: always there, once.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { Backend } from "../../services/backend/Backend.ts"
import * as Host from "./Host.ts"

export const hostBackend: Backend = {
  name: "host",
  list: Effect.succeed([{
    backend: "host",
    platform: { index: 0, name: "JavaScript", vendor: "effect-gpu-pool" },
    device: { index: 0, name: "process memory", vendor: "effect-gpu-pool" },
    type: "cpu",
    driver: "JavaScript",
    memoryBytes: undefined,
    unusable: undefined
  }]),
  // Only by name: no program wants process memory as its device without having asked for it.
  rank: () => undefined,
  open: (_, { byteGranular, kernelCacheCapacity }) => Host.layer({ byteGranular, kernelCacheCapacity })
}
