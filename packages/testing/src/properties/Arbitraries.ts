/**
 * Random values for property tests of pools, backends and choices of devices.
 *
 * @since 0.1.0
 */
import { BufferPool, BufferUsage } from "effect-gpu-pool"
import type * as DeviceSelector from "effect-gpu-pool/DeviceSelector"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { backends } from "effect-gpu-pool/ListedDevice"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { type Arbitrary, dual } from "./DualArbitrary.ts"

export type { Arbitrary } from "./DualArbitrary.ts"

/**
 * Makes an arbitrary of fast-check work in both engines: in `fc.property`, and in `it.effect.prop` of `@effect/vitest`.
 * All arbitraries of this module do. A method of fast-check returns one for fast-check only: pass its result to `fromFastCheck`.
 *
 * **Details**
 *
 * Effect draws a seed, and fast-check makes the value of it, and smaller values when a property fails. So both engines
 * try the same kinds of values. The replay token of a failure has Effect's seed and the path to the smallest value.
 *
 * **Example** (Two sizes at once, in either engine)
 *
 * ```ts
 * import { Effect } from "effect"
 * import * as Arbitrary from "effect/Arbitrary"
 * import { SizePolicy } from "effect-gpu-pool"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const pairs = Arbitraries.fromFastCheck(fc.tuple(Arbitraries.sizes(), Arbitraries.sizes()))
 * const { blockSize } = SizePolicy.defaultPolicy
 * const growsWith = ([a, b]: readonly [number, number]) => a <= b ? blockSize(a) <= blockSize(b) : blockSize(a) >= blockSize(b)
 *
 * fc.assert(fc.property(pairs, growsWith))
 * const { _tag } = await Effect.runPromise(Arbitrary.checkEffect(pairs, growsWith))
 * _tag // => "Passed"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromFastCheck: <A>(arbitrary: fc.Arbitrary<A>) => Arbitrary<A> = dual

/** Makes plain objects, as programs write them: deep equality compares prototypes. */
const plain = { noNullPrototype: true } as const

/**
 * Sizes of buffers in bytes, from 1 (or 0 with `zero`) to `max`. Each power of two is equally likely, and sizes shrink
 * towards small ones.
 *
 * **Example** (Every block is large enough)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * fc.assert(fc.property(Arbitraries.sizes(), (size) => SizePolicy.defaultPolicy.blockSize(size) >= size))
 * ```
 *
 * @category buffers
 * @since 0.1.0
 */
export const sizes = (options?: {
  /** The largest size; 2^30 when left out. */
  readonly max?: number | undefined
  /** Whether 0 is among the sizes. */
  readonly zero?: boolean | undefined
}): Arbitrary<number> => {
  const max = options?.max ?? 2 ** 30
  const powers = fc.integer({ min: 0, max: Math.floor(Math.log2(max)) })
  const positive = powers.chain((power) => fc.integer({ min: 2 ** power, max: Math.min(max, 2 ** (power + 1) - 1) }))
  return dual(
    options?.zero === true
      ? fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 15, arbitrary: positive })
      : positive
  )
}

/**
 * Usages that every backend accepts for a buffer: storage, with or without copySrc and copyDst.
 *
 * **Example** (The default is one of them)
 *
 * ```ts
 * import { BufferUsage } from "effect-gpu-pool"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * fc.sample(Arbitraries.usages, 100).includes(BufferUsage.defaultUsage) // => true
 * ```
 *
 * @category buffers
 * @since 0.1.0
 */
export const usages: Arbitrary<BufferUsage.BufferUsage> = dual(
  fc.subarray([BufferUsage.copySrc, BufferUsage.copyDst])
    .map((flags) => flags.reduce((usage, flag) => usage | flag, BufferUsage.storage))
)

/**
 * A request of a program to a pool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** The requested size in bytes. */
  readonly size: number
  readonly usage: BufferUsage.BufferUsage
}

