/**
 * Random jobs that request memory while they have some, and reserve beforehand the most that they need.
 */
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import type { Kind, SizedLease, SizedPool } from "./sizedPools.ts"

export type Step =
  | { readonly kind: "take"; readonly size: number }
  | { readonly kind: "lend"; readonly size: number; readonly inner: ReadonlyArray<Step> }
  | { readonly kind: "giveBack" }
  | { readonly kind: "pause" }
  | { readonly kind: "together"; readonly sizes: ReadonlyArray<number> }
  | { readonly kind: "reserve" | "budget" | "scope"; readonly inner: ReadonlyArray<Step> }
  | { readonly kind: "fork"; readonly parts: ReadonlyArray<ReadonlyArray<Step>> }

export const steps = (kind: Kind): fc.Arbitrary<ReadonlyArray<Step>> => {
  // There is no image without bytes.
  const size = fc.integer({ min: kind === "images" ? 1 : 0, max: 40 })
  return fc.letrec<{ step: Step; steps: ReadonlyArray<Step> }>((tie) => ({
    steps: fc.array(tie("step"), { maxLength: 5, depthIdentifier: "job" }),
    step: fc.oneof(
      { depthIdentifier: "job", maxDepth: 3 },
      fc.record({ kind: fc.constant("take" as const), size }),
      fc.record({ kind: fc.constant("giveBack" as const) }),
      fc.record({ kind: fc.constant("pause" as const) }),
      fc.record({ kind: fc.constant("together" as const), sizes: fc.array(size, { maxLength: 3 }) }),
      fc.record({ kind: fc.constant("lend" as const), size, inner: tie("steps") }),
      fc.record({
        kind: fc.constantFrom("reserve" as const, "budget" as const, "scope" as const),
        inner: tie("steps")
      }),
      fc.record({ kind: fc.constant("fork" as const), parts: fc.array(tie("steps"), { minLength: 2, maxLength: 3 }) })
    )
  })).steps
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)

/** The most bytes that the steps can have at a time, if nothing is released in between. */
export const peak = (all: ReadonlyArray<Step>): number =>
  sum(all.map((step) => {
    switch (step.kind) {
      case "take":
        return step.size
      case "together":
        return sum(step.sizes)
      case "lend":
        return step.size + peak(step.inner)
      case "fork":
        return sum(step.parts.map(peak))
      case "reserve":
      case "budget":
      case "scope":
        return peak(step.inner)
      default:
        return 0
    }
  }))

type Run = Effect.Effect<void, GpuError>

const run = (all: ReadonlyArray<Step>, pool: SizedPool): Run =>
  Effect.scoped(Effect.gen(function*() {
    const mine: Array<SizedLease> = []
    for (const step of all) {
      switch (step.kind) {
        case "take":
          mine.push(yield* pool.allocate(step.size))
          break
        case "giveBack": {
          const lease = mine.shift()
          if (lease !== undefined) yield* Lease.release(lease)
          break
        }
        case "pause":
          yield* Effect.yieldNow
          break
        case "together":
          mine.push(...yield* pool.allocateAll(step.sizes))
          break
        case "lend":
          yield* pool.use(step.size, () => run(step.inner, pool))
          break
        case "reserve":
          yield* reserving(step.inner, pool)
          break
        case "budget":
          yield* Effect.flatMap(pool.budget(peak(step.inner)), (budget) => run(step.inner, budget))
          break
        case "scope":
          yield* run(step.inner, pool)
          break
        case "fork":
          yield* Effect.forEach(step.parts, (part) => run(part, pool), { concurrency: "unbounded", discard: true })
          break
      }
    }
  }))

/** A job that leases nothing before everything that it may need is reserved. */
export const reserving = (all: ReadonlyArray<Step>, pool: SizedPool): Run =>
  pool.reserve(peak(all), (reserved) => run(all, reserved))
