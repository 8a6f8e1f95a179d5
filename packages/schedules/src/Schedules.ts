/**
 * Explored schedules: runs a program once for each order in which its fibers can run, and finds an order in which it
 * fails, dies, hangs or does not end.
 *
 * **Details**
 *
 * Effect's run loop may stop a fiber between any two steps (it does so after 2,048 operations), and then another fiber
 * runs. That fiber may change what the first one checked a step ago, in one run out of a million. The explorer controls
 * the scheduler, the clock and what runs in `Tasks`, and decides at every step which fiber runs. The usual order is
 * that of Effect: a fiber runs until it waits, then the next ready one runs, and time passes when no fiber can run. Any
 * other choice is a deviation, and a schedule is the list of its deviations.
 *
 * An explored program must depend on its schedule alone: no promises, no timers but Effect's, no state that stays from
 * one run to the next. What it loads at its first use must be loaded before.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import * as Scheduler from "effect/Scheduler"
import * as Exploration from "./Exploration.ts"
import { ScheduledRun } from "./ScheduledRun.ts"
import { parse } from "./SchedulePath.ts"
import type { ScheduleViolation } from "./ScheduleViolation.ts"
import { everySchedule, randomSchedules } from "./Search.ts"
import type { Woken } from "./VirtualClock.ts"

export type { Report } from "./Exploration.ts"
export { ScheduleViolation, type ViolationKind } from "./ScheduleViolation.ts"
export { type TaskQueue, Tasks } from "./Tasks.ts"

/**
 * The bounds of `explore`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExploreOptions {
  /**
   * The most deviations from the usual order in one schedule, 2 when left out. `Infinity` runs all schedules, which is
   * possible only for programs of few steps.
   */
  readonly deviations?: number | undefined
  /** The most schedules to run, 100,000 when left out. */
  readonly maxSchedules?: number | undefined
  /** A schedule with more steps than this does not end: 10,000 when left out. */
  readonly maxSteps?: number | undefined
  /** Characters in a line of the trace: 120 when left out, at least 60. */
  readonly width?: number | undefined
}

/**
 * How many random schedules to run, and of which kind.
 *
 * @category models
 * @since 0.1.0
 */
export interface RandomOptions {
  /** The same seed makes the same schedules: 1 when left out. */
  readonly seed?: number | undefined
  /** How many schedules to run, 1,000 when left out. */
  readonly schedules?: number | undefined
  /** The most deviations in most of the schedules, 5 when left out; every eighth has any number. */
  readonly deviations?: number | undefined
  /** A schedule with more steps than this does not end: 10,000 when left out. */
  readonly maxSteps?: number | undefined
  /** Characters in a line of the trace: 120 when left out, at least 60. */
  readonly width?: number | undefined
}

/**
 * How a schedule is run again.
 *
 * @category models
 * @since 0.1.0
 */
export type ReplayOptions = Pick<ExploreOptions, "maxSteps" | "width">

const programFirst = (args: ArrayLike<unknown>): boolean => Effect.isEffect(args[0])

/** A run of 0 schedules would look like success. */
const count = (operation: string, name: string, value: number | undefined, without: number, least: number): number => {
  if (value === undefined) return without
  if (value >= least && (value === Infinity || Number.isInteger(value))) return value
  throw new TypeError(`${operation}: ${name} ${value} is no whole number of at least ${least}.`)
}

const stepsOf = (operation: string, options: { readonly maxSteps?: number | undefined }): number =>
  count(operation, "maxSteps", options.maxSteps, 10_000, 1)

const widthOf = (operation: string, options: { readonly width?: number | undefined }): number =>
  count(operation, "width", options.width, 120, 60)

