/**
 * One synchronous run of a program. A `Chooser` makes every choice: which fiber runs at each step, which of the ready
 * fibers runs next, and when time passes.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as EffectRandom from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import * as Tracer from "effect/Tracer"
import { type Chooser, Random } from "./Chooser.ts"
import { nameOfFiber } from "./Interleaving.ts"
import { asText, thrownText } from "./PrintedText.ts"
import { type Deviation, format } from "./SchedulePath.ts"
import type { ViolationKind } from "./ScheduleViolation.ts"
import { withoutEngine } from "./SourceFiles.ts"
import { Tasks } from "./Tasks.ts"
import type { Origin, Trace } from "./Trace.ts"
import { VirtualClock, type Woken } from "./VirtualClock.ts"

type AnyFiber = Fiber.Fiber<unknown, unknown>

/** What is wrong with a schedule. */
export interface Problem {
  readonly kind: ViolationKind
  readonly detail: string
}

interface Known {
  readonly fiber: AnyFiber
  readonly number: number
  name: string | undefined
  /** The task that resumes the fiber, after it was stopped at a step. */
  stopped: Task | undefined
}

interface Task {
  readonly run: () => void
  /** The stopped fiber that this task resumes. */
  readonly stopped: Known | undefined
  /** With a trace, who scheduled the task, and in which event: if it begins a fiber, that fiber was started there. */
  readonly by: Origin | undefined
}

/** What a decision can choose: a task, or that time passes. */
type Next = Task | "time"

type Primitive = Tracer.EffectPrimitive<unknown>

const evaluate = "~effect/Effect/evaluate"

/** These only store a continuation, so a switch before one of them is the same as a switch after it. */
const onlyRemembers = (primitive: object): boolean => {
  const { "~effect/Effect/identifier": name } = primitive as { readonly "~effect/Effect/identifier"?: unknown }
  return name === "OnSuccess" || name === "OnFailure" || name === "OnSuccessAndFailure"
}

export class ScheduledRun implements Scheduler.Scheduler {
  readonly executionMode = "async"
  /** How many options each decision had. */
  readonly options: Array<number> = []
  /** The option of each decision that runs what usually runs when nothing else can; 0 if nothing does. */
  readonly intrusions: Array<number> = []
  readonly deviations: Array<Deviation> = []
  /** The step before which each deviation was made. */
  readonly deviationSteps: Array<number> = []
  steps = 0
  readonly #choose: Chooser
  readonly #maxSteps: number
  readonly #trace: Trace | undefined
  readonly #clock: VirtualClock
  readonly #tracer: Tracer.Tracer
  readonly #fibers = new Map<AnyFiber, Known>()
  /** In order of arrival. */
  readonly #ready: Array<Task> = []
  /** These usually run when nothing else can. */
  readonly #last: Array<Task> = []
  /** These run only when nothing else can. */
  readonly #afterAll: Array<Task> = []
  /** The run has ended. */
  #over = false
  #problem: Problem | undefined
  /** What runs next, if it was decided during a task. */
  #decided: Next | undefined
  /** The fiber that is being stopped. */
  #stopping: Known | undefined
  /** For so many steps no decision is made, because one was just made. */
  #skipped = 0
  /** The fiber of the current task. It may wake others, which run inside its step. */
  #outer: AnyFiber | undefined
  #seen: Known | undefined
  #task: Task | undefined
  /** How many fibers the last advance of time has woken. They run before the other ready fibers. */
  #woken = 0

  constructor(options: { readonly choose: Chooser; readonly maxSteps: number; readonly trace?: Trace | undefined }) {
    this.#choose = options.choose
    this.#maxSteps = options.maxSteps
    this.#trace = options.trace
    this.#clock = new VirtualClock((task) => this.#wake(task))
    this.#tracer = Tracer.make({ span: (span) => new Tracer.NativeSpan(span), context: this.#evaluate })
  }

