/**
 * The host in the list of devices: always there, once.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Host from "../layers/Host/Host.ts"
import type { DeviceBackend } from "./DeviceBackend.ts"

/** @internal */
export const hostBackend: DeviceBackend = {
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
  open: (_, { byteGranular, kernelCacheCapacity }) => Host.layer({ byteGranular, kernelCacheCapacity })
}
