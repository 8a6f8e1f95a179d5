/**
 * Reductions along the rows of an iteration: the basis of {@link ReductionKernel} and of the reductions of arrays.
 *
 * A first kernel divides long rows into parts, each combined by a group of items that share memory, or by one item, and a
 * second kernel combines the states of the parts. The order of combination depends on the lengths and the device only.
 *
 * @internal
 */
import type { BufferLike } from "effect-gpu-pool/BufferLike"
import { BufferPool } from "effect-gpu-pool/BufferPool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import type { ArgumentValue, DispatchArguments } from "effect-gpu-pool/DispatchArguments"
import * as DType from "effect-gpu-pool/DType"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import * as KernelSupport from "effect-gpu-pool/KernelSupport"
import * as Lease from "effect-gpu-pool/Lease"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { buffersOf } from "../Apart.ts"
import * as Fours from "../expression/Fours.ts"
import { divide, type Division, groupItems, type Lanes, type Runner, runnerOf } from "./Division.ts"
import * as ReductionPass from "./ReductionPass.ts"
import type { Combine, Component, StateExprs } from "./State.ts"
import { walkScalars, type WalkValues } from "./Walk.ts"

export { position, row } from "./Walk.ts"

export interface ReductionDefinition {
  readonly name: string
  /** Vectors with access "read", and scalars. */
  readonly args: ReadonlyArray<NumericArgument>
  readonly state: ReadonlyArray<Component>
  /** The state of one element: expressions of the arguments, of {@link row} and of {@link position}. */
  readonly map: StateExprs
  readonly combine: Combine
  /** Whether states may be combined in another order than that of the elements. */
  readonly commutative: boolean
}

/** The kernels of a reduction. They only depend on its structure: lengths and values are arguments of a run. */
export class Reduction {
  readonly name: string
  readonly state: ReadonlyArray<Component>
  readonly commutative: boolean
  readonly #definition: ReductionDefinition
  readonly #first = new Map<Lanes, ReductionPass.ReductionPass>()
  readonly #firstInFours = new Map<Lanes, ReductionPass.ReductionPass>()
  readonly #fours: Fours.Fours
  readonly #further = new Map<Lanes, ReductionPass.ReductionPass>()
  readonly #runners = new WeakMap<DeviceInfo, Runner>()

  constructor(definition: ReductionDefinition) {
    this.name = definition.name
    this.state = definition.state
    this.commutative = definition.commutative
    this.#definition = definition
    this.#fours = definition.commutative ? Fours.foursIn(definition.args, definition.map) : Fours.none
  }

