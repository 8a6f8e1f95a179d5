/**
 * Values of other kinds than functions of arrays take, as programs in JavaScript pass: a function takes them, or refuses them with a
 * typed error. It neither throws nor ends in a defect, and leaves no memory.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import { isGpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { runs, some } from "../../../../test/support/explore.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import { type Gpu, strictHost } from "./ArrayBackends.ts"
import { sampleCalls } from "./SampleCalls.ts"

type Services = Gpu | BufferPools.BufferPools | Scope.Scope

const functions = DeviceArray as unknown as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => unknown>>

const wrongValues: ReadonlyArray<unknown> = [
  undefined,
  null,
  true,
  7,
  -1,
  0.5,
  NaN,
  5n,
  "a",
  "f32",
  Symbol("wrong"),
  () => undefined,
  {},
  Object.create(null),
  [],
  [undefined],
  [Symbol("wrong")],
  new Float64Array(3),
  Effect.succeed(undefined)
]

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** The members of a list or of an object, if a value is one. */
const partsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) || isRecord(value) ? Object.keys(value) : []

const withPart = (value: object, name: string, part: unknown): unknown =>
  Array.isArray(value)
    ? value.map((own: unknown, at) => String(at) === name ? part : own)
    : { ...value, [name]: part }

/** The values of a list, each with one part at any depth replaced by a wrong value. */
function* replacements(value: unknown): Generator<unknown> {
  for (const name of partsOf(value)) {
    const whole = value as object
    const part: unknown = Reflect.get(whole, name)
    for (const wrong of wrongValues) yield withPart(whole, name, wrong)
    for (const replaced of replacements(part)) yield withPart(whole, name, replaced)
  }
}

type Call = ReadonlyArray<unknown>

/** Calls with one mistake: a wrong value somewhere, or after all arguments, or arguments that lack at an end. */
function* mistaken(args: Call): Generator<Call> {
  yield* replacements(args) as Iterable<Call>
  for (const wrong of wrongValues) yield [...args, wrong]
  for (let count = 0; count < args.length; count++) {
    const [first, last] = [args.slice(0, count), args.slice(args.length - count)]
    yield first
    yield last
    yield* replacements(first) as Iterable<Call>
    yield* replacements(last) as Iterable<Call>
  }
}

/** Any number of arguments, each right or wrong. */
const mixed = (args: Call): fc.Arbitrary<Call> => {
  const wrong = fc.constantFrom(...wrongValues)
  const each = args.map((arg) => fc.oneof({ weight: 2, arbitrary: fc.constant(arg) }, { weight: 1, arbitrary: wrong }))
  return fc.tuple(...each).chain((call) => fc.nat(args.length).map((count) => call.slice(0, count)))
}

const isEffect = (value: unknown): value is Effect.Effect<unknown, unknown, Services> => Effect.isEffect(value)

/** What is wrong with how a call ends; what a data-last call returns is called with `x`. */
const complaint = (name: string, args: Call, x: unknown): Effect.Effect<string | undefined, never, Services> =>
  Effect.gen(function*() {
    let answer: unknown
    try {
      answer = functions[name]!(...args)
      while (typeof answer === "function") answer = answer(x)
    } catch (thrown) {
      return `threw ${String(thrown)}`
    }
    if (!isEffect(answer)) return "returned no effect"
    // What is no effect in the place of one ends its fiber, whatever catches.
    const fiber = yield* Effect.forkChild(Effect.scoped(answer))
    const exit = yield* Fiber.await(fiber)
    const untyped = Exit.isSuccess(exit)
      ? undefined
      : exit.cause.reasons.find((reason) => !Cause.isFailReason(reason) || !isGpuError(reason.error))
    return untyped === undefined ? undefined : String(untyped)
  })

const shown = (args: Call): string =>
  JSON.stringify(args, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return typeof value === "string" ? value : String(value)
    return Array.isArray(value) || isRecord(value) ? value : "an object"
  })

const host = Layer.mergeAll(strictHost, BufferPools.layer(() => Host.layer()))

describe("A wrong argument is refused with a typed error, if it is refused", () => {
  for (const [name, sample] of Object.entries(sampleCalls)) {
    it.effect(`by ${name}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(16)
        const x = yield* DeviceArray.fromHost(Int32Array.of(1, 0, 3, -2), { shape: [2, 2] })
        const right = sample(x, lease)
        strictEqual(yield* complaint(name, right, x), undefined)
        const several = fc.sample(mixed(right), runs(500))
        for (const [at, args] of [...some([...mistaken(right)], 100), ...several].entries()) {
          const other = wrongValues[at % wrongValues.length]
          for (const last of args.length < right.length ? [x, other] : [x]) {
            const wrong = yield* complaint(name, args, last)
            if (wrong !== undefined) assert.fail(`${shown(args)}, then ${shown([last])}: ${wrong}`)
          }
        }
        strictEqual((yield* BufferPool.stats).activeBlocks, 2)
      })).pipe(Effect.provide(host)))
  }
})
