/**
 * A program over device arrays, without branches: inputs, and steps that each make one array of earlier ones.
 *
 * @internal
 */
import type { ArrayOperand, Computed } from "@effect-gpu-pool/arrays/DeviceArray"
import type { DType } from "effect-gpu-pool/DType"
import type { ArrayModel } from "./ArrayModel.ts"

export interface Input {
  readonly dtype: DType
  readonly shape: ReadonlyArray<number>
  readonly numbers: ReadonlyArray<number>
}

export interface Step {
  /** The step as source code. */
  readonly text: string
  /** The numbers of its operands: inputs are counted first, then steps. */
  readonly operands: ReadonlyArray<number>
  readonly run: (operands: ReadonlyArray<ArrayOperand>) => Computed
  /** The result is a view of the operand's memory. */
  readonly isView: boolean
}

/** The mode in which some steps run. */
export interface Region {
  readonly mode: "eager" | "scoped" | "lazy" | "compiled"
  /** The steps from one, up to the other, exclusive. */
  readonly from: number
  readonly to: number
}

export interface Program {
  readonly inputs: ReadonlyArray<Input>
  readonly steps: ReadonlyArray<Step>
  readonly regions: ReadonlyArray<Region>
  /** The reference's array for each input and step. */
  readonly models: ReadonlyArray<ArrayModel>
}

/** The arrays that no step uses: the program's results. */
export const outputsOf = ({ inputs, steps }: Program): ReadonlyArray<number> => {
  const used = new Set(steps.flatMap(({ operands }) => operands))
  return steps.map((_, step) => inputs.length + step).filter((array) => !used.has(array))
}

/** The arrays of steps before `to` that later steps or the caller need. */
export const neededAfter = (program: Program, from: number, to: number): ReadonlyArray<number> => {
  const needed = new Set([
    ...outputsOf(program),
    ...program.steps.slice(to).flatMap(({ operands }) => operands)
  ])
  const first = program.inputs.length + from
  return Array.from({ length: to - from }, (_, step) => first + step).filter((array) => needed.has(array))
}

export const textOf = ({ inputs, models, regions, steps }: Program): string => {
  const modes = steps.map((_, step) => regions.find(({ from, to }) => from <= step && step < to)?.mode)
  return models.map(({ dtype, shape }, array) => {
    const step = array - inputs.length
    const made = step < 0 ? `${dtype} [${shape.join(", ")}]` : `${steps[step]!.text}: ${dtype} [${shape.join(", ")}]`
    return `  a${array} = ${made}${step < 0 ? "" : ` (${modes[step]})`}`
  }).join("\n")
}
