/**
 * Values of every type: extremes, numbers that conversions change, and random ones.
 *
 * @internal
 */
import type { HeldValue, NumberType, VectorLength } from "effect-gpu-pool/ValueType"
import type { Random } from "../Random.ts"
import type { Parameter } from "./ValueKernel.ts"

const floats = (least: number, leastNormal: number, most: number): ReadonlyArray<number> => [
  0,
  -0,
  1,
  -1.5,
  NaN,
  Infinity,
  -Infinity,
  least,
  -least,
  leastNormal - least,
  leastNormal,
  most,
  -most,
  0.1
]

/** Each with its extremes. */
export const awkward: { readonly [N in NumberType]: ReadonlyArray<number | bigint> } = {
  f32: floats(2 ** -149, 2 ** -126, 3.4028234663852886e38),
  f16: floats(2 ** -24, 2 ** -14, 65504),
  f64: floats(2 ** -1074, 2 ** -1022, Number.MAX_VALUE),
  i8: [-128, 127, 0, -1, 1, -0, 77],
  u8: [255, 128, 0, 1, 200],
  i16: [-32768, 32767, 0, -1, -129, 300],
  u16: [65535, 32768, 0, 1, 256],
  i32: [-0x80000000, 0x7fffffff, 0, -1, 16_777_217],
  u32: [0xffffffff, 0x80000000, 0, 1, 16_777_217],
  i64: [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 2n ** 53n + 1n, -(2n ** 32n)],
  u64: [2n ** 64n - 1n, 2n ** 63n, 0n, 1n, 2n ** 53n + 1n, 2n ** 32n]
}

/** The awkward values of a type in a cycle, from index `from` on. */
export const awkwardFrom = ({ element, length }: Parameter, from: number): HeldValue => {
  const values = awkward[element]
  const lanes = Array.from({ length }, (_, lane) => values[(from + lane) % values.length]!)
  return length === 1 ? lanes[0]! : lanes
}

export const anyParameter = (
  random: Random,
  elements: ReadonlyArray<NumberType>,
  lengths: ReadonlyArray<1 | VectorLength>
): Parameter => ({ element: random.pick(elements), length: random.pick([1, ...lengths]) })

export const anyValue = (random: Random, { element, length }: Parameter): HeldValue => {
  const lanes = Array.from({ length }, () => anyNumber(random, element))
  return length === 1 ? lanes[0]! : lanes
}

const classes = {
  f32: Float32Array,
  f64: Float64Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array
}

const anyNumber = (random: Random, element: NumberType): number | bigint => {
  if (random.integer(0, 2) === 0) return random.pick(awkward[element])
  const { buffer } = random.bytes(8)
  return element === "f16"
    ? random.integer(-2048, 2048) * 2 ** random.integer(-20, 4)
    : new classes[element](buffer)[0]!
}
