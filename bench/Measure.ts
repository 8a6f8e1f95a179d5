/** One quantity, measured several times. */
import { Schema } from "effect"
import { max, median, min } from "simple-statistics"

/** No name stands for things that are counted. */
export const Unit = Schema.Literals(["ns", "µs", "ms", "B", "MiB", "%", "x", "/s", ""])

export type Unit = typeof Unit.Type

export const Measure = Schema.Struct({ unit: Unit, samples: Schema.NonEmptyArray(Schema.Finite) })

export type Measure = typeof Measure.Type

export const make = (unit: Unit, samples: ReadonlyArray<number>): Measure => {
  const [first, ...others] = samples
  if (first === undefined) throw new Error(`a measure in ${unit} needs at least one sample`)
  return { unit, samples: [first, ...others] }
}

/** What counts: the median of the samples. */
export const middle = ({ samples }: Measure): number => median([...samples])

export const least = ({ samples }: Measure): number => min([...samples])

export const most = ({ samples }: Measure): number => max([...samples])

/** One sample from each process: the median of what it measured. */
export const medians = (unit: Unit, processes: ReadonlyArray<ReadonlyArray<number>>): Measure =>
  make(unit, processes.map((samples) => median([...samples])))

export const scale = ({ samples }: Measure, unit: Unit, factor: number): Measure =>
  make(unit, samples.map((sample) => sample * factor))

/** The ratio of two measures that were not taken in pairs: each sample over the median of the other. */
export const ratioToMiddle = (over: Measure, under: Measure): Measure =>
  make("x", over.samples.map((sample) => sample / middle(under)))

const decimals = (size: number): number => size < 0.1 ? 4 : size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0

const figure = (value: number, unit: Unit): string =>
  value.toFixed(value === 0 || unit === "" ? 0 : unit === "%" ? 2 : decimals(Math.abs(value)))

/** The median, and the least and the most of the samples where they tell more. */
export const format = (measure: Measure): string => {
  const [value, from, to] = [middle, least, most].map((pick) => figure(pick(measure), measure.unit))
  return `${value}${measure.unit === "" ? "" : ` ${measure.unit}`}${from === to ? "" : ` [${from}..${to}]`}`
}
