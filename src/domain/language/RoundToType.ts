import { f16round, hostSupports } from "../data/DType.ts"
import type { ExprType } from "./Operation.ts"

/**
 * The number that a type holds in the place of another: the nearest one. Where the runtime has no f16 no device does, so
 * there it does not matter which.
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
