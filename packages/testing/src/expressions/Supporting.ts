/**
 * Tests of element types that not every device has.
 *
 * @internal
 */
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import type { TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** Runs the test where the device has the type. Elsewhere the device must refuse an expression of the type. */
export const supporting = (
  type: DType,
  body: Effect.Effect<void, unknown, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.flatMap(DeviceContext, ({ info }) => info.dtypes.has(type) ? body : refused(type))

/** A device that has no elements of type bool can have truth values all the same. */
const refused = (type: DType) =>
  Effect.gen(function*() {
    const kernel = ElementwiseKernel.make({
      name: `with_${type}`,
      args: [VectorArg(type === "bool" ? type : "f32", "x")],
      outputs: ({ x }) => ({ x: Expr.astype(Expr.astype(x, type), x.type) })
    })
    const x = yield* BufferPool.allocate(16)
    yield* Expect.failsWith(`an expression of ${type}`, CommandQueue.dispatch(kernel, { x }, 4), "Unsupported")
  })