  /** Runs the program and every fiber that it started to the end. */
  execute(program: Effect.Effect<unknown, unknown>): Problem | undefined {
    const main = Effect.runForkWith(this.#context())(program)
    for (let next = this.#next(); next !== undefined && !this.#over; next = this.#next()) this.#run(next)
    this.#over = true
    return this.#problem ?? this.#verdict(main)
  }

  nameFiber(fiber: AnyFiber, name: string): void {
    const known = this.#know(fiber)
    known.name = name
    this.#trace?.name(known.number, name)
  }

  /** Runs the task when nothing else can run, or at any step before. */
  scheduleLast(task: () => void): Woken {
    return add(this.#last, task)
  }

  /** Runs the task when nothing else can run. */
  scheduleAfterAll(task: () => void): Woken {
    return add(this.#afterAll, task)
  }

  /** Called when a program has its own tracer. */
  shouldYield(fiber: AnyFiber): boolean {
    return fiber.cache.tracer !== this.#tracer && this.#stops(fiber, undefined)
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return this.#dispatcher
  }

  readonly #dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (task) => this.#schedule(task),
    flush: () => {}
  }

  #context(): Context.Context<never> {
    const random = new Random(1)
    const tasks = {
      atEnd: (task: () => void) => this.#schedule(task),
      next: (task: () => void) => this.#schedule(task)
    }
    return Context.makeUnsafe(
      new Map<string, unknown>([
        [Scheduler.Scheduler.key, this],
        [Clock.Clock.key, this.#clock],
        [Tracer.Tracer.key, this.#tracer],
        [Tasks.key, tasks],
        [Logger.CurrentLoggers.key, silent],
        [EffectRandom.Random.key, {
          nextIntUnsafe: () => random.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
          nextDoubleUnsafe: () => random.integer(0, 2 ** 32 - 1) / 2 ** 32
        }]
      ])
    )
  }

  /** Called at each step of a fiber. */
  readonly #evaluate = <X>(primitive: Tracer.EffectPrimitive<X>, fiber: AnyFiber): X => {
    if (onlyRemembers(primitive)) return primitive[evaluate](fiber)
    if (this.#stopping === undefined && !fiber.cache.preventYield && this.#stops(fiber, primitive)) {
      return (Effect.flatMap(Effect.yieldNow, () => primitive as never) as unknown as typeof primitive)[evaluate](fiber)
    }
    return primitive[evaluate](fiber)
  }

  /** Whether the fiber stops here, so that others can run. */
  #stops(fiber: AnyFiber, primitive: Primitive | undefined): boolean {
    const known = this.#know(fiber)
    this.#outer ??= fiber
    // An interruption has resumed the fiber, so the task that would resume it does nothing.
    if (known.stopped !== undefined) this.#forget(known.stopped)
    if (++this.steps > this.#maxSteps) this.#end("endless", `more than ${this.#maxSteps} steps`)
    if (this.#over || (this.#mayStop(fiber) && (this.#decided !== undefined || this.#switches(known, primitive)))) {
      this.#stopping = known
      return true
    }
    this.#trace?.step(fiber, known.number, this.steps, primitive)
    return false
  }

  /** As in Effect, a fiber that is started, woken or interrupted runs its first step, and a decision just made is kept. */
  #mayStop(fiber: AnyFiber): boolean {
    return this.#skipped-- <= 0 && fiber.currentOpCount > 1
  }

  /** Decides whether the current fiber goes on, and what runs if it does not. */
  #switches(known: Known, primitive: Primitive | undefined): boolean {
    const others = this.#candidates
    const inside = this.#outer !== known.fiber && this.#outer?.pollUnsafe() === undefined
    const options = 1 + others + (inside ? 1 : 0)
    if (options === 1) return false
    const option = this.#decide(options, this.#last.length === 0 ? 0 : 1 + others - this.#last.length)
    if (option === 0) return false
    this.#trace?.stop(known.fiber, known.number, this.steps, primitive, this.#lastDeviation())
    if (option <= others) this.#decided = this.#candidate(option - 1)
    return true
  }

  /** Chooses what runs next when no fiber runs. */
  #next(): Next | undefined {
    const decided = this.#decided
    this.#decided = undefined
    if (decided !== undefined) return decided
    const options = this.#candidates
    if (options === 0) return this.#afterAll[0]
    if (options === 1) return this.#candidate(0)
    const option = this.#decide(options, this.#last.length === 0 ? 0 : options - this.#last.length)
    if (option !== 0) this.#trace?.choice(this.#lastDeviation())
    return this.#candidate(option)
  }