/**
 * Runs every schedule of a program with at most `deviations` deviations from the usual order, the fewest first. Fails
 * with the first bad one, shortened as far as possible. Dies with a TypeError for a number out of range.
 *
 * **Example** (A counter that loses an update)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const program = Effect.suspend(() => {
 *   let count = 0
 *   const read = Effect.sync(() => count)
 *   const increment = Effect.flatMap(read, (seen) => Effect.sync(() => {
 *     count = seen + 1
 *   }))
 *   return Effect.all([increment, increment], { concurrency: 2 }).pipe(
 *     Effect.andThen(Effect.suspend(() => count === 2 ? Effect.void : Effect.fail(`counted ${count}`)))
 *   )
 * })
 * const violation = await Effect.runPromise(Effect.flip(Schedules.explore(program)))
 * violation.kind // => "failed"
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const explore: {
  /**
   * Runs every schedule of a program with at most `deviations` deviations from the usual order, the fewest first. Fails
   * with the first bad one, shortened as far as possible. Dies with a TypeError for a number out of range.
   */
  (
    options?: ExploreOptions
  ): (program: Effect.Effect<unknown, unknown>) => Effect.Effect<Exploration.Report, ScheduleViolation>
  (
    program: Effect.Effect<unknown, unknown>,
    options?: ExploreOptions
  ): Effect.Effect<Exploration.Report, ScheduleViolation>
} = dual(
  programFirst,
  (
    program: Effect.Effect<unknown, unknown>,
    options: ExploreOptions = {}
  ): Effect.Effect<Exploration.Report, ScheduleViolation> =>
    Effect.suspend(() => {
      const operation = "Schedules.explore"
      const deviations = count(operation, "deviations", options.deviations, 2, 0)
      return Exploration.explore(program, everySchedule(deviations), {
        maxSteps: stepsOf(operation, options),
        maxSchedules: count(operation, "maxSchedules", options.maxSchedules, 100_000, 1),
        seed: undefined,
        width: widthOf(operation, options)
      })
    })
)

/**
 * Runs random schedules of a program, for programs with too many to run all. Fails with the first bad one, shortened as
 * far as possible; the error names the seed and the path. Dies with a TypeError for a number out of range.
 *
 * **Example** (Ten fibers under a semaphore)
 *
 * ```ts
 * import { Effect, Semaphore } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const program = Effect.flatMap(Semaphore.make(2), (semaphore) => {
 *   const job = semaphore.withPermit(Effect.yieldNow)
 *   return Effect.all(Array.from({ length: 10 }, () => job), { concurrency: "unbounded" })
 * })
 * const { schedules } = await Effect.runPromise(Schedules.random(program, { schedules: 200, seed: 42 }))
 * schedules // => 200
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const random: {
  /**
   * Runs random schedules of a program, for programs with too many to run all. Fails with the first bad one, shortened as
   * far as possible; the error names the seed and the path. Dies with a TypeError for a number out of range.
   */
  (
    options?: RandomOptions
  ): (program: Effect.Effect<unknown, unknown>) => Effect.Effect<Exploration.Report, ScheduleViolation>
  (
    program: Effect.Effect<unknown, unknown>,
    options?: RandomOptions
  ): Effect.Effect<Exploration.Report, ScheduleViolation>
} = dual(
  programFirst,
  (
    program: Effect.Effect<unknown, unknown>,
    options: RandomOptions = {}
  ): Effect.Effect<Exploration.Report, ScheduleViolation> =>
    Effect.suspend(() => {
      const operation = "Schedules.random"
      const seed = count(operation, "seed", options.seed, 1, Number.MIN_SAFE_INTEGER)
      const deviations = count(operation, "deviations", options.deviations, 5, 1)
      return Exploration.explore(program, randomSchedules(seed, deviations), {
        maxSteps: stepsOf(operation, options),
        maxSchedules: count(operation, "schedules", options.schedules, 1000, 1),
        seed,
        width: widthOf(operation, options)
      })
    })
)

/**
 * Runs one schedule again, from the path that an error named, and returns its trace: which lines each fiber ran.
 * Fails with the same violation. Dies with a TypeError for a text that is no path.
 *
 * **Example** (The usual schedule)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const program = Schedules.named("greeter")(Effect.andThen(Effect.yieldNow, Effect.sync(() => "hello")))
 * const trace = await Effect.runPromise(Schedules.replay(program, ""))
 * trace.includes("greeter (fiber 1)") // => true
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const replay: {
  /**
   * Runs one schedule again, from the path that an error named, and returns its trace: which lines each fiber ran.
   * Fails with the same violation. Dies with a TypeError for a text that is no path.
   */
  (
    path: string,
    options?: ReplayOptions
  ): (program: Effect.Effect<unknown, unknown>) => Effect.Effect<string, ScheduleViolation>
  (
    program: Effect.Effect<unknown, unknown>,
    path: string,
    options?: ReplayOptions
  ): Effect.Effect<string, ScheduleViolation>
} = dual(
  programFirst,
  (
    program: Effect.Effect<unknown, unknown>,
    path: string,
    options: ReplayOptions = {}
  ): Effect.Effect<string, ScheduleViolation> =>
    Effect.suspend(() => {
      const operation = "Schedules.replay"
      const parsed = parse(path)
      if (parsed === undefined) {
        throw new TypeError(`${operation}: ${JSON.stringify(path)} is no path of a schedule, as "41:1 52:2".`)
      }
      return Exploration.replay(program, parsed, {
        maxSteps: stepsOf(operation, options),
        maxSchedules: 1,
        seed: undefined,
        width: widthOf(operation, options)
      })
    })
)

