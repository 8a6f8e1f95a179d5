/**
 * The cache of keys and values of a model that writes texts.
 *
 * @since 0.1.0
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as GpuError from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import type * as WebGpu from "effect-gpu-pool/WebGpu"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { bytesOf, type DataType, run, type Session, tensor, type TensorClass } from "./Session.ts"

/**
 * One tensor of a cache: the model takes it with the tokens so far, and returns it with the new ones too.
 *
 * @category models
 * @since 0.1.0
 */
export interface KvEntry {
  /** The name of the model's input, as `past_key_values.0.key`. */
  readonly past: string
  /** The name of its output, as `present.0.key`. */
  readonly present: string
  /** The dims for so many tokens, as `[1, heads, tokens, width]`. */
  readonly dims: (tokens: number) => ReadonlyArray<number>
  /** Default: `float32`. */
  readonly dataType?: DataType | undefined
}

/**
 * The options of `kvCache`.
 *
 * @category models
 * @since 0.1.0
 */
export interface KvCacheOptions {
  readonly entries: ReadonlyArray<KvEntry>
  /** The most tokens, as the model has them. */
  readonly maxTokens: number
  /** For how many tokens there is memory at the beginning. Default: 64, or `maxTokens` if that is less. */
  readonly tokens?: number | undefined
  /**
   * `double`, the default: when a lease is too small, the next has room for twice as many tokens. `exact`: for as many as there are, so
   * that a cache has less memory, and asks the pool with each step.
   */
  readonly growth?: "double" | "exact" | undefined
}

/** An entry, and its two leases: the model reads one and writes the other. */
interface Entry {
  readonly past: string
  readonly present: string
  readonly dims: (tokens: number) => ReadonlyArray<number>
  readonly dataType: DataType
  readonly leases: [current: BufferPool.PooledBuffer | undefined, next: BufferPool.PooledBuffer | undefined]
}

/** The options with their defaults. */
interface Settings extends KvCacheOptions {
  readonly tokens: number
  readonly growth: "double" | "exact"
}

type Services = BufferPool.BufferPool | CommandQueue.CommandQueue | WebGpu.WebGpu

/**
 * The keys and values of the tokens so far. `kvCache` makes one.
 *
 * @category models
 * @since 0.1.0
 */
export class KvCache<T> {
  readonly #session: Session<T>
  readonly #Tensor: TensorClass<T>
  readonly #entries: ReadonlyArray<Entry>
  readonly #maxTokens: number
  readonly #growth: "double" | "exact"
  readonly #scope: Scope.Scope
  readonly #turns = Semaphore.makeUnsafe(1)
  #room: number
  #tokens = 0

