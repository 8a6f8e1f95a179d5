/**
 * Valid arguments of every function of `DeviceArray`, with all the options that a function has: for laws about all functions, which a
 * new one cannot escape, as without a row here nothing compiles.
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as Effect from "effect/Effect"
import * as DeviceArray from "../../src/array/DeviceArray.ts"

type Functions = Omit<typeof DeviceArray, "DeviceArray">

/** An array of the shape [2, 2] with small integers, or the effect of one. */
export type Sample = DeviceArray.ArrayOperand<"i32">

type OfArray = (x: Sample) => ReadonlyArray<unknown>

/** Some functions take a lease, of 16 bytes. */
type Arguments = (x: Sample, lease: PooledBuffer) => ReadonlyArray<unknown>

const one: OfArray = (x) => [x]
const two: OfArray = (x) => [x, x]
const along: OfArray = (x) => [x, { axis: 0 }]
const reduced: OfArray = (x) => [x, { axis: 0, keepDims: true }]
const begun: OfArray = (x) => [x, { axis: 0, keepDims: true, initial: 1 }]
const summed: OfArray = (x) => [x, { axis: 0, keepDims: true, initial: 1, dtype: "f32" }]
const cumulated: OfArray = (x) => [x, { axis: 0, dtype: "f32" }]
const ofShape: Arguments = () => [[2, 3], { dtype: "i32" }]
const like: OfArray = (x) => [x, { dtype: "f32" }]
const vector = DeviceArray.reshape([4])

/** Functions that make arrays of none, move them, or run effects. */
export const others = {
  arange: () => [0, 4, 1, { dtype: "i32" }],
  compile: () => [Effect.succeed],
  empty: ofShape,
  eye: () => [2, { columns: 3, diagonal: 1, dtype: "i32" }],
  fromHost: () => [[1, 2], { shape: [2, 1], dtype: "i32" }],
  fromLease: (_, lease) => [lease, { shape: [2], dtype: "i32", offset: 1 }],
  full: () => [[2, 3], 4, { dtype: "i32" }],
  iterate: (x) => [x, {
    body: Effect.succeed,
    every: 1,
    reserve: 64,
    times: 1,
    while: (_: unknown, step: number) => Effect.succeed(step < 2)
  }],
  lazy: (x) => [DeviceArray.add(x, 1), { reserve: 64 }],
  linspace: () => [0, 1, { count: 3, endpoint: true, dtype: "f32" }],
  ones: ofShape,
  scoped: (x) => [DeviceArray.add(x, 1), { reserve: 64 }],
  to: (x) => [x, "1", { chunkSize: 64, inFlight: 1 }],
  zeros: ofShape
} satisfies { readonly [Name in keyof Functions]?: Arguments }

/** Functions of an array, or of several. */
export const ofArrays: { readonly [Name in Exclude<keyof Functions, keyof typeof others>]: OfArray } = {
  abs: one,
  acos: one,
  acosh: one,
  add: two,
  all: reduced,
  angle: one,
  any: reduced,
  argmax: reduced,
  argmin: reduced,
  asin: one,
  asinh: one,
  assign: two,
  astype: (x) => [x, "f32"],
  atan: one,
  atan2: two,
  atanh: one,
  bincount: (x) => [vector(x), 4],
  bitwiseAnd: two,
  bitwiseNot: one,
  bitwiseOr: two,
  bitwiseXor: two,
  broadcastTo: (x) => [x, [2, 2, 2]],
  ceil: one,
  clip: (x) => [x, x, 3],
  complex: two,
  concatenate: (x) => [[x, x], { axis: 1 }],
  conj: one,
  conv: (
    x
  ) => [DeviceArray.expandDims(x, 0), DeviceArray.expandDims(x, 0), {
    stride: 1,
    padding: [[0, 1]],
    dilation: 1,
    groups: 1
  }],
  convolve: (x) => [vector(x), vector(x), "same"],
  copy: one,
  cos: one,
  cosh: one,
  countNonzero: reduced,
  countOneBits: one,
  cummax: cumulated,
  cummin: cumulated,
  cumprod: cumulated,
  cumsum: cumulated,
  degrees: one,
  diff: along,
  divide: two,
  dot: two,
  equal: two,
  evaluate: one,
  exp: one,
  exp2: one,
  expandDims: (x) => [x, [0]],
  fill: (x) => [x, 3],
  flip: (x) => [x, [0]],
  floor: one,
  floorDivide: two,
  fullLike: (x) => [x, 3, { dtype: "f32" }],
  greater: two,
  greaterEqual: two,
  hstack: (x) => [[x, x]],
  hypot: two,
  imag: one,
  inverseSqrt: one,
  isFinite: one,
  isInf: one,
  isNaN: one,
  leftShift: two,
  less: two,
  lessEqual: two,
  log: one,
  log10: one,
  log2: one,
  logicalAnd: two,
  logicalNot: one,
  logicalOr: two,
  logicalXor: two,
  matmul: two,
  max: begun,
  maximum: two,
  mean: (x) => [x, { axis: 0, keepDims: true, dtype: "f32" }],
  min: begun,
  minimum: two,
  multiply: two,
  negative: one,
  notEqual: two,
  onesLike: like,
  pad: (x) => [x, [[1, 0], [2, 1]], { mode: "constant", value: [[1, 2], [3, 4]] }],
  power: two,
  prod: summed,
  put: (x) => [x, DeviceArray.abs(x), x, { axis: 0, mode: "wrap" }],
  radians: one,
  real: one,
  reciprocal: one,
  remainder: two,
  repeat: (x) => [x, [1, 2], { axis: 0 }],
  reshape: (x) => [x, [4]],
  rightShift: two,
  roll: (x) => [x, 1, { axis: 0 }],
  round: one,
  segmentSum: (x) => [x, DeviceArray.slice(x, [0]), 2, { axis: 0, dtype: "f32" }],
  setSlice: (x) => [x, [0, { start: 0, stop: 1, step: 1 }], DeviceArray.slice(x, [1, { stop: 1 }])],
  sign: one,
  sin: one,
  sinh: one,
  slice: (x) => [x, [1, { start: 0, stop: 2, step: 1 }]],
  split: (x) => [x, [1], { axis: 0 }],
  sqrt: one,
  square: one,
  squeeze: (x) => [DeviceArray.expandDims(x, 0), [0]],
  stack: (x) => [[x, x], { axis: 1 }],
  std: (x) => [x, { axis: 0, keepDims: true, ddof: 1 }],
  subtract: two,
  sum: summed,
  take: (x) => [x, [[0, 1]], { axis: 0, mode: "wrap" }],
  tan: one,
  tanh: one,
  tile: (x) => [x, [1, 2]],
  toHost: one,
  toNested: one,
  toNumber: (x) => [DeviceArray.slice(x, [1, 0])],
  transpose: (x) => [x, [1, 0]],
  trunc: one,
  update: (x) => [x, DeviceArray.add(1)],
  variance: (x) => [x, { axis: 0, keepDims: true, ddof: 1 }],
  view: (x) => [x, "u32"],
  vstack: (x) => [[x, x]],
  where: (x) => [x, x, 0],
  zerosLike: like
}

/** All functions. */
export const sampleCalls: Readonly<Record<string, Arguments>> = { ...others, ...ofArrays }
