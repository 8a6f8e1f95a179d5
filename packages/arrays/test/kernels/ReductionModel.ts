/** Reductions by plain loops, in the order in which the kernels combine. */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { divide, type Runner } from "../../src/kernels/reduction/Division.ts"

type Combine = (a: number, b: number) => number

interface Order {
  readonly runner: Runner
  readonly commutative: boolean
}

/** What runs the items of a reduction on a device. */
export const runnerOn = ({ isCpu, limits, traits }: DeviceInfo): Runner =>
  limits.groups === undefined || traits.language.bodies === "ranges" ? "items" : isCpu === true ? "cpu" : "gpu"

/** The positions in a part that a lane combines into one state each: those of its four streams, and those that are left. */
export const streamsOf = (
  size: number,
  lanes: number,
  lane: number,
  interleaved: boolean
): ReadonlyArray<ReadonlyArray<number>> => {
  const [each, more] = [Math.floor(size / lanes), size % lanes]
  const own = Array.from(
    { length: each + (lane < more ? 1 : 0) },
    (_, k) => interleaved ? lane + k * lanes : lane * each + Math.min(lane, more) + k
  )
  const rounds = Math.floor(each / 4)
  const streams = [0, 1, 2, 3].map((stream) =>
    Array.from({ length: rounds }, (_, k) => own[interleaved ? 4 * k + stream : stream * rounds + k]!)
  )
  return [...streams, own.slice(4 * rounds)]
}

/** Combines a row of numbers, one of several rows. */
export const reduced = (
  rows: number,
  row: ReadonlyArray<number>,
  order: Order,
  neutral: number,
  combine: Combine
): number => {
  const { interleaved, lanes, parts, segment } = divide(rows, row.length, order.runner)
  const states = Array.from({ length: parts }, (_, part) => {
    const elements = row.slice(part * segment, (part + 1) * segment)
    const ofLanes = Array.from(
      { length: lanes },
      (_, lane) =>
        streamsOf(elements.length, lanes, lane, interleaved && order.commutative)
          .map((positions) => positions.reduce((state, position) => combine(state, elements[position]!), neutral))
          .reduce(combine)
    )
    return pairwise(ofLanes, combine)
  })
  return parts === 1 ? states[0]! : reduced(rows, states, order, neutral, combine)
}

const pairwise = (states: ReadonlyArray<number>, combine: Combine): number =>
  states.length === 1
    ? states[0]!
    : pairwise(
      Array.from({ length: states.length / 2 }, (_, pair) => combine(states[2 * pair]!, states[2 * pair + 1]!)),
      combine
    )

/** How many combinations an element goes through at most. */
export const chainOf = (rows: number, length: number, runner: Runner): number => {
  const { lanes, parts, segment } = divide(rows, length, runner)
  const streams = Math.ceil(segment / lanes / 4) + 4 + 4
  return streams + Math.log2(lanes) + (parts === 1 ? 0 : chainOf(rows, parts, runner))
}

/** A device whose reductions are divided as for a GPU, though it runs on a CPU as those of most test machines. */
export const asGpu = <A, E, R>(gpu: Layer.Layer<A | CommandQueue, E, R>): Layer.Layer<A | CommandQueue, E, R> =>
  Layer.tap(gpu, (context) =>
    Effect.sync(() => {
      Object.assign(Context.get(context, CommandQueue).info, { isCpu: false })
    }))
