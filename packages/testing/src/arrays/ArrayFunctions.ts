/**
 * The functions of `DeviceArray` by name, for programs whose operations are chosen at random.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"

/** The result of every function that makes an array. */
export type Made = Effect.Effect<DeviceArrays.DeviceArray, GpuError, DeviceArrays.ArrayServices>

const functions: { readonly [name: string]: unknown } = DeviceArrays

export const call = (name: string, operands: ReadonlyArray<unknown>): Made =>
  (functions[name] as (...operands: ReadonlyArray<unknown>) => Made)(...operands)
