/**
 * Random programs over arrays against the reference, each eagerly and region by region.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { isSharp } from "../expressions/Interval.ts"
import { allows } from "../expressions/Reference.ts"
import { numberText } from "../expressions/Text.ts"
import { valueText } from "../expressions/Trials.ts"
import { forSeeds, seeds } from "../Random.ts"
import { anyProgram } from "./AnyProgram.ts"
import { type Elements, runEagerly, runInRegions, runNested, upload } from "./Execution.ts"
import { type Program, textOf } from "./Program.ts"

const test = inGroup("arrays")

/** How many elements of the arrays could be compared. */
interface Compared {
  elements: number
  sharp: number
}

/** Every program has its own kernels, which a slow driver compiles for half a second. */
const programsOn = { none: 200, fast: 20, slow: 6 }

/** Which outputs regions leave: the same operations with other outputs need other kernels. */
const leavingOn = { none: ["needed", "all"], fast: ["needed"], slow: ["needed"] } as const

const programs = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  const rules = info.traits.floats
  const dtypes: ReadonlyArray<DType> = (["f32", "f32", "i32", "i32", "u32", "f16", "f64"] as const)
    .filter((dtype) => info.dtypes.has(dtype))
  const count = yield* scaled(programsOn[info.traits.compiling], 4)
  const compared: Compared = { elements: 0, sharp: 0 }
  yield* forSeeds(
    seeds(count),
    (random) => one(anyProgram(random, { dtypes, steps: 10, rules }), leavingOn[info.traits.compiling], compared)
  )
  const { elements, sharp } = compared
  Expect.isTrue(`${sharp} of ${elements} elements could be compared, half of them must`, sharp >= elements / 2)
})

const one = (
  program: Program,
  leaving: ReadonlyArray<"needed" | "all">,
  compared: Compared
) =>
  Effect.gen(function*() {
    const inputs = yield* upload(program.inputs)
    const before = (yield* BufferPool.stats).activeBlocks
    const eager = yield* runEagerly(program, inputs)
    compare(program, eager, compared)
    expectSame(eager, yield* runNested(program, inputs))
    for (const leaves of leaving) {
      const mixed = yield* runInRegions(program, inputs, leaves)
      compare(program, mixed, compared)
      expectSame(eager, mixed)
    }
    Expect.equal("active blocks after the program", (yield* BufferPool.stats).activeBlocks, before)
  }).pipe(
    Effect.scoped,
    Effect.catchCause((cause) =>
      Effect.sync(() => Expect.fail(`${Cause.pretty(cause)}\nof the program\n${textOf(program)}`))
    )
  )

const compare = (program: Program, found: Elements, compared: Compared): void => {
  for (const [array, elements] of found) {
    const model = program.models[array]!
    Expect.equal(`elements of a${array}`, elements.length, model.elements.length)
    for (const [at, expected] of model.elements.entries()) {
      compared.elements += 1
      if (expected === undefined) continue
      if (typeof expected !== "object" || isSharp(expected)) compared.sharp += 1
      if (!allows(expected, elements[at]!)) {
        Expect.fail(`a${array} has ${numberText(elements[at]!)} at ${at}, expected ${valueText(expected)}`)
      }
    }
  }
}

/** Compares the bits of numbers; NaN equals any NaN. */
const expectSame = (eager: Elements, mixed: Elements): void => {
  for (const [array, elements] of mixed) {
    const expected = eager.get(array)!
    for (let at = 0; at < elements.length; at++) {
      if (Object.is(elements[at], expected[at])) continue
      Expect.fail(
        `a${array} is ${numberText(expected[at]!)} at ${at} eagerly, and ${numberText(elements[at]!)} in another form`
      )
    }
  }
}

export const tests: ReadonlyArray<ConformanceTest> = [
  test(
    "random programs give what nested loops do, eagerly, scoped, lazily, compiled and as nested expressions",
    { heavy: true },
    programs
  )
]
