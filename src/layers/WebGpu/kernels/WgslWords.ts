/**
 * Vectors of elements that share words, in WGSL, which has no types of 8 and 16 bits in memory: an array of words, and
 * functions that load and store elements of it.
 *
 * Different items write elements of one word at the same time, so a written word is atomic, and a store changes the bits of
 * its element alone. It exchanges the whole word: of two stores to one element one would be lost, but if each cleared the bits
 * and then set some, the element could get the bits of both, which is a value that none has stored.
 *
 * @internal
 */
import { type DType, isDType } from "../../../domain/data/DType.ts"
import type { KernelArgument, VectorArg } from "../../../domain/kernel/KernelArgument.ts"
import { packedBits, typeNames } from "../language/WgslTypes.ts"

/** The type of the words. */
export const wordOf = ({ access }: Pick<VectorArg, "access">): string => access === "read" ? "u32" : "atomic<u32>"

/** The functions for those of some arguments that are such vectors. */
export const wordFunctions = (args: ReadonlyArray<KernelArgument>): ReadonlyArray<string> =>
  args.flatMap((argument) =>
    !isPacked(argument)
      ? []
      : [
        ...(argument.access === "write" ? [] : [load(argument)]),
        ...(argument.access === "read" ? [] : [store(argument)])
      ]
  )

type Packed = VectorArg<string, DType>

const isPacked = (argument: KernelArgument): argument is Packed =>
  argument._tag === "VectorArg" && isDType(argument.dtype) && packedBits(argument.dtype) !== 0

interface Place {
  readonly bits: number
  /** The word in which an element is, and where it begins there. */
  readonly word: string
  readonly shift: string
  readonly mask: string
}

const placeIn = ({ dtype, name }: Packed): Place => {
  const bits = packedBits(dtype)
  return bits === 8
    ? { bits, word: `${name}[at__ >> 2u]`, shift: "(at__ & 3u) << 3u", mask: "0xffu" }
    : { bits, word: `${name}[at__ >> 1u]`, shift: "(at__ & 1u) << 4u", mask: "0xffffu" }
}

/** Shifted up to the end of the word and down again, an element has its sign in all bits above. */
const load = (argument: Packed): string => {
  const { access, dtype, name } = argument
  const { bits, mask, shift, word } = placeIn(argument)
  const element = dtype === "bool"
    ? `((word__ >> shift__) & ${mask}) != 0u`
    : dtype.startsWith("u")
    ? `(word__ >> shift__) & ${mask}`
    : `i32(word__ << (${32 - bits}u - shift__)) >> ${32 - bits}u`
  return `fn ${name}_load(at__: u32) -> ${typeNames[dtype]} {
  let shift__ = ${shift};
  let word__ = ${access === "read" ? word : `atomicLoad(&${word})`};
  return ${element};
}`
}

const store = (argument: Packed): string => {
  const { dtype, name } = argument
  const { mask, shift, word } = placeIn(argument)
  return `fn ${name}_store(at__: u32, value__: ${typeNames[dtype]}) {
  let shift__ = ${shift};
  let bits__ = (u32(value__) & ${mask}) << shift__;
  var word__ = atomicLoad(&${word});
  loop {
    let found__ = atomicCompareExchangeWeak(&${word}, word__, (word__ & ~(${mask} << shift__)) | bits__);
    if (found__.exchanged) { break; }
    word__ = found__.old_value;
  }
}`
}
