import { f16round, hostSupports } from "../data/DType.ts"
import type { ExprType } from "./Operation.ts"

/**
 * The number of a type that is nearest to another number. Without f16 in the runtime no device has f16, so its rounding
 * does not matter there.
 *
 * @internal
 */
export const roundToType = (type: ExprType, value: number): number => {
  switch (type) {
    case "f32":
      return Math.fround(value)
    case "f16":
      return hostSupports("f16") ? f16round(value) : value
    default:
      return value
  }
}
