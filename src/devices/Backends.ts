/**
 * The backends whose devices a program can choose.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { hostBackend } from "../layers/Host/HostBackend.ts"
import { openClBackend } from "../layers/OpenCl/OpenClBackend.ts"
import { webGpuBackend } from "../layers/WebGpu/WebGpuBackend.ts"
import type { Backend } from "../services/backend/Backend.ts"

/**
 * The backends of this process: those of this package, unless a program provides others. Lists of devices are in their
 * order.
 *
 * **Example** (One more backend)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { Backend } from "effect-gpu-pool/backend"
 * import { Devices } from "effect-gpu-pool/devices"
 *
 * const withBackend = (mine: Backend.Backend) => <A, E, R>(program: Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(Devices.Backends, (all) => Effect.provideService(program, Devices.Backends, [...all, mine]))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export const Backends: Context.Reference<ReadonlyArray<Backend>> = Context.Reference(
  "effect-gpu-pool/devices/Backends",
  { defaultValue: (): ReadonlyArray<Backend> => [webGpuBackend, openClBackend, hostBackend] }
)
