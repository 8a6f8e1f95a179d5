/**
 * The functions of `DeviceArray` by name, for programs whose operations are chosen at random.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as DeviceArrays from "../../array/DeviceArray.ts"
import type { GpuError } from "../../domain/GpuError.ts"

/** The result of every function that makes an array. */
export type Made = Effect.Effect<DeviceArrays.DeviceArray, GpuError, DeviceArrays.ArrayServices>

const functions: { readonly [name: string]: unknown } = DeviceArrays

export const call = (name: string, operands: ReadonlyArray<unknown>): Made =>
  (functions[name] as (...operands: ReadonlyArray<unknown>) => Made)(...operands)
