import * as Effect from "effect/Effect"
import type { Random } from "./Random.ts"

/** The program's own error, which its functions throw and its effects fail with: no breach. */
export class OwnFailure extends Error {
  override readonly name = "OwnFailure"
}

const detached = (): Uint8Array => {
  const view = new Uint8Array(new ArrayBuffer(16))
  structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] })
  return view
}

/** The compiler's library is older than these. */
const resizable = (): ArrayBuffer => Reflect.construct(ArrayBuffer, [16, { maxByteLength: 64 }]) as ArrayBuffer

const outOfBounds = (): Float32Array => {
  const buffer = resizable()
  const view = new Float32Array(buffer, 8, 2)
  Reflect.apply(Reflect.get(buffer, "resize") as (bytes: number) => void, buffer, [4])
  return view
}

const nested = (depth: number): unknown => {
  let inner: unknown = 1
  for (let i = 0; i < depth; i++) inner = [inner]
  return inner
}

const cyclic = (): object => {
  const self: Array<unknown> = []
  self.push(self)
  return self
}

class Unrelated {
  readonly size = 16
  readonly label = "unrelated"
}

const odd: ReadonlyArray<() => unknown> = [
  () => undefined,
  () => null,
  () => true,
  () => Number.NaN,
  () => -0,
  () => -1,
  () => 0.1,
  () => 2 ** 31,
  () => 2 ** 32,
  () => 2 ** 53,
  () => Infinity,
  () => -Infinity,
  () => 0n,
  () => 10n ** 30n,
  () => Symbol("odd"),
  () => Symbol.iterator,
  () => "",
  () => "x".repeat(300_000),
  () => "\u0000\n\u001b[31mERROR forged\u2028\u202e",
  () => "\ud800",
  () => "__proto__",
  () => "constructor",
  () => ({}),
  () => [],
  () => [undefined],
  () => Array.from({ length: 3 }, () => Number.NaN),
  () => Object.assign([], { length: 1000 }),
  () => nested(20_000),
  () => cyclic(),
  () => Object.create(null),
  () => Object.freeze({}),
  () => ({ length: 2 ** 53 }),
  () => ({ length: -1 }),
  () => ({ toString: () => 7, valueOf: () => ({}) }),
  () => ({ [Symbol.iterator]: () => 7 }),
  () => (): undefined => undefined,
  () => (): never => {
    throw new OwnFailure("the program's function")
  },
  () => async (): Promise<number> => 1,
  () => Unrelated,
  () => new Unrelated(),
  () => new Date(Number.NaN),
  () => new Map([[1, 2]]),
  () => new Set([1]),
  () => new WeakMap(),
  () => Promise.resolve(1),
  () => new Error("a value"),
  () => /x/,
  () => new Number(8),
  () => new String("x"),
  () => new SharedArrayBuffer(16),
  () => new Float32Array(new SharedArrayBuffer(16)),
  () => detached(),
  () => detached().buffer,
  () => resizable(),
  () => new Uint8Array(resizable()),
  () => outOfBounds(),
  () => new DataView(new ArrayBuffer(8)),
  () => new BigInt64Array(4),
  () => new Uint8Array(3),
  () => new Float32Array(0),
  () => Float32Array,
  () => globalThis,
  () => Effect.succeed(1),
  () => Effect.fail(new OwnFailure("the program's effect")),
  () => Effect.void
]

/** A value that fits the types of no parameters, or of few. */
export const oddValue = (random: Random): unknown => random.pick(odd)()
