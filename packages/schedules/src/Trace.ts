/**
 * Records what the fibers of one run did: each step with the fiber's frames at that time. Places are looked up only
 * after the run, because asking the engine for them takes most of the time.
 *
 * @internal
 */
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { type GeneratorPlace, Inspector } from "./Inspector.ts"

type AnyFiber = Fiber.Fiber<unknown, unknown>

/** An entry of a fiber's stack: what runs when the current effect has ended. */
export interface Frame {
  /** Effect's own object for it. */
  readonly entry: object
  /** Of a generator. */
  readonly generator: GeneratorPlace | undefined
}

/** A fiber evaluates one effect. */
export interface Step {
  readonly tag: "step"
  readonly fiber: number
  readonly step: number
  /** The step's number within its fiber, so that gaps show. */
  readonly nth: number
  readonly effect: object | undefined
  /** The innermost first. */
  readonly frames: ReadonlyArray<Frame>
  readonly span: string | undefined
}

export type Event =
  | Step
  /**
   * The explorer stops a fiber before this step, by the deviation `path`. `before` is `undefined` for a step that is
   * not recorded.
   */
  | { readonly tag: "stop"; readonly path: string; readonly before: Step | undefined }
  /** The explorer chose something else than usual to run next. */
  | { readonly tag: "choice"; readonly path: string }
  | { readonly tag: "time"; readonly millis: number }
  | { readonly tag: "end"; readonly fiber: number; readonly nth: number; readonly exit: Exit.Exit<unknown, unknown> }

/** The fiber that started another one, and its event of that time. */
export interface Origin {
  readonly fiber: number
  readonly event: number
}

/** A fiber of the run. */
export interface Traced {
  readonly id: number
  readonly number: number
  name: string | undefined
  readonly by: Origin | undefined
  /** How many steps it did. */
  steps: number
}

/** The members of Effect's fibers and generators that are read here. Without them a trace shows less. */
interface Inside {
  readonly _stack?: ReadonlyArray<object>
  readonly _running?: boolean
}
interface MaybeIterator {
  readonly iterator?: unknown
}

export const operationOf = (effect: object): string =>
  (effect as { readonly "~effect/Effect/identifier"?: string })["~effect/Effect/identifier"] ?? "an effect"

export class Trace {
  readonly events: Array<Event> = []
  readonly fibers = new Map<number, Traced>()
  readonly inspector: Inspector | undefined
  readonly #isWanted: (step: number) => boolean
  /** The fibers whose steps are under way, the outermost first: a fiber may wake another within its own step. */
  readonly #running: Array<{ readonly fiber: AnyFiber; readonly number: number }> = []
  /** The generators that the last step found its fiber in: only the innermost of them can have moved since. */
  #found = new Map<object, GeneratorPlace>()
  #seen: { readonly fiber: number; readonly nth: number } | undefined

  /** Records the steps that `isWanted` selects. The caller must close the trace. */
  constructor(isWanted: (step: number) => boolean) {
    this.#isWanted = isWanted
    this.inspector = Inspector.open()
  }

  close(): void {
    this.inspector?.close()
  }

  /** A fiber begins: in the step of the innermost one that runs, or in a task that another one has scheduled. */
  begin(fiber: AnyFiber, number: number, scheduled: Origin | undefined): void {
    const parent = this.#innermost()
    const by = parent === undefined ? scheduled : this.originIn(parent.number)
    this.fibers.set(number, { id: fiber.id, number, name: undefined, by, steps: 0 })
  }

  /** The place in the trace for what this fiber starts now. */
  originIn(fiber: number): Origin {
    return { fiber, event: this.events.length - 1 }
  }

  name(number: number, name: string): void {
    const traced = this.fibers.get(number)
    if (traced !== undefined) traced.name = name
  }

  step(fiber: AnyFiber, number: number, step: number, effect: object | undefined): void {
    const traced = this.fibers.get(number)
    if (traced === undefined) return
    traced.steps++
    if (this.#innermost()?.number !== number) this.#running.push({ fiber, number })
    if (this.#isWanted(step)) this.events.push(this.#look(fiber, traced, step, effect))
  }

  stop(fiber: AnyFiber, number: number, step: number, effect: object | undefined, path: string): void {
    const traced = this.fibers.get(number)
    if (traced === undefined) return
    const before = this.#isWanted(step) ? this.#look(fiber, traced, step, effect) : undefined
    this.events.push({ tag: "stop", path, before })
  }

  choice(path: string): void {
    this.events.push({ tag: "choice", path })
  }

  time(millis: number): void {
    this.events.push({ tag: "time", millis })
  }

  end(number: number, exit: Exit.Exit<unknown, unknown>): void {
    const traced = this.fibers.get(number)
    if (traced !== undefined) this.events.push({ tag: "end", fiber: number, nth: traced.steps, exit })
  }

  #innermost(): { readonly number: number } | undefined {
    while ((this.#running.at(-1)?.fiber as Inside | undefined)?._running === false) this.#running.pop()
    return this.#running.at(-1)
  }

  #look(fiber: AnyFiber, { number, steps: nth }: Traced, step: number, effect: object | undefined): Step {
    const { _stack: stack = [] } = fiber as Inside
    const starts = effect !== undefined && operationOf(effect) === "Iterator"
    const frames = this.#framesOf(starts ? [...stack, effect] : stack, { fiber: number, nth })
    const { span } = fiber.cache
    return {
      tag: "step",
      fiber: number,
      step,
      nth,
      effect,
      frames,
      span: span?._tag === "Span" ? span.name : undefined
    }
  }

  #framesOf(stack: ReadonlyArray<object>, now: { readonly fiber: number; readonly nth: number }): ReadonlyArray<Frame> {
    const known = this.#seen?.fiber === now.fiber && now.nth - this.#seen.nth <= 1
      ? this.#found
      : new Map<object, GeneratorPlace>()
    const frames: Array<Frame> = []
    this.#found = new Map()
    this.#seen = now
    let innermost = true
    for (let at = stack.length - 1; at >= 0; at--) {
      const entry = stack[at]!
      const generator = this.#generatorOf(entry, known.get(entry), innermost)
      if (generator !== undefined) {
        innermost = false
        this.#found.set(entry, generator)
      }
      frames.push({ entry, generator })
    }
    this.inspector?.forget()
    return frames
  }

  #generatorOf(entry: object, known: GeneratorPlace | undefined, innermost: boolean): GeneratorPlace | undefined {
    const { iterator } = entry as MaybeIterator
    if (this.inspector === undefined || typeof iterator !== "object" || iterator === null) return undefined
    return known !== undefined && !innermost ? known : this.inspector.generatorAt(iterator, known)
  }
}
