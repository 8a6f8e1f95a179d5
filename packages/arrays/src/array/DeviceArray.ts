/**
 * Arrays on a device that take their memory from the pool.
 *
 * @since 0.1.0
 */
export * from "./Arithmetic.ts"
export { DeviceArray } from "./ArrayValue.ts"
export * from "./Bitwise.ts"
export * from "./Comparison.ts"
export * from "./Conversion.ts"
export * from "./Creation.ts"
export * from "./cumulative/Cumulative.ts"
export type { ArrayServices, Computed } from "./fusion/Evaluation.ts"
export * from "./Joining.ts"
export * from "./joining/Padding.ts"
export type { Floating, Promote } from "./layout/Promotion.ts"
export * from "./Logic.ts"
export * from "./MathFunctions.ts"
export * from "./Products.ts"
export * from "./reduction/Variance.ts"
export * from "./Reductions.ts"
export * from "./Regions.ts"
export * from "./Selection.ts"
export * from "./Take.ts"
export * from "./Transfer.ts"
export * from "./transfer/ToDevice.ts"
export * from "./Views.ts"
export * from "./writing/Put.ts"
export * from "./writing/Writing.ts"
