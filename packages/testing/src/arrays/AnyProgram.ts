/**
 * Random programs over arrays, with the reference's result for each of their arrays.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import { anyNumber, calmNumber } from "../expressions/AnyNumber.ts"
import { isFloat } from "../expressions/FloatFormat.ts"
import { read } from "../expressions/Reference.ts"
import { numberText } from "../expressions/Text.ts"
import type { Random } from "../Random.ts"
import { anyJoin, type Joined } from "./AnyJoin.ts"
import { anyScan } from "./AnyScan.ts"
import { anyFactors, anyNarrower, anyShape, shuffled } from "./AnyShape.ts"
import { anyWrite } from "./AnyWrite.ts"
import { call } from "./ArrayFunctions.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { castValue, type ElementOperation, elementOperations } from "./ElementOperations.ts"
import { matrixProduct, productShape } from "./MatrixProduct.ts"
import { inRange, placeOf } from "./Positions.ts"
import type { Input, Program, Region, Step } from "./Program.ts"
import { reductions } from "./Reductions.ts"

type Model = ArrayModel.ArrayModel

/** The largest size of an array, so that the reference stays fast. */
const maxSize = 3000

export interface ProgramOptions {
  readonly dtypes: ReadonlyArray<DType>
  readonly steps: number
  readonly rules: FloatRules
}

export const anyProgram = (random: Random, options: ProgramOptions): Program => {
  const builder = new Builder(random, options)
  while (builder.steps.length < options.steps) builder.step()
  return {
    inputs: builder.inputs,
    steps: builder.steps,
    models: builder.models,
    regions: anyRegions(random, builder.steps.length)
  }
}

const anyRegions = (random: Random, steps: number): ReadonlyArray<Region> => {
  const regions: Array<Region> = []
  for (let from = 0; from < steps;) {
    const to = Math.min(steps, from + random.integer(1, 8))
    regions.push({ mode: random.pick(["lazy", "compiled", "scoped", "eager"]), from, to })
    from = to
  }
  return regions
}

const indexText = (array: number): string => `a${array}`

class Builder {
  readonly inputs: Array<Input> = []
  readonly steps: Array<Step> = []
  readonly models: Array<Model> = []
  readonly #random: Random
  readonly #options: ProgramOptions

  constructor(random: Random, options: ProgramOptions) {
    this.#random = random
    this.#options = options
    const shape = anyShape(random)
    for (let input = random.integer(2, 4); input > 0; input--) this.#input(anyNarrower(random, shape))
  }

