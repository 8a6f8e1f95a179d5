/**
 * Which elements of an axis a slice takes: Python's rules.
 *
 * @see https://docs.python.org/3/reference/datamodel.html#slice.indices
 * @since 0.1.0
 */
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { format, type Shape } from "./Shape.ts"
import { isList, wrongValue } from "./WrongValue.ts"

/**
 * Elements of an axis from `start` up to, not including, `stop`, each `step` after the one before. Negative positions
 * count from the end, a negative step goes backwards, and a bound that is left out is the end of the axis.
 *
 * **Example** (Every other element, from the last to the first)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const everyOther: DeviceArray.Range = { step: -2 }
 * const backwards = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.slice(x, [everyOther])
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Range {
  readonly start?: number | undefined
  readonly stop?: number | undefined
  /** Not 0. Default: 1. */
  readonly step?: number | undefined
}

/** A range resolved for an axis: `length` elements, the first at `start`, each `step` after the one before. */
export interface Progression {
  readonly start: number
  readonly step: number
  readonly length: number
}

const names = ["start", "stop", "step"] as const
const known = KnownOptions.of<Range>({ start: true, stop: true, step: true })

/** Why a range takes nothing of any axis, or `undefined`. @internal */
export const rangeProblem = (operation: string, range: Range, axis: number): GpuError | undefined => {
  if (typeof range !== "object" || range === null || isList(range)) {
    return wrongValue(operation, range, `axis ${axis}`, "Pass a position, or a range as { start: 1, stop: 3 }.")
  }
  const unknown = KnownOptions.problem(operation, range, known, " in a range")
  if (unknown !== undefined) return unknown
  for (const name of names) {
    const value = range[name]
    if (value === undefined || Number.isSafeInteger(value)) continue
    return invalidRequest(
      operation,
      `${name} is ${formatted(value)}, no whole number`,
      "Pass an integer, or leave it out."
    )
  }
  return range.step === 0
    ? invalidRequest(operation, "step is 0", "Pass 1 or more to go forwards, -1 or less to go backwards.")
    : undefined
}

/** The elements of an axis of `length` elements that a range takes. @internal */
export const progression = ({ start, step = 1, stop }: Range, length: number): Progression => {
  const forwards = step > 0
  const [least, most] = forwards ? [0, length] : [-1, length - 1]
  const within = (position: number | undefined, otherwise: number): number =>
    position === undefined ? otherwise : Math.min(Math.max(position < 0 ? position + length : position, least), most)
  const first = within(start, forwards ? least : most)
  const end = within(stop, forwards ? most : least)
  const count = Math.max(0, Math.ceil((end - first) / step))
  return { start: first, step, length: count }
}

/** The position on an axis that a number names; negative ones count from the end. @internal */
export const positionOf = (operation: string, position: number, axis: number, shape: Shape): number | GpuError => {
  const length = shape[axis]!
  const index = !Number.isInteger(position) ? -1 : position < 0 ? position + length : position + 0
  return index >= 0 && index < length ? index : invalidRequest(
    operation,
    `the position ${position} is outside axis ${axis} of the shape ${format(shape)}`,
    length === 0
      ? "The axis has no elements."
      : `Use ${-length} to ${length - 1}, or a range, which is cut to the axis.`
  )
}