const currentRun = (fiber: Fiber.Fiber<unknown, unknown>): ScheduledRun | undefined => {
  const scheduler = fiber.getRef(Scheduler.Scheduler)
  return scheduler instanceof ScheduledRun ? scheduler : undefined
}

const waiting = (schedule: (run: ScheduledRun, task: () => void) => Woken): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const run = currentRun(fiber)
    if (run === undefined) return Effect.yieldNow
    return Effect.callback((resume) => {
      const woken = schedule(run, () => resume(Exit.void))
      return Effect.sync(() => woken.cancel())
    })
  })

/**
 * Names the fiber that runs the effect, for traces. Does nothing outside of an exploration.
 *
 * **Example** (Two fibers with names)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const both = Effect.all([Schedules.named("one")(Effect.void), Schedules.named("other")(Effect.void)], { concurrency: 2 })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const named: {
  /** Names the fiber that runs the effect, for traces. Does nothing outside of an exploration. */
  (name: string): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(effect: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      currentRun(fiber)?.nameFiber(fiber, name)
      return effect
    })
)

/**
 * Runs `intruder` in a new fiber at any step of `program`. One deviation runs all of it there, more split it in pieces.
 * In the usual order it runs when nothing else can. Ends when both have ended, with the exit of `program`.
 *
 * **Details**
 *
 * The intruder gets the program's fiber, to interrupt it, or to see whether it has ended. Outside of an exploration it is
 * an ordinary fiber.
 *
 * **Example** (Interrupted at any step)
 *
 * ```ts
 * import { Effect, Fiber } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const program = Effect.suspend(() => {
 *   let open = 0
 *   const work = Effect.acquireUseRelease(
 *     Effect.sync(() => open++),
 *     () => Effect.yieldNow,
 *     () => Effect.sync(() => open--)
 *   )
 *   return Effect.exit(Schedules.withIntruder(work, Fiber.interrupt)).pipe(
 *     Effect.andThen(Effect.suspend(() => open === 0 ? Effect.void : Effect.fail("it is open")))
 *   )
 * })
 * const { complete } = await Effect.runPromise(Schedules.explore(program, { deviations: 1 }))
 * complete // => true
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const withIntruder: {
  /**
   * Runs `intruder` in a new fiber at any step of `program`. One deviation runs all of it there, more split it in pieces.
   * In the usual order it runs when nothing else can. Ends when both have ended, with the exit of `program`.
   */
  <A, E, R, E2, R2>(
    intruder: (program: Fiber.Fiber<A, E>) => Effect.Effect<unknown, E2, R2>
  ): (program: Effect.Effect<A, E, R>) => Effect.Effect<A, E | E2, R | R2>
  <A, E, R, E2, R2>(
    program: Effect.Effect<A, E, R>,
    intruder: (program: Fiber.Fiber<A, E>) => Effect.Effect<unknown, E2, R2>
  ): Effect.Effect<A, E | E2, R | R2>
} = dual(
  2,
  <A, E, R, E2, R2>(
    program: Effect.Effect<A, E, R>,
    intruder: (program: Fiber.Fiber<A, E>) => Effect.Effect<unknown, E2, R2>
  ): Effect.Effect<A, E | E2, R | R2> =>
    Effect.gen(function*() {
      const main = yield* Effect.forkChild(named("program")(program))
      const other = yield* Effect.forkChild(named("intruder")(Effect.andThen(last, intruder(main))), {
        startImmediately: true
      })
      const exit = yield* Fiber.await(main)
      yield* Fiber.join(other)
      return yield* exit
    })
)

/**
 * Waits until nothing else can run: every other fiber has ended or waits, and no timer is left. After it a program can
 * check what must be true at rest. Outside of an exploration it only yields.
 *
 * **Example** (A fiber that nobody waits for)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const program = Effect.suspend(() => {
 *   let done = false
 *   const work = Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => {
 *     done = true
 *   }))
 *   return Effect.forkDetach(work).pipe(
 *     Effect.andThen(Schedules.quiet),
 *     Effect.andThen(Effect.suspend(() => done ? Effect.void : Effect.fail("not done")))
 *   )
 * })
 * const { complete } = await Effect.runPromise(Schedules.explore(program))
 * complete // => true
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const quiet: Effect.Effect<void> = waiting((run, task) => run.scheduleAfterAll(task))

/** Waits until nothing else can run, or ends at any step before. */
const last: Effect.Effect<void> = waiting((run, task) => run.scheduleLast(task))
