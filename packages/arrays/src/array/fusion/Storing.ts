/**
 * Writes elements to places in memory that exists: to a part of a fresh array, or to a view of one that the program has.
 *
 * @internal
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Kernel } from "effect-gpu-pool/Kernel"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Expr from "../../kernels/Expr.ts"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import { dense, type DeviceArray, Pending } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import type { Scalar } from "../layout/Scalar.ts"
import type { Shape } from "../layout/Shape.ts"
import { copyRuns, runsOf } from "./Copying.ts"
import { type ArrayServices, evaluateAll, evaluateCopy } from "./Evaluation.ts"
import * as Plan from "./Plan.ts"
import * as PlanExpressions from "./PlanExpressions.ts"
import * as PlanKernels from "./PlanKernels.ts"
import { Recording } from "./Recording.ts"
import * as Writes from "./Writes.ts"

const storeOperation: ArrayOperation = { name: "store", build: ([value]) => value! }

const scalar: Shape = []

/**
 * Stores an array or a number, which broadcasts to the target's shape, in the target's elements: cast to their type, and as
 * they were before, also where it reads the target's own memory. The target has memory, and no element twice. A recorded array is
 * computed by the kernel that stores it, and stays recorded.
 */
export const store = (
  target: DeviceArray,
  source: DeviceArray | Scalar
): Effect.Effect<void, GpuError, ArrayServices> => into(target, source, false)

/** The same in memory that recorded arrays may read: these can no longer be computed. */
export const overwrite = (
  target: DeviceArray,
  source: DeviceArray | Scalar
): Effect.Effect<void, GpuError, ArrayServices> => into(target, source, true)

const into = (
  target: DeviceArray,
  source: DeviceArray | Scalar,
  overwrites: boolean
): Effect.Effect<void, GpuError, ArrayServices> =>
  target.size === 0 ? Effect.void : Effect.withFiber((fiber) => {
    const queue = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const runs = typeof source === "object" ? runsOf(source, target, queue.info) : undefined
    if (runs !== undefined) {
      if (overwrites) Writes.note(target.lease!)
      return copyRuns(queue, source as DeviceArray, target, runs)
    }
    const { dtype } = target
    const shape = typeof source === "object" ? source.shape : scalar
    const value = dense(dtype, shape, new Pending(storeOperation, [source], [dtype], dtype))
    const plan = Plan.make([value, target], target.shape)
    if (typeof source === "object") {
      if (source.pending !== undefined && !Plan.fits(plan, 0, queue.info.limits.maxVectorArguments)) {
        return Effect.andThen(evaluateAll([source]), Effect.suspend(() => into(target, source, overwrites)))
      }
      if (overwritesOperands(plan)) return copied(target, source, overwrites)
    }
    const problem = Writes.problem(plan, fiber.getRef(Recording))
    if (problem !== undefined) return problem
    if (overwrites) Writes.note(target.lease!)
    return queue.dispatch(kernelOf(plan, plain), PlanExpressions.argumentsOf(plan, "stored"), target.size)
  })

/** Stores a copy, which is released as soon as the kernel is recorded. */
const copied = (
  target: DeviceArray,
  source: DeviceArray,
  overwrites: boolean
): Effect.Effect<void, GpuError, ArrayServices> =>
  Effect.scoped(Effect.flatMap(evaluateCopy(source), (copy) => into(target, copy, overwrites)))

const targetOf = ({ leaves, results, steps }: Plan.Plan): Plan.Leaf => {
  const step = steps[results[1]!]!
  return leaves[step._tag === "Leaf" ? step.leaf : 0]!
}

/** Whether an item reads an element of the target's memory that another item stores. */
const overwritesOperands = (plan: Plan.Plan): boolean => {
  const target = targetOf(plan)
  const { lease } = plan.vectors[target.vector]!
  return plan.leaves.some((leaf) =>
    plan.vectors[leaf.vector]!.lease === lease && (
      leaf.vector !== target.vector || leaf.offset !== target.offset ||
      leaf.strides.some((stride, axis) => stride !== target.strides[axis])
    )
  )
}

const plain = {}

const kernelOf = PlanKernels.make(1024, (planned) => storing(planned))

/**
 * The kernel that stores the first result of a plan where the second one, an array with memory, has an element, or at an index
 * that is computed from the index of that element.
 */
export const storing = (
  { args, expressions, name }: PlanKernels.Planned,
  placeOf?: (index: Expr.Expr<"u32">) => Expr.Expr<"u32">
): Kernel => {
  const [value, element] = expressions as readonly [Expr.Expr<DType>, Expr.Expr<DType>]
  const { at, vector } = element.node as Extract<Expr.Expr["node"], { readonly _tag: "Element" }>
  const own = at._tag === "Own" ? undefined : at.index
  const place = placeOf === undefined ? own : placeOf(own ?? Expr.index)
  return GeneratedElementwise.generate({
    name,
    args: args.map((arg) =>
      arg._tag === "VectorArg" && arg.name === vector ? VectorArg(arg.dtype, vector, { access: "readwrite" }) : arg
    ),
    outputs: { [vector]: value },
    places: place === undefined ? {} : { [vector]: place }
  })
}
