/**
 * The error where there is no WebGPU device. What it says is loaded only then.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import { deviceUnavailable, type GpuError } from "../../../domain/GpuError.ts"
import * as LazyModule from "../../../services/calls/LazyModule.ts"
import { currentRuntime, type Runtime } from "./Runtime.ts"
import type * as UnavailableGpu from "./UnavailableGpu.ts"

const texts = LazyModule.module("layers/WebGpu/opening/UnavailableGpu", () => import("./UnavailableGpu.ts"))

/** Fails with DeviceUnavailable, as `explain` says. */
export const unavailable = (
  explain: (texts: typeof UnavailableGpu, runtime: Runtime) => UnavailableGpu.Unavailable
): Effect.Effect<never, GpuError> =>
  texts.use((texts) => {
    const { device, hint, why } = explain(texts, currentRuntime())
    return deviceUnavailable([{ backend: "webgpu", device, why }], hint)
  })
