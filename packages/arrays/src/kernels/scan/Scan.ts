/**
 * Scans along the rows of an iteration: reduce, then scan. The chunks of each row are reduced, the states of the chunks are
 * scanned in the same way, and each chunk is scanned from the state before it.
 *
 * @internal
 */
import type { BufferPool } from "effect-gpu-pool/BufferPool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { ArgumentValue, DispatchArguments } from "effect-gpu-pool/DispatchArguments"
import { byteSize, type DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as KernelSupport from "effect-gpu-pool/KernelSupport"
import * as Lease from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { buffersOf } from "../Apart.ts"
import type * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { helperName } from "../reduction/ArgumentNames.ts"
import { equal, type Parts } from "../reduction/Division.ts"
import * as Reduction from "../reduction/Reduction.ts"
import { type ReductionPass, stateArg } from "../reduction/ReductionPass.ts"
import { type Component, gathered } from "../reduction/State.ts"
import { walkScalars } from "../reduction/Walk.ts"
import * as ScanPass from "./ScanPass.ts"

/** The kernels of one level of a scan. */
interface Level {
  /** The kernel from elements to the states of chunks; short levels do not need it. */
  readonly totals: ReductionPass
  readonly scan: ScanPass.ScanPass
}

/** What is scanned, and how. */
export interface ScanDefinition extends Omit<ScanPass.ScanPassOptions, "map"> {
  /** The state of one element: an expression of the arguments, of {@link Reduction.row} and of {@link Reduction.position}. */
  readonly map: Expr.Expr<DType>
}

/** The kernels of a scan, made when they are first needed. */
export class Scan {
  readonly name: string
  readonly state: Component
  /** The type of the results. */
  readonly dtype: DType
  /** What is computed from the arguments. */
  readonly expressions: ReadonlyArray<Expr.Expr<DType>>
  readonly #definition: ScanDefinition
  readonly #totals: Reduction.Reduction
  #elements: ScanPass.ScanPass | undefined
  #states: ScanPass.ScanPass | undefined

  constructor(definition: ScanDefinition) {
    const { args, combine, map, name, output, state } = definition
    const result = output(gathered([state])[0]!)
    this.name = name
    this.state = state
    this.dtype = result.type
    this.expressions = [map, result]
    this.#definition = definition
    this.#totals = new Reduction.Reduction({
      name: helperName(name, "Totals", args),
      args,
      state: [state],
      map: [map],
      combine,
      commutative: false
    })
  }

  /** The elements themselves. */
  get elements(): Level {
    this.#elements ??= ScanPass.generate({ ...this.#definition, map: () => this.#definition.map })
    return levelOf(this.#elements, () => this.#totals.first(1))
  }

  /** The states of chunks. */
  get states(): Level {
    const { combine, name, state } = this.#definition
    this.#states ??= ScanPass.generate({
      name: `${name}States`,
      args: [stateArg(state, 0)],
      state,
      map: (place) => stateAt(state, place),
      combine,
      output: (scanned) => scanned
    })
    return levelOf(this.#states, () => this.#totals.further(1))
  }
}

/** The state of a chunk: those of a row follow each other, as the results of their scan do. */
const stateAt = (state: Component, index: Expr.Expr<"u32">): Expr.Expr<DType> => {
  const { dtype, name } = stateArg(state, 0)
  return Expression.make(dtype, { _tag: "Element", vector: name, dtype, at: { _tag: "Inside", index } })
}

const levelOf = (scan: ScanPass.ScanPass, totals: () => ReductionPass): Level => ({
  scan,
  get totals() {
    return totals()
  }
})

