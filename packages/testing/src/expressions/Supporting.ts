/**
 * Tests of element types that not every device has.
 *
 * @internal
 */
import * as ElementwiseKernel from "@effect-gpu-pool/arrays/ElementwiseKernel"
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import type { TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"

/** Runs the test where the device has the type. Elsewhere the device must refuse an expression of the type. */
export const supporting = (
  type: "f16" | "f64",
  body: Effect.Effect<void, unknown, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.flatMap(DeviceContext, ({ info }) => info.dtypes.has(type) ? body : refused(type))

const refused = (type: "f16" | "f64") =>
  Effect.gen(function*() {
    const kernel = ElementwiseKernel.make({
      name: `with_${type}`,
      args: [VectorArg("f32", "x")],
      outputs: ({ x }) => ({ x: Expr.astype(Expr.sqrt(Expr.astype(x, type)), "f32") })
    })
    const x = yield* BufferPool.allocate(16)
    yield* Expect.failsWith(`an expression of ${type}`, CommandQueue.dispatch(kernel, { x }, 4), "Unsupported")
  })
