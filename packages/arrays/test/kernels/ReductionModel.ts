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

/** How lanes share a part: in runs, where the order matters; in runs in which their streams take turns; or in turns. */
export type Walk = "ordered" | "runs" | "interleaved"

const numbered = (length: number, at: (k: number) => number): ReadonlyArray<number> =>
  Array.from({ length }, (_, k) => at(k))

/** The positions in a part that a lane combines into one state each: those of its four streams, and those that are left. */
export const streamsOf = (
  size: number,
  lanes: number,
  lane: number,
  walk: Walk
): ReadonlyArray<ReadonlyArray<number>> => {
  const [each, more] = [Math.floor(size / lanes), size % lanes]
  const rounds = Math.floor(each / 4)
  const left = each - 4 * rounds + (lane < more ? 1 : 0)
  const first = lane * each + Math.min(lane, more)
  const place = (stream: number, k: number): number => {
    switch (walk) {
      case "ordered":
        return first + stream * rounds + k
      case "runs":
        return 4 * (lane * rounds + k) + stream
      case "interleaved":
        return lane + (4 * k + stream) * lanes
    }
  }
  const rest = (k: number): number => walk === "ordered" ? first + 4 * rounds + k : lane + (4 * rounds + k) * lanes
  return [...[0, 1, 2, 3].map((stream) => numbered(rounds, (k) => place(stream, k))), numbered(left, rest)]
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
  const walk = order.commutative ? interleaved ? "interleaved" : "runs" : "ordered"
  const states = Array.from({ length: parts }, (_, part) => {
    const elements = row.slice(part * segment, (part + 1) * segment)
    const ofLanes = Array.from(
      { length: lanes },
      (_, lane) =>
        streamsOf(elements.length, lanes, lane, walk)
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
