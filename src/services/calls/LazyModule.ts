/**
 * Parts of the library that load at their first use, so that a page never loads parts that its program does not use.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { messageOf } from "../../domain/arguments/Format.ts"
import { driverError, type GpuError } from "../../domain/GpuError.ts"

type Call = (...args: ReadonlyArray<unknown>) => unknown
type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>

/** The members of a service that return effects and can fail with the error of a failed load. */
type EffectsOf<A> = {
  [N in keyof A]: A[N] extends (...args: never) => Effect.Effect<unknown, infer E, unknown> ?
    GpuError extends E ? N : never
    : never
}[keyof A]

/** A part of a library that is loaded at its first use. */
export class LazyModule<A> {
  readonly #found: () => A | undefined
  readonly #load: Effect.Effect<A, GpuError>

  constructor(found: () => A | undefined, load: Effect.Effect<A, GpuError>) {
    this.#found = found
    this.#load = load
  }

  /** The part, or `undefined` before it is loaded. */
  get value(): A | undefined {
    return this.#found()
  }

  /** Calls `next` with the part: synchronously if it is loaded, else after loading it. */
  use<B, E, R>(next: (part: A) => Effect.Effect<B, E, R>): Effect.Effect<B, E | GpuError, R> {
    const found = this.#found()
    return found === undefined ? Effect.flatMap(this.#load, next) : next(found)
  }

  /** The result of `make` for this part, made once. */
  map<B>(make: (part: A) => B): LazyModule<B> {
    let made: B | undefined
    const makeOnce = (part: A): B => made ??= make(part)
    return new LazyModule(() => {
      const part = this.#found()
      return part === undefined ? undefined : makeOnce(part)
    }, Effect.map(this.#load, makeOnce))
  }

  /**
   * Members that are called synchronously. The part must be loaded: their arguments come from members that have loaded
   * it.
   */
  calls<N extends keyof A>(names: ReadonlyArray<N>): Pick<A, N> {
    const member = (name: N): Call => (...args) => (this.#found()![name] as Call)(...args)
    return Object.fromEntries(names.map((name) => [name, member(name)])) as Pick<A, N>
  }

  /** Members that return effects: the first call loads the part. */
  effects<N extends EffectsOf<A>>(names: ReadonlyArray<N>): Pick<A, N> {
    const member = (name: N): Method => (...args) => this.use((part) => (part[name] as Method)(...args))
    return Object.fromEntries(names.map((name) => [name, member(name)])) as Pick<A, N>
  }
}

/** A part that the program does not have: its effects fail with this error. */
export const absent = (error: GpuError): LazyModule<never> => new LazyModule<never>(() => undefined, error)

const modules: Array<Effect.Effect<unknown, GpuError>> = []

/** Loads every part of the modules that the program has imported. */
export const all: Effect.Effect<void, GpuError> = Effect.suspend(() =>
  Effect.forEach(modules, (module) => module, { discard: true })
)

/**
 * A module that is imported once for all callers. If the import fails, the next call tries again. An interruption ends
 * only the wait.
 */
export const module = <A>(name: string, load: () => Promise<A>): LazyModule<A> => {
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
  return new LazyModule(() => found, loaded)
}

const notLoaded = (name: string, cause: unknown): GpuError =>
  driverError({
    backend: "effect-gpu-pool",
    call: `import of ${name}`,
    log: messageOf(cause),
    hint: "This part is loaded at its first use. Make sure that the server has every file of the build, and call again."
  })