  /** Adds one random step, unless it is impossible. */
  step(): void {
    this.#random.weighted([
      [3, () => this.#view()],
      [2, () => this.#reduction()],
      [1, () => this.#made(anyScan(this.#random, this.models, this.#any(), this.#options.rules))],
      [1, () => this.#take()],
      [1, () => this.#product()],
      [3, () => this.#joinOrWrite()],
      [1, () => this.#cast()],
      [6, () => this.#elementwise()]
    ])
  }

  #input(shape: ReadonlyArray<number>): void {
    const { dtypes, rules } = this.#options
    const dtype = this.#random.pick(dtypes)
    // One NaN makes a whole sum NaN, so most arrays have none.
    const calm = this.#random.integer(0, 3) > 0
    const numbers = Array.from(
      { length: ArrayModel.sizeOf(shape) },
      () => (calm ? calmNumber(this.#random, dtype) : anyNumber(this.#random, dtype)) as number
    )
    this.inputs.push({ dtype, shape, numbers })
    this.models.push({ dtype, shape, elements: numbers.map((number) => read(number, dtype, rules)) })
  }

  #add(model: Model, text: string, operands: ReadonlyArray<number>, run: Step["run"], isView = false): void {
    this.models.push(model)
    this.steps.push({ text, operands, run, isView })
  }

  /** A random array, more often one of the last ones. */
  #any(): number {
    const random = this.#random
    const last = this.models.length - 1
    return random.integer(0, 1) === 0 ? random.integer(Math.max(0, last - 3), last) : random.integer(0, last)
  }

  /** An array that broadcasts with all of these to a shape that is not too large. */
  #beside(shapes: ReadonlyArray<ReadonlyArray<number>>): number {
    const fitting = this.models.flatMap(({ shape }, array) => {
      const common = ArrayModel.broadcastShape([...shapes, shape])
      return common !== undefined && ArrayModel.sizeOf(common) <= maxSize ? [array] : []
    })
    return this.#random.pick(fitting)
  }

  #elementwise(): void {
    const random = this.#random
    const array = this.#any()
    const { dtype } = this.models[array]!
    const operation = random.pick(elementOperations)
    const operands: Array<number | { readonly literal: number }> = [array]
    while (operands.length < operation.arity) {
      const arrays = operands.filter((operand) => typeof operand === "number")
      operands.push(
        random.integer(0, 3) === 0
          ? { literal: this.#literal(operation, dtype) }
          : this.#beside(arrays.map((of) => this.models[of]!.shape))
      )
    }
    if (operation.arity === 2 && operation.name !== "power" && random.integer(0, 3) === 0) operands.reverse()
    this.#apply(operation, operands)
  }

  /** A number that the operation accepts beside an array. */
  #literal({ name }: ElementOperation, dtype: DType): number {
    if (name === "power") return this.#random.integer(0, 4)
    return isFloat(dtype) && name !== "where" ? anyNumber(this.#random, dtype) as number : this.#random.integer(0, 9)
  }

  #apply(operation: ElementOperation, operands: ReadonlyArray<number | { readonly literal: number }>): void {
    const { rules } = this.#options
    const arrays = operands.filter((operand) => typeof operand === "number")
    // A number takes the type of an array operand; in `where`, of the other choice.
    const beside = operation.name === "where" ? arrays.at(-1)! : arrays[0]!
    if (operation.name === "where" && typeof operands[0] !== "number") return
    const fallback = operation.name === "where" && arrays.length === 1 ? "f32" : this.models[beside]!.dtype
    const given = operands.map((operand) => typeof operand === "number" ? this.models[operand]!.dtype : fallback)
    const types = operation.types(given)
    if (types === undefined) return
    const shape = ArrayModel.broadcastShape(arrays.map((array) => this.models[array]!.shape))!
    const result = operation.result(types)
    const model = ArrayModel.build(result, shape, (position) => {
      const values = operands.map((operand, at) =>
        typeof operand === "number"
          ? castValue(ArrayModel.broadcastAt(this.models[operand]!, position), given[at]!, types[at]!, rules)
          : read(operand.literal, types[at]!, rules)
      )
      return operation.value(values, types, rules)
    })
    const texts = operands.map((operand) =>
      typeof operand === "number" ? indexText(operand) : numberText(operand.literal)
    )
    this.#add(model, `${operation.name}(${texts.join(", ")})`, arrays, (found) => {
      const next = found[Symbol.iterator]()
      const args = operands.map((operand) => typeof operand === "number" ? next.next().value : operand.literal)
      return call(operation.name, args)
    })
  }

  #cast(): void {
    const array = this.#any()
    const { dtype, elements, shape } = this.models[array]!
    const target = this.#random.pick(this.#options.dtypes)
    const values = elements.map((value) => castValue(value, dtype, target, this.#options.rules))
    this.#add(
      { dtype: target, shape, elements: values },
      `astype(${indexText(array)}, "${target}")`,
      [array],
      ([x]) => call("astype", [x, target])
    )
  }

  /** Often makes a view of a view, to combine the strides and offsets of both. */
  #view(): void {
    const random = this.#random
    const views = this.steps.flatMap(({ isView }, step) => isView ? [this.inputs.length + step] : [])
    const array = views.length > 0 && random.integer(0, 1) === 0 ? random.pick(views) : this.#any()
    random.weighted([
      [2, () => this.#slice(array)],
      [1, () => this.#transpose(array)],
      [1, () => this.#reshape(array)],
      [1, () => this.#broadcast(array)],
      [1, () => this.#flip(array)],
      [1, () => this.#axesOfOne(array)]
    ])
  }

  #viewed(name: string, array: number, parameter: unknown, model: Model): void {
    const text = parameter === undefined ? "" : `, ${JSON.stringify(parameter)}`
    const args = parameter === undefined ? [] : [parameter]
    this.#add(model, `${name}(${indexText(array)}${text})`, [array], ([x]) => call(name, [x, ...args]), true)
  }

  #slice(array: number): void {
    const random = this.#random
    const model = this.models[array]!
    const ranges: Array<number | { start?: number; stop?: number; step?: number }> = []
    const chosen = model.shape.map((length): number | ReadonlyArray<number> => {
      if (length > 0 && random.integer(0, 4) === 0) {
        const position = random.integer(-length, length - 1)
        ranges.push(position)
        return position < 0 ? position + length : position
      }
      const start = random.integer(-length - 1, length + 1)
      const stop = random.integer(-length - 1, length + 1)
      const step = random.pick([1, 1, 2, 3, -1, -2])
      switch (random.integer(0, 3)) {
        case 0:
          ranges.push({})
          return inRange(length, undefined, undefined, 1)
        case 1:
          ranges.push({ start })
          return inRange(length, start, undefined, 1)
        case 2:
          ranges.push({ step })
          return inRange(length, undefined, undefined, step)
        default:
          ranges.push({ start, stop, step })
          return inRange(length, start, stop, step)
      }
    })
    this.#viewed("slice", array, ranges, ArrayModel.pick(model, chosen))
  }

  #transpose(array: number): void {
    const model = this.models[array]!
    if (this.#random.integer(0, 1) === 0) {
      const backwards = model.shape.map((_, axis) => model.shape.length - 1 - axis)
      return this.#viewed("transpose", array, undefined, ArrayModel.transpose(model, backwards))
    }
    const order = shuffled(this.#random, [...model.shape.keys()])
    this.#viewed("transpose", array, order, ArrayModel.transpose(model, order))
  }

  #reshape(array: number): void {
    const model = this.models[array]!
    const shape = anyFactors(this.#random, model.elements.length)
    this.#viewed("reshape", array, shape, ArrayModel.reshape(model, shape))
  }

  #broadcast(array: number): void {
    const random = this.#random
    const model = this.models[array]!
    const wider = model.shape.map((length) =>
      length === 1 && random.integer(0, 1) === 0 ? random.integer(0, 4) : length
    )
    const shape = model.shape.length < 4 && random.integer(0, 1) === 0 ? [random.integer(1, 3), ...wider] : wider
    if (ArrayModel.sizeOf(shape) > maxSize) return
    this.#viewed("broadcastTo", array, shape, ArrayModel.broadcastTo(model, shape))
  }

  #flip(array: number): void {
    const model = this.models[array]!
    const axes = model.shape.map((_, axis) => axis).filter(() => this.#random.integer(0, 1) === 0)
    const chosen = model.shape.map((length, axis) =>
      inRange(length, undefined, undefined, axes.includes(axis) ? -1 : 1)
    )
    this.#viewed("flip", array, axes, ArrayModel.pick(model, chosen))
  }

  #axesOfOne(array: number): void {
    const model = this.models[array]!
    if (this.#random.integer(0, 1) === 0) {
      const shape = model.shape.filter((length) => length !== 1)
      return this.#viewed("squeeze", array, undefined, ArrayModel.reshape(model, shape))
    }
    if (model.shape.length >= 4) return
    const axis = this.#random.integer(0, model.shape.length)
    const shape = [...model.shape.slice(0, axis), 1, ...model.shape.slice(axis)]
    this.#viewed("expandDims", array, axis, ArrayModel.reshape(model, shape))
  }

  #reduction(): void {
    const random = this.#random
    const array = this.#any()
    const model = this.models[array]!
    const reduction = random.pick(reductions)
    const rank = model.shape.length
    const whole = rank === 0 || random.integer(0, 2) === 0
    const several = !whole && reduction.oneAxis !== true && random.integer(0, 1) === 0
    const axis = whole
      ? undefined
      : several
      ? shuffled(random, [...model.shape.keys()]).slice(0, random.integer(0, rank))
      : random.integer(-rank, rank - 1)
    const keepDims = random.integer(0, 3) === 0
    const axes = axis === undefined
      ? [...model.shape.keys()]
      : (typeof axis === "number" ? [axis] : [...axis].sort()).map((of) => of < 0 ? of + rank : of)
    const initial = reduction.initial && random.integer(0, 2) === 0 ? random.integer(0, 9) : undefined
    if (reduction.needsElements && initial === undefined && axes.some((of) => model.shape[of] === 0)) return
    const { rules } = this.#options
    const first = initial === undefined ? [] : [read(initial, model.dtype, rules)]
    const result = ArrayModel.reduce(
      model,
      axes,
      keepDims,
      reduction.result(model.dtype),
      (elements) => reduction.value([...elements, ...first], model.dtype, rules)
    )
    const options = { axis, keepDims, initial }
    this.#add(
      result,
      `${reduction.name}(${indexText(array)}, ${JSON.stringify(options)})`,
      [array],
      ([x]) => call(reduction.name, [x, options])
    )
  }

