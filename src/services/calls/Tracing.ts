/**
 * Spans around what takes long. What makes them is provided by programs that trace: the others load and run nothing of it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"

/** A request for memory, as a span tells of it. */
interface Asked {
  readonly operation: string
  readonly size: number
  /** The bytes that the driver is to be asked for. */
  readonly pending: number
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly source: { readonly service: string }
  readonly budget: { readonly owner: { readonly name?: string | undefined } } | undefined
}

/**
 * The memory that is asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface AskedMemory {
  readonly label: string | undefined
  readonly device: string
}

/**
 * What takes long: a driver call for bytes that are pending, a wait in a queue, a compilation, a read; or a request
 * that is refused.
 *
 * @category models
 * @since 0.1.0
 */
export type Slow =
  | readonly [what: "miss" | "wait" | "refused", request: Asked, memory: AskedMemory]
  | readonly [what: "compile", kernel: string, device: DeviceInfo]
  | readonly [what: "read", operation: string]

/**
 * Puts a span around an effect, where its fiber has a tracer. Called before the effect begins.
 *
 * @category models
 * @since 0.1.0
 */
export type Tracing = <A, E, R>(effect: Effect.Effect<A, E, R>, slow: Slow) => Effect.Effect<A, E, R>

/**
 * What makes spans around slow steps; nothing without one.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentTracing: Context.Reference<Tracing | undefined> = Context.Reference<Tracing | undefined>(
  "effect-gpu-pool/Tracing",
  { defaultValue: () => undefined }
)

/**
 * The effect as it is, where the context has nothing that makes spans.
 *
 * @category functions
 * @since 0.1.0
 */
export const traced = <A, E, R>(
  context: Context.Context<never>,
  effect: Effect.Effect<A, E, R>,
  ...slow: Slow
): Effect.Effect<A, E, R> => Context.get(context, CurrentTracing)?.(effect, slow) ?? effect
