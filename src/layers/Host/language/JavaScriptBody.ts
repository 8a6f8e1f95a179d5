/**
 * Bodies in JavaScript, made of statements.
 *
 * @internal
 */
import { messageOf } from "../../../domain/arguments/Format.ts"
import * as HostSource from "../../../domain/data/HostSource.ts"
import type { HostBody } from "../../../domain/kernel/Kernel.ts"
import type { ScalarArg, VectorArg } from "../../../domain/kernel/KernelArgument.ts"
import * as SourceExcerpt from "../../../domain/kernel/SourceExcerpt.ts"

const countOneBits = (value: number): number => {
  const pairs = value - ((value >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** From 2^52 on every double is whole, so a sum of that and a smaller number is rounded to a whole one. */
const roundHalfEven = (value: number): number => {
  const wholeFrom = 2 ** 52
  const magnitude = Math.abs(value)
  if (!(magnitude < wholeFrom)) return value
  const whole = (magnitude + wholeFrom) - wholeFrom
  return value < 0 || Object.is(value, -0) ? -whole : whole
}

/** 1 to any power is 1, and so is -1 to an infinite one, which JavaScript denies. */
const power = (base: number, exponent: number): number =>
  base === 1 || (base === -1 && Math.abs(exponent) === Infinity) ? 1 : base ** exponent

const asSigned64 = (value: bigint): bigint => BigInt.asIntN(64, value)

const asUnsigned64 = (value: bigint): bigint => BigInt.asUintN(64, value)

const countOneBits64 = (value: bigint): bigint => {
  let rest = BigInt.asUintN(64, value)
  let count = 0n
  for (; rest !== 0n; rest &= rest - 1n) count++
  return count
}

const countLeadingZeros64 = (value: bigint): bigint => {
  const bits = BigInt.asUintN(64, value)
  const high = Number(bits >> 32n)
  return BigInt(high === 0 ? 32 + Math.clz32(Number(bits & 0xffffffffn)) : Math.clz32(high))
}

/** A float as the nearest whole number of a range, without its fraction; NaN as 0. */
const saturated64 = (value: number, least: bigint, most: bigint): bigint => {
  if (value !== value) return 0n
  if (value >= Number(most)) return most
  return value <= Number(least) ? least : BigInt(Math.trunc(value))
}

/**
 * A double near an integer, from which rounding to a smaller float gives what rounding the integer gives: of the bits
 * that do not fit, it says in its last one whether any is set.
 */
const oddOf64 = (value: bigint): number => {
  const magnitude = value < 0n ? -value : value
  if (magnitude < 0x20000000000000n) return Number(value)
  const odd = Number((magnitude >> 11n) | ((magnitude & 0x7ffn) === 0n ? 0n : 1n)) * 2048
  return value < 0n ? -odd : odd
}

/** What bodies can call, beside `Math`. They call nothing of this file themselves, since they move with the bodies as text. */
const own = {
  asSigned64,
  asUnsigned64,
  countLeadingZeros64,
  countOneBits,
  countOneBits64,
  exp2: (value: number) => 2 ** value,
  oddOf64,
  power,
  roundHalfEven,
  saturated64
}

/** What bodies can call. */
const functions: { readonly [name: string]: unknown } = {
  ...Object.fromEntries(Object.getOwnPropertyNames(Math).map((name) => [name, Reflect.get(Math, name)])),
  ...own
}

/** The same as text. */
const functionsText = (): string =>
  `({ ...Object.fromEntries(Object.getOwnPropertyNames(Math).map((name) => [name, Math[name]])), ...${
    HostSource.literal(own)
  } })`

type Args = ReadonlyArray<VectorArg | ScalarArg>

/** The function of a range of items, as a function of what it calls. */
type Program = (calls: typeof functions) => (from: number, to: number, args: unknown) => void

/**
 * A body for the host backend. It is compiled when it first runs. Where a page's policy forbids that, it throws, and the command
 * fails with what to do.
 */
export const makeBody = (
  name: string,
  args: Args,
  lines: ReadonlyArray<string>
): HostBody<Args> => {
  let body: HostBody<Args> | undefined
  const source = () => sourceOf(name, args, lines)
  return HostSource.withText<HostBody<Args>>(
    (from, to, values) => {
      body ??= compile(source())
      body(from, to, values)
    },
    () => `((calls) => {\n${source()}\n})(${functionsText()})`
  )
}

/** Names become code, so anything that is no identifier is refused here. */
const identifier = /^[A-Za-z]\w*$/

const sourceOf = (name: string, args: Args, lines: ReadonlyArray<string>): string => {
  const stray = [name, ...args.map((argument) => argument.name)].find((text) => !identifier.test(text))
  if (stray !== undefined) throw new TypeError(`${JSON.stringify(stray)} is no name of a kernel or an argument`)
  return [
    `"use strict"`,
    `const { ${Object.keys(functions).filter((name) => identifier.test(name)).join(", ")} } = calls`,
    `return (from, to, args) => {`,
    ...args.flatMap(unpack),
    ...lines,
    `}`,
    `//# sourceURL=effect-gpu-pool/${name}.js`
  ].join("\n")
}

const compile = (source: string): HostBody<Args> => {
  try {
    const program = new Function("calls", source) as Program
    return program(functions)
  } catch (cause) {
    if (!(cause instanceof EvalError)) {
      throw new SyntaxError(`${messageOf(cause)} in this source:\n${SourceExcerpt.of(source, "")}`, { cause })
    }
    throw new EvalError(
      `kernels made of expressions become code on the host, which this runtime forbids (${cause.message}). ` +
        `Allow code from strings ('unsafe-eval' in a page's policy), or use another backend`,
      { cause }
    )
  }
}

const unpack = (argument: VectorArg | ScalarArg): ReadonlyArray<string> =>
  argument._tag === "ScalarArg"
    ? [`const s__${argument.name} = args.${argument.name}`]
    : [
      `const v__${argument.name} = args.${argument.name}`,
      ...(argument.withOffset ? [`const o__${argument.name} = args.${argument.name}_offset`] : [])
    ]