/**
 * Requests, for `BufferPool.allocate(size, { usage })`.
 *
 * **Example** (Any request is granted in full)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const granted = ({ size, usage }: Arbitraries.Request) =>
 *   BufferPool.use(size, (buffer) => Effect.succeed(buffer.size === size), { usage }).pipe(
 *     Effect.provide(BufferPool.layer()),
 *     Effect.provide(Host.layer()),
 *     Effect.runPromise
 *   )
 * await fc.assert(fc.asyncProperty(Arbitraries.requests({ max: 4096, zero: true }), granted))
 * ```
 *
 * @category buffers
 * @since 0.1.0
 */
export const requests = (options?: Parameters<typeof sizes>[0]): Arbitrary<Request> =>
  dual(fc.record({ size: sizes(options), usage: usages }, plain))

/**
 * A step of a trace: releases the buffer in a slot, and may allocate a new one for the slot.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  readonly slot: number
  readonly request: Request | undefined
}

/**
 * The requests and releases of a program over time: each slot has one buffer or none.
 *
 * @category models
 * @since 0.1.0
 */
export type Trace = ReadonlyArray<Step>

/**
 * Random traces of up to `maxSteps` steps (50 when left out) in `slots` slots (8 when left out). Two thirds of the
 * steps allocate.
 *
 * **Example** (A pool never manages less than what is active)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import * as fc from "fast-check"
 *
 * const holds = (trace: Arbitraries.Trace) =>
 *   Arbitraries.play(trace).pipe(
 *     Effect.andThen(BufferPool.stats),
 *     Effect.map(({ activeBytes, managedBytes }) => activeBytes <= managedBytes),
 *     Effect.scoped,
 *     Effect.provide(BufferPool.layer()),
 *     Effect.provide(Host.layer()),
 *     Effect.runPromise
 *   )
 * await fc.assert(fc.asyncProperty(Arbitraries.traces({ max: 65536 }), holds))
 * ```
 *
 * @category traces
 * @since 0.1.0
 */
export const traces = (
  options?: Parameters<typeof sizes>[0] & {
    readonly slots?: number | undefined
    readonly maxSteps?: number | undefined
  }
): Arbitrary<Trace> =>
  dual(fc.array(
    fc.record({
      slot: fc.nat((options?.slots ?? 8) - 1),
      request: fc.option(requests(options), { nil: undefined, freq: 2 })
    }, plain),
    { maxLength: options?.maxSteps ?? 50, size: "max" }
  ))

/**
 * Runs a trace on the `BufferPool` in context. The effect's scope owns the buffers that are in slots at its end. Fails
 * as the pool's `allocate` does.
 *
 * **Example** (Two steps in one slot)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, BufferUsage } from "effect-gpu-pool"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 *
 * const request = { size: 64, usage: BufferUsage.defaultUsage }
 * Arbitraries.play([{ slot: 0, request }, { slot: 0, request }]).pipe(
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map(({ activeBytes, hits }) => [activeBytes, hits])
 * ) // => [64, 1]
 * ```
 *
 * @category traces
 * @since 0.1.0
 */
export const play = (trace: Trace): Effect.Effect<void, GpuError, BufferPool.BufferPool | Scope.Scope> =>
  Effect.gen(function*() {
    const around = yield* Scope.Scope
    const slots = new Map<number, Scope.Closeable>()
    for (const { request, slot } of trace) {
      const last = slots.get(slot)
      if (last !== undefined) yield* Scope.close(last, Exit.void)
      slots.delete(slot)
      if (request === undefined) continue
      const scope = yield* Scope.fork(around)
      slots.set(slot, scope)
      yield* Scope.provide(BufferPool.allocate(request.size, { usage: request.usage }), scope)
    }
  })

const parts: fc.Arbitrary<DeviceSelector.Part> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.integer({ min: -3, max: 12 }) },
  { weight: 2, arbitrary: fc.constantFrom("intel", "NVIDIA", "Portable Computing", "i5", "llvmpipe") },
  { weight: 2, arbitrary: fc.constantFrom("3090", "-1", "*", " padded ", "a:b;c,d", "say \"hi\"", "C:\\dir", "=") },
  { weight: 1, arbitrary: fc.string({ minLength: 1, unit: "grapheme" }) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, unit: fc.constantFrom(..."\"\\:;,*= -1a") }) }
)

