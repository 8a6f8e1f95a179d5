/** Random cases of two programs, and what each of them has to give. */
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import type { LibraryName } from "./libraries.ts"
import type { Case, Step } from "./Program.ts"
import type { Answer } from "./run.ts"

export const pairs: ReadonlyArray<readonly [LibraryName, LibraryName]> = [
  ["TypeGPU", "three.js"],
  ["TypeGPU", "jax-js"],
  ["three.js", "jax-js"]
]

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("make", "make", "read", "end"),
  size: fc.nat(3),
  value: fc.integer({ min: 1, max: 9 }),
  which: fc.nat(9)
})

const program = fc.array(step, { minLength: 4, maxLength: 12 })

const anyCase: fc.Arbitrary<Case> = fc.record({
  programs: fc.tuple(program, program),
  turns: fc.array(fc.nat(1), { minLength: 1, maxLength: 40 })
})

type Runner = (one: Case) => Promise<Answer>

export interface Checked {
  /** The first case that gives something else, as fast-check reports it. */
  readonly problem: string | undefined
  /** Of the pool, at the last case. */
  readonly hits: number
}

/** Runs cases with a pool until one gives other results than its programs alone, without one. */
export const check = async (alone: Runner, together: Runner, numRuns: number): Promise<Checked> => {
  let hits = 0
  const details = await fc.check(
    fc.asyncProperty(anyCase, async (one) => {
      const { errors, results, stats } = await together(one)
      hits = stats!.hits
      deepStrictEqual([results, errors], [(await alone(one)).results, []])
    }),
    { numRuns }
  )
  return { problem: details.failed ? fc.defaultReportMessage(details) ?? "a case fails" : undefined, hits }
}