/** Scans `count` elements: a lease of as many, in the caller's scope. A run that fails leaves no lease behind. */
export const run = (
  scan: Scan,
  args: Reduction.Arguments,
  count: number,
  exclusive: boolean
): Effect.Effect<PooledBuffer, GpuError, BufferPool | CommandQueue | Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const { pool } = Reduction.servicesOf(fiber.context)
    return Effect.flatMap(
      pool.allocate(count * byteSize(scan.dtype), { label: scan.name, apart: buffersOf(args) }),
      (result) => {
        if (count === 0) return Effect.succeed(result)
        const scanned = into(
          result,
          scan,
          args,
          { rows: 1, length: count, width: 1, neighbours: "positions" },
          exclusive
        )
        // The scope may live for long.
        return Effect.as(Effect.onError(scanned, () => Effect.ignore(Lease.release(result))), result)
      }
    )
  })

/** The rows of a run, and where their results are. */
export interface Rows extends Pick<Reduction.Rows, "rows" | "length" | "neighbours"> {
  /** How far neighbours of a row are apart in the result; those of the `width` next rows are in between. */
  readonly width: number
}

/** Scans every row, none of them empty, and stores the results in an order in which rows of `width` 1 follow each other. */
export const into = (
  result: PooledBuffer,
  scan: Scan,
  args: Reduction.Arguments,
  rows: Rows,
  exclusive: boolean
): Effect.Effect<void, GpuError, BufferPool | CommandQueue> =>
  Effect.withFiber((fiber) =>
    level(scan, scan.elements, args, rows, result, exclusive, Reduction.servicesOf(fiber.context))
  )

const level = (
  scan: Scan,
  kernels: Level,
  args: Reduction.Arguments,
  { length, neighbours, rows, width }: Rows,
  result: PooledBuffer,
  exclusive: boolean,
  services: Reduction.Services
): Effect.Effect<void, GpuError> => {
  const division = divide(rows, length)
  const { parts } = division
  const values = { ...division, rows, length, across: neighbours === "rows" ? 1 : 0, interleaved: 0 }
  const state = [scan.state]
  const items = rows * parts
  return Reduction.withStates(state, parts === 1 ? 1 : items, scan.name, [result], services, ([before]) => {
    const prepare = parts === 1
      ? Reduction.fillNeutral(state, [before!], services.queue)
      : unsupported(scan, kernels, services) ??
        Reduction.withStates(
          state,
          items,
          scan.name,
          [...buffersOf(args), before!],
          services,
          (totals) =>
            Effect.andThen(
              Reduction.dispatchPass(kernels.totals, args, totals, values, services),
              Effect.suspend(() => {
                const states = Reduction.statesAsArgs(totals)
                const ofParts: Rows = { rows, length: parts, width: 1, neighbours: "positions" }
                return level(scan, scan.states, states, ofParts, before!, true, services)
              })
            )
        )
    return Effect.andThen(
      prepare,
      Effect.suspend(() => {
        const { kernel, names } = kernels.scan
        const all: Record<string, ArgumentValue> = { ...args, [names.before]: before!, [names.result]: result }
        for (const scalar of walkScalars) all[names[scalar]] = values[scalar]
        all[names.width] = width
        all[names.exclusive] = exclusive ? 1 : 0
        return services.queue.dispatch(kernel, all as DispatchArguments<typeof kernel.args>, items)
      })
    )
  })
}

/** An item scans up to this many elements alone: further kernels would cost more than they save. */
const shortest = 256

/** The most parts of a row: enough items for a large device, and few enough that their states are soon scanned. */
const mostItems = 65_536

/** The elements of an item in long rows. */
const worthAnItem = 64

/** Divides each of `rows` rows of `length` elements, at least one. */
export const divide = (rows: number, length: number): Parts => {
  const wanted = length <= shortest
    ? 1
    : length <= mostItems
    ? Math.ceil(Math.sqrt(length))
    : Math.ceil(length / worthAnItem)
  const parts = Math.min(wanted, Math.floor(mostItems / rows))
  return equal(length, parts < 4 ? 1 : parts)
}

/** Checks before the first kernel is sent whether the last one could be. */
const unsupported = (scan: Scan, { scan: last }: Level, { queue }: Reduction.Services): GpuError | undefined =>
  KernelSupport.problem(last.kernel, queue.info) ?? KernelSupport.problem(scan.states.scan.kernel, queue.info)
