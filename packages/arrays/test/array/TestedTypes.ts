/** The element types that the laws of arrays go over. */
import type { DType } from "effect-gpu-pool"

const all = ["f32", "i32", "u32", "f16", "f64"] as const

export type TestedType = typeof all[number]

/** Those that a device has. */
export const testedTypes = (dtypes: ReadonlySet<DType.DType>): ReadonlyArray<TestedType> =>
  all.filter((dtype) => dtypes.has(dtype))
