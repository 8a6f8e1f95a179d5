/**
 * Runs programs over arrays on the device.
 *
 * @internal
 */
import type { DeviceArray } from "@effect-gpu-pool/arrays/DeviceArray"
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, DType, LeaseHolder } from "effect-gpu-pool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Expect from "../Expect.ts"
import { type Input, neededAfter, outputsOf, type Program, type Region } from "./Program.ts"

type Arrays = Effect.Effect<ReadonlyMap<number, DeviceArray>, GpuError, DeviceArrays.ArrayServices>

/** The elements of arrays, by the arrays' numbers. */
export type Elements = ReadonlyMap<number, ArrayLike<number>>

export const upload = (inputs: ReadonlyArray<Input>): Arrays =>
  Effect.map(
    Effect.forEach(inputs, ({ dtype, numbers, shape }) => {
      const data = DType.viewUnsafe(dtype, new ArrayBuffer(numbers.length * DType.byteSize(dtype)), 0, numbers.length)
      data.set(numbers as never)
      return DeviceArrays.fromHost(data as Float32Array<ArrayBuffer>, { shape })
    }),
    (arrays) => new Map(arrays.entries())
  )

/** Runs every step eagerly, and returns the elements of all arrays with their own memory. */
export const runEagerly = (program: Program, inputs: ReadonlyMap<number, DeviceArray>) =>
  Effect.scoped(Effect.gen(function*() {
    const arrays = new Map(inputs)
    yield* runSteps(program, arrays, 0, program.steps.length)
    const outputs = new Set(outputsOf(program))
    return yield* elementsOf(program, arrays, (array, step) => outputs.has(array) || !step.isView)
  }))

/**
 * Runs each region in its mode, and returns the elements of the outputs. A region returns the arrays that later steps
 * need, or all.
 */
export const runInRegions = (
  program: Program,
  inputs: ReadonlyMap<number, DeviceArray>,
  leaves: "needed" | "all"
) =>
  Effect.scoped(Effect.gen(function*() {
    const arrays = new Map(inputs)
    for (const region of program.regions) {
      for (const [array, made] of yield* runRegion(program, arrays, region, leaves)) arrays.set(array, made)
      yield* expectHeld(arrays)
    }
    const outputs = new Set(outputsOf(program))
    return yield* elementsOf(program, arrays, (array) => outputs.has(array))
  }))

/**
 * Makes one nested expression of each output, whose operands are the effects of earlier steps, and returns the elements of the
 * outputs. Nothing but the inputs has memory afterwards.
 */
export const runNested = (program: Program, inputs: ReadonlyMap<number, DeviceArray>) =>
  Effect.gen(function*() {
    const operands = new Map<number, DeviceArrays.ArrayOperand>(inputs)
    for (const [step, { operands: taken, run }] of program.steps.entries()) {
      operands.set(program.inputs.length + step, run(taken.map((operand) => operands.get(operand)!)))
    }
    const elements = new Map<number, ArrayLike<number>>()
    for (const output of outputsOf(program)) {
      elements.set(output, (yield* DeviceArrays.toHost(operands.get(output)!)) as ArrayLike<number>)
    }
    yield* expectHeld(inputs)
    return elements
  })

const runSteps = (program: Program, arrays: Map<number, DeviceArray>, from: number, to: number) =>
  Effect.gen(function*() {
    for (let step = from; step < to; step++) {
      const { operands, run } = program.steps[step]!
      const made = yield* run(operands.map((operand) => arrays.get(operand)!))
      arrays.set(program.inputs.length + step, made)
    }
  })

/** The outer scope owns the arrays of an eager region, so this always returns all of them. */
const runRegion = (
  program: Program,
  before: ReadonlyMap<number, DeviceArray>,
  region: Region,
  leaves: "needed" | "all"
): Arrays => {
  const { from, mode, to } = region
  const stepsOn = Effect.fnUntraced(function*(given: ReadonlyMap<number, DeviceArray>) {
    const arrays = new Map(given)
    yield* runSteps(program, arrays, from, to)
    const numbers = mode === "eager" || leaves === "all"
      ? Array.from({ length: to - from }, (_, step) => program.inputs.length + from + step)
      : neededAfter(program, from, to)
    return { numbers, made: numbers.map((number) => arrays.get(number)!) }
  })
  const steps = stepsOn(before)
  const run = {
    eager: () => steps,
    lazy: () => DeviceArrays.lazy(steps),
    scoped: () => DeviceArrays.scoped(steps),
    compiled: () => twice(stepsOn, before)
  }
  return Effect.map(run[mode](), ({ made, numbers }) => new Map(numbers.map((number, at) => [number, made[at]!])))
}

/** The first run traces the steps; the result is that of a run which only replays them. */
const twice = <A>(
  steps: (arrays: ReadonlyMap<number, DeviceArray>) => Effect.Effect<A, GpuError, DeviceArrays.ArrayServices>,
  arrays: ReadonlyMap<number, DeviceArray>
) => {
  const numbers = [...arrays.keys()]
  const compiled = DeviceArrays.compile((operands: ReadonlyArray<DeviceArray>) =>
    steps(new Map(operands.map((operand, at) => [numbers[at]!, operand])))
  )
  const run = compiled([...arrays.values()])
  return Effect.andThen(Effect.scoped(run), run)
}

/** Checks that only arrays have leases of the pool. */
const expectHeld = (arrays: ReadonlyMap<number, DeviceArray>) =>
  Effect.map(BufferPool.stats, ({ activeBlocks }) => {
    const leases = [...LeaseHolder.leases([...arrays.values()])].filter(({ size }) => size > 0)
    Expect.equal("active blocks, one for each lease of a living array", activeBlocks, leases.length)
  })

const elementsOf = (
  program: Program,
  arrays: ReadonlyMap<number, DeviceArray>,
  isWanted: (array: number, step: Program["steps"][number]) => boolean
) =>
  Effect.gen(function*() {
    const elements = new Map<number, ArrayLike<number>>()
    for (const [at, step] of program.steps.entries()) {
      const array = program.inputs.length + at
      if (!isWanted(array, step)) continue
      const made = arrays.get(array)!
      const { dtype, shape } = program.models[array]!
      Expect.same(`type and shape of a${array}`, [made.dtype, made.shape], [dtype, shape])
      elements.set(array, (yield* DeviceArrays.toHost(made)) as ArrayLike<number>)
    }
    return elements
  })