const entries: fc.Arbitrary<DeviceSelector.Entry> = fc.record({
  backend: fc.constantFrom(...backends),
  platform: parts,
  devices: fc.tuple(parts, fc.array(parts, { maxLength: 3 })).map(([first, others]) => [first, ...others] as const)
}, plain)

/**
 * Selections of devices as data. Some names need quotes.
 *
 * **Example** (Parsing gives back what was formatted)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import { deepStrictEqual } from "node:assert/strict"
 * import * as fc from "fast-check"
 *
 * fc.assert(fc.property(Arbitraries.selectors, (selector) => {
 *   deepStrictEqual(Result.getOrThrow(DeviceSelector.parse(DeviceSelector.format(selector))), selector)
 * }))
 * ```
 *
 * @category selections
 * @since 0.1.0
 */
export const selectors: Arbitrary<DeviceSelector.DeviceSelector> = dual(
  fc.tuple(entries, fc.array(entries, { maxLength: 3 })).map(([first, others]) => [first, ...others] as const)
)

/**
 * A selection, and one of the many ways to write it as a string.
 *
 * @category models
 * @since 0.1.0
 */
export interface WrittenSelector {
  readonly text: string
  readonly selector: DeviceSelector.DeviceSelector
}

const spaces = fc.constantFrom("", "", "", " ", "  ", "\t")

const quoted = (name: string): string => `"${name.replaceAll(/["\\]/g, "\\$&")}"`

const isPlain = (name: string): boolean => name.trim() === name && !/[:;,"]/.test(name) && !/^(-?\d+|\*)$/.test(name)

/** Another way to write the same part of a selection. */
const waysOf = (part: DeviceSelector.Part, canBeEmpty: boolean): fc.Arbitrary<string> => {
  if (part === undefined) return canBeEmpty ? fc.constantFrom("*", "") : fc.constant("*")
  if (typeof part === "string") return fc.constantFrom(quoted(part), ...isPlain(part) ? [part] : [])
  if (part === 0) return fc.constantFrom("0", "00", "-0")
  const zeros = fc.constantFrom("", "0", "00")
  return zeros.map((zeros) => part < 0 ? `-${zeros}${-part}` : `${zeros}${part}`)
}

const padded = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(spaces, text, spaces).map((parts) => parts.join(""))

const casesOf = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => [...text].map((char, i) => upper[i] === true ? char.toUpperCase() : char).join(""))

const waysOfEntry = ({ backend, devices, platform }: DeviceSelector.Entry): fc.Arbitrary<string> => {
  const name = padded(casesOf(backend))
  const onPlatform = fc.tuple(name, padded(waysOf(platform, true))).map((parts) => parts.join(":"))
  const inFull = fc.tuple(onPlatform, fc.tuple(...devices.map((part) => padded(waysOf(part, true)))))
    .map(([entry, list]) => `${entry}:${list.join(",")}`)
  const isAny = devices.length === 1 && devices[0] === undefined
  return fc.oneof(inFull, ...isAny ? [onPlatform] : [], ...isAny && platform === undefined ? [name] : [])
}

/**
 * Selections as strings, with their meaning. They vary in case, white space, zeros, quotes and omitted parts.
 *
 * **Example** (Every way to write it)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceSelector } from "effect-gpu-pool/devices"
 * import { Arbitraries } from "@effect-gpu-pool/testing/properties"
 * import { deepStrictEqual } from "node:assert/strict"
 * import * as fc from "fast-check"
 *
 * fc.assert(fc.property(Arbitraries.writtenSelectors, ({ selector, text }) => {
 *   deepStrictEqual(Result.getOrThrow(DeviceSelector.parse(text)), selector)
 * }))
 * ```
 *
 * @category selections
 * @since 0.1.0
 */
export const writtenSelectors: Arbitrary<WrittenSelector> = dual(
  selectors.chain((selector) =>
    fc.tuple(...selector.map(waysOfEntry)).map((entries) => ({ selector, text: entries.join(";") }))
  )
)
