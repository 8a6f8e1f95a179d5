/**
 * Runs one schedule after another, until one is bad or all requested ones are done.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type Chooser, following } from "./Chooser.ts"
import { print } from "./Columns.ts"
import { interleavingOf } from "./Interleaving.ts"
import { type Problem, ScheduledRun } from "./ScheduledRun.ts"
import { format, type SchedulePath } from "./SchedulePath.ts"
import { ScheduleViolation } from "./ScheduleViolation.ts"
import { everySchedule, type Search, type Trial } from "./Search.ts"
import { type Bad, shrink } from "./Shrinking.ts"
import { Trace } from "./Trace.ts"

/** @internal */
export interface Limits {
  readonly maxSteps: number
  readonly maxSchedules: number
  /** Its name in the message of a bad schedule. */
  readonly seed: number | undefined
  /** Characters in a line of a trace. */
  readonly width: number
}

/**
 * How many schedules an exploration ran.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  /** How many different schedules ran. */
  readonly schedules: number
  /** Whether these were all schedules within the bound on deviations. */
  readonly complete: boolean
  /** Steps of all schedules together. */
  readonly steps: number
}

/** After so many steps, some milliseconds, the exploration lets other tasks of the event loop run. */
const stepsPerTurn = 20_000

/** Engines without this limit ignore it. */
const stacks = Error as { stackTraceLimit?: unknown }

/** Runs one schedule, without stack traces of errors, which would take most of the time. */
const attempt = (
  program: Effect.Effect<unknown, unknown>,
  choose: Chooser,
  maxSteps: number
): { readonly run: ScheduledRun; readonly problem: Problem | undefined } => {
  const run = new ScheduledRun({ choose, maxSteps })
  const { stackTraceLimit } = stacks
  stacks.stackTraceLimit = 0
  try {
    return { run, problem: run.execute(program) }
  } finally {
    stacks.stackTraceLimit = stackTraceLimit
  }
}

/** @internal */
export const explore = Effect.fnUntraced(function*(
  program: Effect.Effect<unknown, unknown>,
  search: Search,
  limits: Limits
): Effect.fn.Return<Report, ScheduleViolation> {
  let steps = 0
  let schedules = 0
  let turn = 0
  // This run creates what exists once per process, so that all later runs start from the same state.
  attempt(program, following([]), limits.maxSteps)
  for (let trial = search.next(); trial.done !== true;) {
    if (schedules === limits.maxSchedules) return { schedules, complete: false, steps }
    const { problem, run } = attempt(program, trial.value.choose, limits.maxSteps)
    const wrong = problem ?? divergence(trial.value, run)
    if (wrong !== undefined) {
      return yield* violation(program, { problem: wrong, path: run.deviations }, limits, schedules)
    }
    if (!trial.value.repeated) {
      schedules++
      steps += run.steps
    }
    turn += run.steps
    if (turn > stepsPerTurn) {
      turn = 0
      yield* Effect.yieldNow
    }
    trial = search.next(run)
  }
  return { schedules, complete: true, steps }
})

/** How many steps of a long schedule are recorded: at the beginning, around each deviation and at the end. */
const wantedSteps = { first: 500, around: 500, last: 1_000, deviations: 8 }

/** Runs the schedule of a path once more, and says what its fibers did. `before` is the same schedule without a trace. */
const traced = (
  program: Effect.Effect<unknown, unknown>,
  path: SchedulePath,
  { maxSteps, width }: Limits,
  before: ScheduledRun
): { readonly problem: Problem | undefined; readonly text: string } => {
  const { deviationSteps, steps } = before
  const half = wantedSteps.deviations / 2
  const near = deviationSteps.length <= wantedSteps.deviations
    ? deviationSteps
    : [...deviationSteps.slice(0, half), ...deviationSteps.slice(-half)]
  const trace = new Trace((step) =>
    step <= wantedSteps.first || step > steps - wantedSteps.last ||
    near.some((at) => Math.abs(step - at) <= wantedSteps.around)
  )
  try {
    const run = new ScheduledRun({ choose: following(path), maxSteps, trace })
    const problem = run.execute(program)
    return { problem, text: print(interleavingOf(trace, run.waiting), width) }
  } finally {
    trace.close()
  }
}

/** Runs the schedule of a path, and records a trace. @internal */
export const replay = (
  program: Effect.Effect<unknown, unknown>,
  path: SchedulePath,
  limits: Limits
): Effect.Effect<string, ScheduleViolation> =>
  Effect.suspend(() => {
    const { run } = attempt(program, following(path), limits.maxSteps)
    const { problem, text } = traced(program, path, limits, run)
    return problem === undefined
      ? Effect.succeed(text)
      : Effect.fail(describe({ problem, path }, limits, 0, text))
  })

/** A program that depends only on its schedule has the same decisions again. */
const divergence = ({ expected }: Trial, run: ScheduledRun): Problem | undefined => {
  if (expected === undefined) return undefined
  const options = run.options[expected.decision]
  if (options === expected.options) return undefined
  return {
    kind: "diverged",
    detail: `decision ${expected.decision} had ${expected.options} options, and ${
      options ?? "none"
    } when it was run again`
  }
}

/** How many schedules the search for one with fewer deviations may run. */
const smallerTrials = 2_000

const violation = (
  program: Effect.Effect<unknown, unknown>,
  bad: Bad,
  limits: Limits,
  schedules: number
): Effect.Effect<never, ScheduleViolation> =>
  Effect.suspend(() => {
    const along = (path: SchedulePath): Bad | undefined => {
      const { problem, run } = attempt(program, following(path), limits.maxSteps)
      return problem === undefined ? undefined : { problem, path: run.deviations }
    }
    const { path, problem } = bad.problem.kind === "diverged" ? bad : smallest(program, shrink(bad, along), limits)
    const { run } = attempt(program, following(path), limits.maxSteps)
    // Runs it again, for the trace and the stack traces of errors.
    const again = traced(program, path, limits, run)
    return Effect.fail(describe({ path, problem: again.problem ?? problem }, limits, schedules, again.text))
  })

/** Searches all schedules with fewer deviations for a bad one. */
const smallest = (program: Effect.Effect<unknown, unknown>, bad: Bad, limits: Limits): Bad => {
  if (bad.path.length < 2) return bad
  const search = everySchedule(bad.path.length - 1)
  let trial = search.next()
  for (let tried = 0; trial.done !== true && tried < smallerTrials; tried++) {
    const { problem, run } = attempt(program, trial.value.choose, limits.maxSteps)
    if (problem?.kind === bad.problem.kind) return { problem, path: run.deviations }
    trial = search.next(run)
  }
  return bad
}

const titles: Readonly<Record<Problem["kind"], string>> = {
  failed: "the program failed",
  defect: "a fiber died",
  waiting: "fibers never end, or wait for a promise or timer outside of the explorer",
  endless: "the program does not end",
  thrown: "a task threw",
  diverged: "the program depends on more than its schedule"
}

const describe = ({ path, problem }: Bad, limits: Limits, schedules: number, trace: string): ScheduleViolation => {
  const text = format(path)
  const seed = limits.seed === undefined ? "" : ` of seed ${limits.seed}`
  const message = `${titles[problem.kind]}: ${problem.detail}\n` +
    `after ${schedules} other schedules${seed}, at the path "${text}": ` +
    `Schedules.replay(program, "${text}") runs it again.\n\n${trace}`
  return new ScheduleViolation({
    kind: problem.kind,
    path: text,
    seed: limits.seed,
    schedules,
    trace,
    message
  })
}
