/**
 * Parts of the library that are loaded at their first use, so that a page does not load what its program never uses.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { messageOf } from "../../domain/arguments/ShownValue.ts"
import { DriverError, type GpuError, make as makeError } from "../../domain/GpuError.ts"

type Call = (...args: ReadonlyArray<unknown>) => unknown
type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>

/** The members of a service that answer effects, and may fail as loading may. */
type EffectsOf<A> = {
  [N in keyof A]: A[N] extends (...args: never) => Effect.Effect<unknown, infer E, unknown> ?
    GpuError extends E ? N : never
    : never
}[keyof A]

export class LoadedPart<A> {
  readonly #found: () => A | undefined
  readonly #load: Effect.Effect<A, GpuError>

  constructor(found: () => A | undefined, load: Effect.Effect<A, GpuError>) {
    this.#found = found
    this.#load = load
  }

  /** What is loaded, `undefined` before. */
  get value(): A | undefined {
    return this.#found()
  }

  /** Goes on with the part: in the same step, once it is loaded. */
  use<B, E, R>(next: (part: A) => Effect.Effect<B, E, R>): Effect.Effect<B, E | GpuError, R> {
    const found = this.#found()
    return found === undefined ? Effect.flatMap(this.#load, next) : next(found)
  }

  /** What is made of this part, once. */
  map<B>(make: (part: A) => B): LoadedPart<B> {
    let made: B | undefined
    const makeOnce = (part: A): B => made ??= make(part)
    return new LoadedPart(() => {
      const part = this.#found()
      return part === undefined ? undefined : makeOnce(part)
    }, Effect.map(this.#load, makeOnce))
  }

  /** Members of a service that take what others of it have made: then it is loaded. */
  calls<N extends keyof A>(names: ReadonlyArray<N>): Pick<A, N> {
    const member = (name: N): Call => (...args) => (this.#found()![name] as Call)(...args)
    return Object.fromEntries(names.map((name) => [name, member(name)])) as Pick<A, N>
  }

  /** Members of a service that load it with their first call. */
  effects<N extends EffectsOf<A>>(names: ReadonlyArray<N>): Pick<A, N> {
    const member = (name: N): Method => (...args) => this.use((part) => (part[name] as Method)(...args))
    return Object.fromEntries(names.map((name) => [name, member(name)])) as Pick<A, N>
  }
}

const modules: Array<Effect.Effect<unknown, GpuError>> = []

/** Loads every part that the program's modules have, for tests that count the steps that follow. */
export const all: Effect.Effect<void, GpuError> = Effect.suspend(() =>
  Effect.forEach(modules, (module) => module, { discard: true })
)

/**
 * A module that is imported once, whoever asks for it meanwhile. Where that fails the next call tries again. An interruption
 * ends the wait alone.
 */
export const module = <A>(name: string, load: () => Promise<A>): LoadedPart<A> => {
  let found: A | undefined
  let loading: Promise<A> | undefined
  const loaded = Effect.tryPromise({
    try: () =>
      loading ??= load().then((part) => found = part, (cause: unknown) => {
        loading = undefined
        throw cause
      }),
    catch: (cause) => notLoaded(name, cause)
  })
  modules.push(loaded)
  return new LoadedPart(() => found, Effect.interruptible(loaded))
}

const notLoaded = (name: string, cause: unknown): GpuError =>
  makeError(
    new DriverError({
      backend: "effect-gpu-pool",
      call: `import of ${name}`,
      codeName: undefined,
      code: undefined,
      log: messageOf(cause),
      commands: [],
      hint:
        "This part is loaded at its first use: see that every file of the build is served and can be reached, and call again."
    })
  )