  /** @internal */
  constructor(session: Session<T>, Tensor: TensorClass<T>, options: Settings, scope: Scope.Scope) {
    this.#session = session
    this.#Tensor = Tensor
    this.#entries = options.entries.map(({ dataType = "float32", dims, past, present }) => ({
      past,
      present,
      dims,
      dataType,
      leases: [undefined, undefined]
    }))
    this.#maxTokens = options.maxTokens
    this.#growth = options.growth
    this.#room = options.tokens
    this.#scope = scope
  }

  /** How many tokens it has. */
  get tokens(): number {
    return this.#tokens
  }

  /** Forgets all tokens, and keeps the memory for the next text. */
  get reset(): Effect.Effect<void> {
    return this.#turns.withPermit(Effect.sync(() => {
      this.#tokens = 0
    }))
  }

  /**
   * Runs the model on so many new tokens, with the cache among its feeds and its fetches, and returns the other outputs. One step runs at
   * a time. When a step fails, the cache has the tokens from before it.
   *
   * Fails with InvalidRequest for more tokens than `maxTokens`, with OutOfMemory as the pool does, and as `run` does.
   */
  step(
    feeds: Readonly<Record<string, T>>,
    newTokens = 1
  ): Effect.Effect<Readonly<Record<string, T>>, GpuError.GpuError, Services> {
    return this.#turns.withPermit(Effect.suspend(() => this.#step(feeds, newTokens)))
  }

  readonly #step = Effect.fnUntraced(
    function*(this: KvCache<T>, feeds: Readonly<Record<string, T>>, newTokens: number) {
      const session = this.#session
      const [before, tokens] = [this.#tokens, this.#tokens + newTokens]
      if (!Number.isSafeInteger(newTokens) || newTokens < 1 || tokens > this.#maxTokens) {
        return yield* Effect.fail(GpuError.invalidRequest(
          "KvCache.step",
          `${newTokens} new tokens after ${before} of at most ${this.#maxTokens}`,
          "Pass a whole number from 1, and a larger maxTokens where the model has it; or reset the cache."
        ))
      }
      const caches: Record<string, T> = {}
      const fetches: Record<string, T | null> = Object.fromEntries(session.outputNames.map((name) => [name, null]))
      for (const entry of this.#entries) {
        const next = yield* this.#makeRoom(entry, tokens)
        // With no tokens there is nothing to read: then any memory will do.
        const current = entry.leases[0] ?? next
        caches[entry.past] = yield* tensor(this.#Tensor, current, entry.dataType, entry.dims(before))
        fetches[entry.present] = yield* tensor(this.#Tensor, next, entry.dataType, entry.dims(tokens))
      }
      const outputs = yield* run(session, { ...feeds, ...caches }, fetches)
      this.#tokens = tokens
      for (const { leases } of this.#entries) leases.reverse()
      const presents = new Set(this.#entries.map(({ present }) => present))
      return Object.fromEntries(Object.entries(outputs).filter(([name]) => !presents.has(name)))
    }
  )

  /** The lease that the model writes next, with room for so many tokens. What is in it is needed no more. */
  readonly #makeRoom = Effect.fnUntraced(function*(this: KvCache<T>, entry: Entry, tokens: number) {
    const { dataType, dims, leases, present } = entry
    const [, next] = leases
    if (next !== undefined && next.size >= bytesOf(dataType, dims(tokens))) return next
    if (next !== undefined) {
      leases[1] = undefined
      yield* Lease.release(next)
    }
    while (this.#room < tokens) this.#room = this.#growth === "double" ? 2 * this.#room : tokens
    const room = Math.min(this.#room, this.#maxTokens)
    const lease = yield* Scope.provide(
      BufferPool.allocate(bytesOf(dataType, dims(room)), { label: present }),
      this.#scope
    )
    leases[1] = lease
    return lease
  })
}

/**
 * A cache of keys and values for a model whose inputs have the tokens so far, and whose outputs have the new ones too, as decoders in ONNX
 * have. The model reads one lease of each entry and writes another, by turns, so no step allocates while the tokens have room. The
 * leases are the scope's.
 *
 * Fails with InvalidRequest for options that are none.
 *
 * **Example** (Writing a text)
 *
 * ```ts no-run
 * import { kvCache } from "@effect-gpu-pool/interop/ort"
 * import { Effect } from "effect"
 * import * as ort from "onnxruntime-web/webgpu"
 *
 * declare const session: ort.InferenceSession
 * declare const embed: (token: number) => ort.Tensor
 * declare const pick: (logits: ort.Tensor) => Promise<number>
 *
 * const write = Effect.fnUntraced(function*(first: number, count: number) {
 *   const entries = ["key", "value"].map((part) => ({
 *     past: `past_key_values.0.${part}`,
 *     present: `present.0.${part}`,
 *     dims: (tokens: number) => [1, 8, tokens, 64]
 *   }))
 *   const cache = yield* kvCache(session, ort.Tensor, { entries, maxTokens: 2048 })
 *   const text = [first]
 *   while (text.length < count) {
 *     const { logits } = yield* cache.step({ x: embed(text.at(-1)!) })
 *     text.push(yield* Effect.promise(() => pick(logits!)))
 *   }
 *   return text
 * }, Effect.scoped)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const kvCache = <T>(
  session: Session<T>,
  Tensor: TensorClass<NoInfer<T>>,
  options: KvCacheOptions
): Effect.Effect<KvCache<T>, GpuError.GpuError, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => {
    const { entries, growth = "double", maxTokens } = options
    const { tokens = Math.min(64, maxTokens) } = options
    const isCount = Number.isSafeInteger(maxTokens) && Number.isSafeInteger(tokens) && 1 <= tokens &&
      tokens <= maxTokens
    return isCount && (growth === "double" || growth === "exact")
      ? Effect.succeed(new KvCache<T>(session, Tensor, { entries, maxTokens, tokens, growth }, scope))
      : Effect.fail(GpuError.invalidRequest(
        "kvCache",
        `maxTokens ${maxTokens}, tokens ${tokens}, growth ${growth}`,
        `Pass whole numbers with 1 ≤ tokens ≤ maxTokens, and "double" or "exact" as growth.`
      ))
  })