  #take(): void {
    const random = this.#random
    const array = this.#any()
    const model = this.models[array]!
    const axis = model.shape.length === 0 || random.integer(0, 3) === 0
      ? undefined
      : random.integer(0, model.shape.length - 1)
    const length = axis === undefined ? model.elements.length : model.shape[axis]!
    if (length === 0) return
    const source = axis === undefined ? ArrayModel.reshape(model, [length]) : model
    if (random.integer(0, 1) === 0) return this.#takeListed(array, source, axis, length)
    const whole = this.models.flatMap(({ dtype }, at) => isFloat(dtype) ? [] : [at])
    if (whole.length === 0) return
    const indices = random.pick(whole)
    const positions = this.models[indices]!
    const size = model.elements.length / length * positions.elements.length
    if (size > maxSize) return
    const mode = random.pick(["clip", "wrap"] as const)
    const taken = ArrayModel.take(source, positions.shape, (position) => {
      const index = ArrayModel.at(positions, position)
      return typeof index !== "number" ? undefined : placeOf(index, length, mode)
    }, axis ?? 0)
    const options = { mode, ...(axis !== undefined && { axis }) }
    this.#add(
      taken,
      `take(${indexText(array)}, ${indexText(indices)}, ${JSON.stringify(options)})`,
      [array, indices],
      ([x, at]) => call("take", [x, at, options])
    )
  }

  #takeListed(array: number, source: Model, axis: number | undefined, length: number): void {
    const random = this.#random
    const list = Array.from({ length: random.integer(0, 4) }, () => random.integer(-length, length - 1))
    const taken = ArrayModel.take(
      source,
      [list.length],
      ([at]) => list[at!]! < 0 ? list[at!]! + length : list[at!]!,
      axis ?? 0
    )
    if (taken.elements.length > maxSize) return
    const options = axis === undefined ? [] : [{ axis }]
    this.#add(
      taken,
      `take(${indexText(array)}, ${JSON.stringify(list)}, ${JSON.stringify(options[0])})`,
      [array],
      ([x]) => call("take", [x, Int32Array.from(list), ...options])
    )
  }

  #joinOrWrite(): void {
    const { rules } = this.#options
    const array = this.#any()
    this.#made(
      this.#random.integer(0, 2) === 0
        ? anyWrite(this.#random, this.models, array, rules)
        : anyJoin(this.#random, this.models, array, rules, maxSize)
    )
  }

  #made(step: Joined | undefined): void {
    if (step === undefined || step.model.elements.length > maxSize) return
    this.#add(step.model, step.text, step.operands, step.run, step.isView)
  }

  #product(): void {
    const random = this.#random
    const left = this.#any()
    if (random.integer(0, 1) === 0) return this.#productWithPart(left)
    const { shape } = this.models[left]!
    const fitting = this.models.flatMap((model, array) => {
      const product = productShape(shape, model.shape)
      return product !== undefined && ArrayModel.sizeOf(product) <= maxSize / 4 ? [array] : []
    })
    if (fitting.length > 0) this.#multiply(left, random.pick(fitting))
  }

  /** A batch of matrices, with another layout and one of them transposed, whose product always exists. */
  #productWithPart(array: number): void {
    const { elements, shape } = this.models[array]!
    const rank = shape.length
    if (rank < 2 || elements.length === 0 || elements.length > maxSize / 20) return
    this.#viewed("slice", array, shape.slice(2).map(() => 0), this.#first(array))
    const matrix = this.models.length - 1
    const turned = ArrayModel.transpose(this.models[matrix]!, [1, 0])
    this.#viewed("transpose", matrix, undefined, turned)
    const right = this.models.length - 1
    const order = [...shape.keys()]
    const others = [...shuffled(this.#random, order.filter((axis) => axis !== rank - 1)), rank - 1]
    this.#viewed("transpose", array, others, ArrayModel.transpose(this.models[array]!, others))
    this.#multiply(this.models.length - 1, right)
  }

  /** The first matrix of a batch. */
  #first(array: number): Model {
    const model = this.models[array]!
    const leading = model.shape.length - 2
    return ArrayModel.pick(
      model,
      model.shape.map((length, axis) => axis < leading ? 0 : Array.from({ length }, (_, index) => index))
    )
  }

  #multiply(left: number, right: number): void {
    const model = matrixProduct(this.models[left]!, this.models[right]!, this.#options.rules)
    this.#add(
      model,
      `matmul(${indexText(left)}, ${indexText(right)})`,
      [left, right],
      ([x, y]) => call("matmul", [x, y])
    )
  }
}