  #lastDeviation(): string {
    return format(this.deviations.slice(-1))
  }

  /** How many candidates there are: ready fibers, time, and what usually runs last. */
  get #candidates(): number {
    return this.#ready.length + (this.#clock.isWaiting ? 1 : 0) + this.#last.length
  }

  #candidate(index: number): Next | undefined {
    if (index < this.#ready.length) return this.#ready[index]
    const rest = index - this.#ready.length
    if (!this.#clock.isWaiting) return this.#last[rest]
    return rest === 0 ? "time" : this.#last[rest - 1]
  }

  #decide(options: number, intrusion: number): number {
    const decision = this.options.length
    const option = this.#choose(options, decision)
    this.options.push(options)
    this.intrusions.push(intrusion)
    if (option !== 0) {
      this.deviations.push({ decision, option })
      this.deviationSteps.push(this.steps)
    }
    return option
  }

  #run(next: Next): void {
    if (next === "time") {
      this.#woken = 0
      this.#clock.advance()
      this.#trace?.time(this.#clock.now)
      return
    }
    this.#forget(next)
    // To resume after a stop is one more step, and the chosen fiber must not decide again at once.
    this.#skipped = next.stopped === undefined ? 1 : 2
    this.#outer = undefined
    this.#task = next
    try {
      next.run()
    } catch (cause) {
      this.#end("thrown", show(cause))
    }
  }

  #schedule(task: () => void): void {
    const stopped = this.#stopping
    this.#stopping = undefined
    if (this.#over) return
    const entry: Task = { run: task, stopped, by: this.#scheduling() }
    if (stopped !== undefined) stopped.stopped = entry
    this.#ready.push(entry)
  }

  #wake(task: () => void): Woken {
    const entry: Task = { run: task, stopped: undefined, by: undefined }
    this.#ready.splice(this.#woken++, 0, entry)
    return { cancel: () => remove(this.#ready, entry) }
  }

  #forget(task: Task): void {
    remove(this.#ready, task)
    remove(this.#last, task)
    remove(this.#afterAll, task)
    if (task.stopped !== undefined) task.stopped.stopped = undefined
  }

  #end(kind: ViolationKind, detail: string): void {
    this.#problem ??= { kind, detail }
    this.#over = true
  }

  #know(fiber: AnyFiber): Known {
    if (this.#seen?.fiber === fiber) return this.#seen
    let known = this.#fibers.get(fiber)
    if (known === undefined) {
      known = { fiber, number: this.#fibers.size + 1, name: undefined, stopped: undefined }
      this.#fibers.set(fiber, known)
      this.#follow(known)
    }
    this.#seen = known
    return known
  }

  #follow({ fiber, number }: Known): void {
    const trace = this.#trace
    if (trace === undefined) return
    trace.begin(fiber, number, this.#task?.by)
    fiber.addObserver((exit) => trace.end(number, exit))
  }

  #scheduling(): Task["by"] {
    const current = this.#trace === undefined ? undefined : Fiber.getCurrent()
    const known = current === undefined ? undefined : this.#fibers.get(current)
    return known === undefined ? undefined : this.#trace?.originIn(known.number)
  }

  /** The fibers that have not ended. */
  get waiting(): ReadonlyArray<number> {
    return [...this.#fibers.values()].filter(({ fiber }) => fiber.pollUnsafe() === undefined).map(({ number }) =>
      number
    )
  }

  /** No fiber can run any more: the schedule is good if every fiber has ended without a defect. */
  #verdict(main: AnyFiber): Problem | undefined {
    const waiting: Array<string> = []
    for (const known of this.#fibers.values()) {
      const exit = known.fiber.pollUnsafe()
      if (exit === undefined) waiting.push(nameOfFiber(known))
      else if (known.fiber !== main && Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
        return { kind: "defect", detail: `${nameOfFiber(known)}: ${show(Cause.squash(exit.cause))}` }
      }
    }
    const end = main.pollUnsafe()
    if (end !== undefined && Exit.isFailure(end)) {
      const kind = Cause.hasDies(end.cause) ? "defect" : "failed"
      return { kind, detail: withoutEngine(Cause.pretty(end.cause)) }
    }
    return waiting.length === 0 ? undefined : { kind: "waiting", detail: waiting.join(", ") }
  }
}

const silent: ReadonlySet<Logger.Logger<unknown, unknown>> = new Set()

const add = (tasks: Array<Task>, task: () => void): Woken => {
  const entry: Task = { run: task, stopped: undefined, by: undefined }
  tasks.push(entry)
  return { cancel: () => remove(tasks, entry) }
}

const remove = (tasks: Array<Task>, task: Task): void => {
  const index = tasks.indexOf(task)
  if (index >= 0) tasks.splice(index, 1)
}

const show = (cause: unknown): string => {
  try {
    return cause instanceof Error ? withoutEngine(asText(cause.stack ?? cause.message)) : asText(cause)
  } catch {
    return thrownText(cause)
  }
}