  /** The kernel from elements to states; `inFours` loads four elements at a time from the vectors that allow it. */
  first(lanes: Lanes, inFours = false): ReductionPass.ReductionPass {
    const fours = inFours ? this.#fours : Fours.none
    const passes = fours.size === 0 ? this.#first : this.#firstInFours
    let pass = passes.get(lanes)
    if (pass === undefined) {
      pass = ReductionPass.generate({ ...this.#definition, map: () => this.#definition.map }, lanes, fours)
      passes.set(lanes, pass)
    }
    return pass
  }

  /** The kernel from states to fewer states. Short rows do not need it. */
  further(lanes: Lanes): ReductionPass.ReductionPass {
    let pass = this.#further.get(lanes)
    if (pass === undefined) {
      pass = ReductionPass.generateFurther({ ...this.#definition, name: `${this.name}States` }, lanes)
      this.#further.set(lanes, pass)
    }
    return pass
  }

  /**
   * What runs its items on a device: single ones where the language or the device has no workgroups, or where they cannot
   * have these arguments, since bodies of workgroups take some names for themselves.
   */
  runner(info: DeviceInfo): Runner {
    let runner = this.#runners.get(info)
    if (runner === undefined) {
      const hasGroups = info.traits.language.bodies === "items" &&
        !isGpuError(KernelSupport.checked(this.first(64).kernel, info))
      this.#runners.set(info, runner = hasGroups ? runnerOf(info) : "items")
    }
    return runner
  }
}

/** The rows of a run. */
export interface Rows {
  readonly rows: number
  /** Elements of each row. */
  readonly length: number
  /**
   * Which elements are neighbours in memory, and should be read by neighbouring items: those of one row, or those at one
   * position of neighbouring rows. It only affects speed.
   */
  readonly neighbours: "positions" | "rows"
}

export interface Services {
  readonly pool: BufferPool["Service"]
  readonly queue: CommandQueue["Service"]
}

export type Arguments = Readonly<Record<string, ArgumentValue>>

/**
 * Reduces every row: a lease of `rows` elements for each component, in the caller's scope. A row without elements gives
 * the neutral state. A run that fails leaves no lease behind.
 */
export const run = (
  reduction: Reduction,
  args: Arguments,
  rows: Rows
): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError, BufferPool | CommandQueue | Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const services = servicesOf(fiber.context)
    return allocated(reduction, rows.rows, buffersOf(args), services, (results) =>
      rows.length === 0
        ? fillNeutral(reduction.state, results, services.queue)
        : passes(reduction, firstOf(reduction, rows, services), args, rows, results, services))
  })

/** The services of a fiber, for an effect that requires them. */
export const servicesOf = (context: Context.Context<never>): Services => ({
  pool: Context.getUnsafe(context as Context.Context<BufferPool>, BufferPool),
  queue: Context.getUnsafe(context as Context.Context<CommandQueue>, CommandQueue)
})

/** Releases the results at once if a command fails, since the scope may live for long. */
const allocated = (
  { name, state }: Reduction,
  rows: number,
  apart: ReadonlyArray<BufferLike>,
  { pool }: Services,
  fill: (results: ReadonlyArray<PooledBuffer>) => Effect.Effect<void, GpuError>
): Effect.Effect<ReadonlyArray<PooledBuffer>, GpuError, Scope.Scope> => {
  const results: Array<PooledBuffer> = []
  const rest = (): Effect.Effect<void, GpuError, Scope.Scope> => {
    const component = state[results.length]
    if (component === undefined) return rows === 0 ? Effect.void : fill(results)
    return Effect.flatMap(pool.allocate(rows * DType.byteSize(component.dtype), { label: name, apart }), (lease) => {
      results.push(lease)
      return rest()
    })
  }
  const release = () => Effect.forEach(results, (lease) => Effect.ignore(Lease.release(lease)))
  return Effect.as(Effect.onError(rest(), release), results)
}

type PassOf = (division: Division) => ReductionPass.ReductionPass

/**
 * The kernel from elements to states. Where lanes have runs of one row, these begin at multiples of four, and lavapipe takes
 * four fifths of the time when it loads four elements at once; a row that ends in the midst of four would need memory beyond.
 */
const firstOf = (reduction: Reduction, { length, rows }: Rows, { queue }: Services): PassOf => {
  const inFours = rows === 1 && length % 4 === 0 && queue.info.traits.language.fours !== undefined
  return ({ interleaved, lanes }) => reduction.first(lanes, inFours && lanes === 64 && !interleaved)
}

const passes = (
  reduction: Reduction,
  passOf: PassOf,
  args: Arguments,
  { length, neighbours, rows }: Rows,
  results: ReadonlyArray<PooledBuffer>,
  services: Services
): Effect.Effect<void, GpuError> => {
  const division = divide(rows, length, reduction.runner(services.queue.info))
  const { interleaved, parts } = division
  const values: PassValues = {
    ...division,
    rows,
    length,
    across: neighbours === "rows" ? 1 : 0,
    interleaved: interleaved && reduction.commutative ? 1 : 0
  }
  const dispatch = (outputs: ReadonlyArray<PooledBuffer>) =>
    dispatchPass(passOf(division), args, outputs, values, services)
  if (parts === 1) return dispatch(results)
  const further: PassOf = ({ lanes }) => reduction.further(lanes)
  const unsupported = KernelSupport.problem(reduction.further(1).kernel, services.queue.info)
  if (unsupported !== undefined) return unsupported
  const apart = [...buffersOf(args), ...results]
  return withStates(reduction.state, rows * parts, reduction.name, apart, services, (states) =>
    Effect.andThen(
      dispatch(states),
      Effect.suspend(() =>
        passes(
          reduction,
          further,
          statesAsArgs(states),
          { rows, length: parts, neighbours: "positions" },
          results,
          services
        )
      )
    ))
}

/** The scalars of a kernel. */
interface PassValues extends WalkValues {
  readonly interleaved: number
}

/** Records one kernel: an item, or as many as share it, for each part of each row. The states of a row follow each other. */
export const dispatchPass = (
  { kernel, lanes, names, outputs }: ReductionPass.ReductionPass,
  args: Arguments,
  states: ReadonlyArray<PooledBuffer>,
  values: PassValues,
  { queue }: Services
): Effect.Effect<void, GpuError> => {
  const all: Record<string, ArgumentValue> = { ...args }
  for (let index = 0; index < outputs.length; index++) all[outputs[index]!] = states[index]!
  for (const scalar of walkScalars) all[names[scalar]] = values[scalar]
  all[names.interleaved] = values.interleaved
  const { parts, rows } = values
  const items = lanes === 1 ? rows * parts : Math.ceil(rows * lanes / groupItems) * parts * groupItems
  return queue.dispatch(kernel, all as DispatchArguments<typeof kernel.args>, items)
}

/** The arguments of a kernel that takes states. */
export const statesAsArgs = (states: ReadonlyArray<PooledBuffer>): Arguments =>
  Object.fromEntries(states.map((lease, index) => [ReductionPass.stateArgName(index), lease]))

/** Runs `f` with memory for `count` states, which is released when `f` has recorded its commands. */
export const withStates = (
  state: ReadonlyArray<Component>,
  count: number,
  label: string,
  apart: ReadonlyArray<BufferLike>,
  services: Services,
  f: (leases: ReadonlyArray<PooledBuffer>) => Effect.Effect<void, GpuError>
): Effect.Effect<void, GpuError> => {
  const lend = (leases: ReadonlyArray<PooledBuffer>): Effect.Effect<void, GpuError> => {
    const component = state[leases.length]
    return component === undefined
      ? f(leases)
      : services.pool.use(count * DType.byteSize(component.dtype), (lease) => lend([...leases, lease]), {
        label,
        apart
      })
  }
  return lend([])
}

/** Fills leases with the neutral state. */
export const fillNeutral = (
  state: ReadonlyArray<Component>,
  leases: ReadonlyArray<PooledBuffer>,
  queue: Services["queue"]
): Effect.Effect<void, GpuError> =>
  Effect.forEach(leases, (lease, index) => {
    const { dtype, neutral } = state[index]!
    return queue.fill(lease, DType.element(dtype, neutral))
  }, { discard: true })
