/**
 * What may be written to the elements of an array.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { isFloat } from "effect-gpu-pool/Operation"
import type { DeviceArray } from "../ArrayValue.ts"
import { operandProblem } from "../elementwise/OperandProblem.ts"
import { elementProblem, type Scalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"

/** Why a value is not stored in elements of an array, which have a shape, or `undefined`. */
export const problem = (
  operation: string,
  self: DeviceArray,
  shape: Shape.Shape,
  value: DeviceArray | Scalar
): GpuError | undefined => {
  const repeated = self.shape.findIndex((length, axis) => length > 1 && self.strides[axis] === 0)
  if (repeated !== -1 && self.size > 0) {
    return invalidRequest(
      operation,
      `axis ${repeated} of the shape ${Shape.format(self.shape)} repeats the same elements`,
      "Write to the array that was broadcast, or to a copy."
    )
  }
  const problem = operandProblem(operation, value)
  if (problem !== undefined) return problem
  const { dtype } = self
  if (typeof value !== "object") return elementProblem(operation, dtype, value)
  const common = Shape.broadcast(operation, shape, value.shape)
  if ("reason" in common) return common
  if (!Shape.equals(common, shape)) {
    return invalidRequest(
      operation,
      `the value of shape ${Shape.format(value.shape)} does not broadcast to the shape ${Shape.format(shape)}`,
      "The elements that are written keep their shape: reshape the value, or reduce it."
    )
  }
  if (value.dtype === "c64" && dtype !== "c64") {
    return invalidRequest(
      operation,
      `the value is c64, and the array ${dtype}`,
      "Write one of its parts: DeviceArray.real(value) or DeviceArray.imag(value)."
    )
  }
  return isFloat(value.dtype) && !isFloat(dtype) && dtype !== "c64"
    ? invalidRequest(
      operation,
      `the value is ${value.dtype}, and the array ${dtype}`,
      `Cast it, which cuts what is behind the point: DeviceArray.astype(value, "${dtype}").`
    )
    : undefined
}
