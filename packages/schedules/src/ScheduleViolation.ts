/**
 * What is wrong with a program in one of its schedules.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * How a schedule can be bad: see {@link ScheduleViolation}.
 *
 * @category models
 * @since 0.1.0
 */
export type ViolationKind = "failed" | "defect" | "waiting" | "endless" | "thrown" | "diverged"

/**
 * A schedule in which the program does not end well. The message says what happened, how to run the schedule again, which
 * lines of the program raced, and in a column for each fiber what it ran.
 *
 * **Details**
 *
 * `kind` is one of these:
 *
 * - `failed`: the program failed, or was interrupted;
 * - `defect`: the program or one of its fibers died;
 * - `waiting`: no fiber could run, no timer was left, and a fiber still waited;
 * - `endless`: the program took more than `maxSteps` steps;
 * - `thrown`: something outside of fibers threw, as an observer of a fiber can;
 * - `diverged`: the same schedule ran differently, so the program depends on more than its schedule.
 *
 * **Example** (Keeping a bad schedule as a test)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * let stock = 1
 * const buy = Effect.gen(function*() {
 *   if (stock === 0) return
 *   yield* Effect.yieldNow // another customer comes between
 *   stock -= 1
 * })
 * const program = Effect.gen(function*() {
 *   stock = 1
 *   yield* Effect.all([buy, buy], { concurrency: 2 })
 *   if (stock < 0) return yield* Effect.fail("sold twice")
 * })
 * const violation = await Effect.runPromise(Effect.flip(Schedules.explore(program)))
 * violation.kind // => "failed"
 * violation.path // => ""
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class ScheduleViolation extends Data.TaggedError("ScheduleViolation")<{
  readonly kind: ViolationKind
  /** For `Schedules.replay`. Empty for the usual schedule. */
  readonly path: string
  /** The seed of the random schedule that this one was shrunk from. */
  readonly seed: number | undefined
  /** How many good schedules ran before it. */
  readonly schedules: number
  /** The lines of the program that raced, and those that each fiber ran, in columns. */
  readonly trace: string
  readonly message: string
}> {}
