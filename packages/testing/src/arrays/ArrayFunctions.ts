/**
 * The functions of `DeviceArray` by name, for programs whose operations are chosen at random.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"

/** The result of every function that makes an array. */
export type Made = Effect.Effect<DeviceArrays.DeviceArray, GpuError, DeviceArrays.ArrayServices>

const functions: { readonly [name: string]: unknown } = DeviceArrays

/** The result of a function; truth values as u32, since programs go on to compute with them. */
export const call = (name: string, operands: ReadonlyArray<unknown>): Made =>
  Effect.flatMap(
    (functions[name] as (...operands: ReadonlyArray<unknown>) => Made)(...operands),
    (made): Made => made.dtype === "bool" ? asNumbers(made) : Effect.succeed(made)
  )

/** Memory of truth values that were computed at once, as those of reductions are, is released after that of the numbers is there. */
const asNumbers = (truths: DeviceArrays.DeviceArray): Made => {
  const numbers = DeviceArrays.astype(truths, "u32")
  const { lease } = truths
  return lease === undefined ? numbers : Effect.tap(
    numbers,
    (made) => Effect.andThen(DeviceArrays.evaluate(made), release(lease))
  )
}
