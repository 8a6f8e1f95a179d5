/**
 * From recorded arrays to arrays with memory, and from operations to recorded arrays.
 *
 * @since 0.1.0
 */
import type { BufferPool, PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import { byteSize, type DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as Lease from "effect-gpu-pool/Lease"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import * as Reduction from "../../kernels/reduction/Reduction.ts"
import { dense, DeviceArray, Pending } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import { problemOf } from "../elementwise/Supported.ts"
import type { Scalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import type { MatrixProduct } from "../products/MatrixProduct.ts"
import * as ProductKernel from "../products/ProductKernel.ts"
import * as Cuts from "./Cuts.ts"
import * as Plan from "./Plan.ts"
import * as PlanExpressions from "./PlanExpressions.ts"
import * as PlanKernels from "./PlanKernels.ts"
import * as RecordedProducts from "./RecordedProducts.ts"
import { Recording, type Region } from "./Recording.ts"
import * as Writes from "./Writes.ts"

/**
 * What array operations need: the pool for the memory, the queue that runs the kernels, and the scope that the
 * results belong to.
 *
 * **Example** (What a function of arrays requires)
 *
 * ```ts
 * import type { Effect } from "effect"
 * import type { GpuError } from "effect-gpu-pool"
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * type Activation = (
 *   x: DeviceArray.DeviceArray<"f32">
 * ) => Effect.Effect<DeviceArray.DeviceArray<"f32">, GpuError.GpuError, DeviceArray.ArrayServices>
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ArrayServices = BufferPool | CommandQueue | Scope.Scope

/**
 * The effect of an array operation: an array of elements of type `D`.
 *
 * **Example** (A function of arrays)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const halved = (x: DeviceArray.DeviceArray<"f32">): DeviceArray.Computed<"f32"> => DeviceArray.multiply(x, 0.5)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Computed<D extends DType = DType> = Effect.Effect<DeviceArray<D>, GpuError, ArrayServices>

/**
 * What array operations take: an array, or the effect of one, such as another operation. Effects run first, in one
 * `DeviceArray.lazy` with the operation, so that nested and piped operations become one kernel, and their intermediate arrays
 * are released as soon as the result is there. An effect that two operations take runs twice.
 *
 * **Example** (A formula, nested and piped)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([3, 4])
 *   const nested = DeviceArray.sqrt(DeviceArray.sum(DeviceArray.multiply(x, x)))
 *   const piped = x.pipe(DeviceArray.multiply(x), DeviceArray.sum(), DeviceArray.sqrt)
 *   return [yield* DeviceArray.toNumber(nested), yield* DeviceArray.toNumber(piped)]
 * }) // => [5, 5]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ArrayOperand<D extends DType = DType> = DeviceArray<D> | Computed<D>

/** The deepest chain of operations in a kernel: compilers take seconds for more. */
const maxDepth = 64

interface Services extends Reduction.Services {
  readonly scope: Scope.Scope
  readonly region: Region | undefined
}

const servicesOf = (context: Context.Context<never>): Services => ({
  ...Reduction.servicesOf(context),
  scope: Context.getUnsafe(context as Context.Context<Scope.Scope>, Scope.Scope),
  region: Context.get(context, Recording)
})

/**
 * The result of an elementwise operation: recorded inside `DeviceArray.lazy`, else computed by one kernel.
 *
 * @internal
 */
export const apply = <D extends DType>(
  operation: ArrayOperation,
  operands: ReadonlyArray<DeviceArray | Scalar>,
  operandTypes: ReadonlyArray<DType>,
  dtype: D,
  shape: Shape.Shape
): Computed<D> =>
  Effect.withFiber((fiber) => {
    const problem = problemOf(`DeviceArray.${operation.name}`, fiber.context, dtype, operandTypes)
    if (problem !== undefined) return problem
    const scope = Context.getUnsafe(fiber.context as Context.Context<Scope.Scope>, Scope.Scope)
    const region = fiber.getRef(Recording)
    const record = () =>
      dense(
        dtype,
        shape,
        new Pending(
          operation,
          operands,
          operandTypes,
          dtype,
          scope,
          region === undefined ? undefined : { region, at: Writes.now() }
        )
      )
    const array = record()
    if (region !== undefined && array.pending!.depth <= maxDepth) return Exit.succeed(array)
    const services = servicesOf(fiber.context)
    if (region === undefined) return Effect.as(settle([array], services), array)
    // The chain continues from its operands' memory, so later records are short again.
    return Effect.map(settleAll(operands.filter(Cuts.isRecorded), services), record)
  })

/**
 * The elements of a product whose operands have memory: recorded inside `DeviceArray.lazy`, so that operations on them can
 * become part of its kernel, else computed.
 *
 * @internal
 */
export const applyProduct = (operation: ArrayOperation, product: MatrixProduct): Computed =>
  Effect.withFiber((fiber) => {
    const { a, b, dtype, shape } = product
    const services = servicesOf(fiber.context)
    const unsupported = typeProblem(`DeviceArray.${operation.name}`, services.queue.info, dtype, "the elements")
    if (unsupported !== undefined) return unsupported
    const region = fiber.getRef(Recording)
    const recorded = region === undefined ? undefined : { region, at: Writes.now() }
    const operands = [a.array, b.array]
    const array = dense(
      dtype,
      shape,
      new Pending(operation, operands, [dtype, dtype], dtype, services.scope, recorded, product)
    )
    return recorded === undefined ? Effect.as(settle([array], services), array) : Exit.succeed(array)
  })

/**
 * Gives recorded arrays their memory: those of one shape by one kernel, as far as the device's limits allow. Arrays that
 * have memory stay as they are. The memory belongs to the scope that an array was recorded in, or to the caller's where
 * that is closed.
 *
 * @internal
 */
export const evaluateAll = (
  arrays: Iterable<DeviceArray>
): Effect.Effect<void, GpuError, ArrayServices> =>
  Effect.withFiber((fiber) => settleAll(arrays, servicesOf(fiber.context)))

/**
 * Runs an effect in a scope of its own, gives the arrays in its result their memory, and moves that to the caller's scope.
 *
 * @internal
 */
export const extracted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  LeaseHolder.extract(
    Effect.tap(effect, (result) => Effect.flatMap(LeaseHolder.holders("DeviceArray.scoped", result), evaluateHeld))
  )

const evaluateHeld = (holders: ReadonlyArray<LeaseHolder.LeaseHolder>) =>
  evaluateAll(holders.filter((holder) => holder instanceof DeviceArray))

/** A copy of an array, in contiguous memory of its own. @internal */
export const evaluateCopy = <D extends DType>(array: DeviceArray<D>): Computed<D> =>
  Effect.withFiber((fiber) => {
    const services = servicesOf(fiber.context)
    const copy = dense(
      array.dtype,
      array.shape,
      new Pending(identity, [array], [array.dtype], array.dtype, services.scope)
    )
    return Effect.as(settle([copy], services), copy)
  })

const identity: ArrayOperation = { name: "copy", build: ([operand]) => operand! }

type Settled = Effect.Effect<void, GpuError, Scope.Scope>

const settleAll = (arrays: Iterable<DeviceArray>, services: Services): Settled => {
  const groups: Array<Array<DeviceArray>> = []
  for (const array of new Set(arrays)) {
    if (array.pending === undefined) continue
    const group = groups.find(([first]) => Shape.equals(first!.shape, array.shape))
    if (group === undefined) groups.push([array])
    else group.push(array)
  }
  return groups.length === 0
    ? Exit.void
    // Computing one group may have computed some arrays of the next.
    : Effect.forEach(groups, (group) => settle(group.filter(Cuts.isRecorded), services), { discard: true })
}

/** Arrays of one shape, all recorded. */
const settle = (arrays: ReadonlyArray<DeviceArray>, services: Services): Settled => {
  const [first] = arrays
  if (first === undefined) return Exit.void
  const before = RecordedProducts.before(arrays, services.queue.info)
  if (before.length > 0) {
    return Effect.andThen(
      Effect.forEach(before, (product) => settle([product].filter(Cuts.isRecorded), services), { discard: true }),
      Effect.suspend(() => settle(arrays.filter(Cuts.isRecorded), services))
    )
  }
  const plan = Plan.make(arrays, first.shape)
  return plan.product !== undefined || Plan.fits(plan, arrays.length, services.queue.info.limits.maxVectorArguments)
    ? compute(plan, arrays, services)
    : settleInParts(plan, arrays, services)
}

/** Divides the work if one kernel is too large for the device: fewer results at a time, then operands of a result first. */
const settleInParts = (plan: Plan.Plan, arrays: ReadonlyArray<DeviceArray>, services: Services): Settled => {
  const [first] = arrays
  if (arrays.length > 1) {
    const half = arrays.length >> 1
    return Effect.andThen(
      settle(arrays.slice(0, half), services),
      Effect.suspend(() => settle(arrays.slice(half).filter(Cuts.isRecorded), services))
    )
  }
  const cuts = Cuts.of(first!, services.queue.info.limits.maxVectorArguments)
  // An operation on arrays with memory reads only a few of them: it cannot become smaller.
  return cuts.length === 0 ? compute(plan, arrays, services) : Effect.andThen(
    Effect.forEach(cuts, (cut) => settle([cut].filter(Cuts.isRecorded), services), { discard: true }),
    Effect.suspend(() => settle([first!].filter(Cuts.isRecorded), services))
  )
}

const leaseOf = ({ lease }: Plan.Vector): PooledBuffer => lease

/** The memory that the kernel of a product reads for it. */
const leasesOf = (product: MatrixProduct | undefined): ReadonlyArray<PooledBuffer> =>
  product === undefined ? [] : [product.a.array.lease!, product.b.array.lease!]

const compute = (plan: Plan.Plan, arrays: ReadonlyArray<DeviceArray>, services: Services): Settled => {
  const apart = [...plan.vectors.map(leaseOf), ...leasesOf(plan.product)]
  if (arrays.length === 1) {
    return Effect.flatMap(allocate(arrays[0]!, apart, services), (lease) => fill(plan, arrays, [lease], services))
  }
  const sizes = arrays.map(({ dtype, size }) => size * byteSize(dtype))
  const labels = arrays.map(({ pending }) => pending?.operation.name)
  const together = services.pool.allocateAll(sizes, { labels, apart })
  return Effect.flatMap(together, (leases) => {
    const moved = Effect.forEach(arrays, (array, index) => moveHome(array, leases[index]!, services), { discard: true })
    return Effect.andThen(
      Effect.onExitPrimitive(moved, (exit) => Exit.isSuccess(exit) ? undefined : giveBack(leases)),
      fill(plan, arrays, leases, services)
    )
  })
}

const homeOf = ({ pending }: DeviceArray, { scope }: Services): Scope.Scope => {
  const home = pending?.scope
  return home === undefined || home.state._tag === "Closed" ? scope : home
}

const moveHome = (
  array: DeviceArray,
  lease: PooledBuffer,
  services: Services
): Effect.Effect<void, GpuError> => {
  const home = homeOf(array, services)
  return home === services.scope ? Exit.void : Lease.transfer(lease, home)
}

const allocate = (
  array: DeviceArray,
  apart: ReadonlyArray<PooledBuffer>,
  services: Services
): Effect.Effect<PooledBuffer, GpuError, Scope.Scope> => {
  const { dtype, pending, size } = array
  const lease = services.pool.allocate(size * byteSize(dtype), { label: pending?.operation.name, apart })
  const home = homeOf(array, services)
  return home === services.scope ? lease : Scope.provide(lease, home)
}

const evaluation = {}

/** The kernel that computes the results of a plan. */
const kernelOf = PlanKernels.make(1024, ({ args, expressions, name }) => {
  const names = expressions.map((_, index) => PlanExpressions.resultName(index))
  const outputs = expressions.map(({ type }, index) => VectorArg(type, names[index]!, { access: "write" }))
  return GeneratedElementwise.generate({
    name,
    args: [...args, ...outputs],
    outputs: Object.fromEntries(expressions.map((expression, index) => [names[index]!, expression]))
  })
})

const fill = (
  plan: Plan.Plan,
  arrays: ReadonlyArray<DeviceArray>,
  leases: ReadonlyArray<PooledBuffer>,
  { queue, region }: Services
): Effect.Effect<void, GpuError> => {
  const { size } = arrays[0]!
  if (size === 0) return settled(arrays, leases) ?? Exit.void
  const args = PlanExpressions.argumentsOf(plan, "stored")
  for (let index = 0; index < leases.length; index++) args[PlanExpressions.resultName(index)] = leases[index]!
  // After a failure the memory is released at once, since the scope may live for long.
  return Effect.onExitPrimitive(
    Writes.problem(plan, region) ?? dispatch(plan, args, size, queue),
    (exit) => Exit.isSuccess(exit) ? settled(arrays, leases) : giveBack(leases)
  )
}

const dispatch = (
  plan: Plan.Plan,
  args: ReturnType<typeof PlanExpressions.argumentsOf>,
  size: number,
  queue: Services["queue"]
): Effect.Effect<void, GpuError> => {
  if (plan.product === undefined) return queue.dispatch(kernelOf(plan, evaluation), args, size)
  const bound = ProductKernel.bind(plan, plan.product, queue.info)
  const [a, b] = leasesOf(plan.product)
  return queue.dispatch(bound.kernel, { ...bound.args, ...args, a: a!, b: b! }, bound.count)
}

/**
 * Gives the arrays their memory. If another fiber has computed one meanwhile, that one keeps its memory: it has the same
 * elements.
 */
const settled = (
  arrays: ReadonlyArray<DeviceArray>,
  leases: ReadonlyArray<PooledBuffer>
): Effect.Effect<void> | undefined => {
  let late: Array<PooledBuffer> | undefined
  for (let index = 0; index < arrays.length; index++) {
    if (arrays[index]!.pending === undefined) (late ??= []).push(leases[index]!)
    else arrays[index]!.settle(leases[index]!)
  }
  return late === undefined ? undefined : giveBack(late)
}

const giveBack = (leases: ReadonlyArray<PooledBuffer>): Effect.Effect<void> =>
  Effect.forEach(leases, (lease) => Effect.ignore(Lease.release(lease)), { discard: true })
