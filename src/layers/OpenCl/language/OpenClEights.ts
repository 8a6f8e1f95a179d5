/**
 * Vectors of eight numbers in OpenCL C, which compilers turn into the device's own. Integers are added and multiplied unsigned, as
 * only they wrap.
 *
 * @internal
 */
import type { DType } from "../../../domain/data/DType.ts"
import { listed } from "../../../domain/language/CommonSyntax.ts"
import type { Eights } from "../../../domain/language/Language.ts"
import { bitsOf, isFloat, isInteger, isLong, isUnsigned } from "../../../domain/language/Operation.ts"

/** The type of sums of 32 or 64 bits, in which unsigned integers stand for those with a sign too. */
const wide = (sum: DType): "uint" | "ulong" | "float" | "double" =>
  isLong(sum) ? "ulong" : isInteger(sum) ? "uint" : sum === "f64" ? "double" : "float"

const memory: { readonly [D in DType]?: string } = {
  i8: "char",
  u8: "uchar",
  i16: "short",
  u16: "ushort",
  i32: "int",
  u32: "uint",
  i64: "long",
  u64: "ulong",
  bool: "uchar"
}

/** Whether integers have a sign, which conversions to more bits extend. */
const isSigned = (type: DType): boolean => isInteger(type) && !isUnsigned(type)

/** Integers as sums have them: of the same bits, or with their sign extended. `eight` is the text after a type's name. */
const asSum = (loaded: string, from: DType, sum: DType, eight: "" | "8"): string => {
  const name = wide(sum)
  if (memory[from] === name) return loaded
  const signed = name === "uint" ? "int" : "long"
  const extended = memory[from] === signed ? loaded : `convert_${isSigned(from) ? signed : name}${eight}(${loaded})`
  return isSigned(from) ? `as_${name}${eight}(${extended})` : extended
}

/** Eight elements in the type of the sums. */
const loadEight = (vector: string, index: string, from: DType, sum: DType): string => {
  const loaded = from === "f16" ? `vload_half8(0, ${vector} + ${index})` : `vload8(0, ${vector} + ${index})`
  if (!isFloat(sum)) return asSum(loaded, from, sum, "8")
  return from === sum || (from === "f16" && sum === "f32") ? loaded : `convert_${wide(sum)}8(${loaded})`
}

const loadOne = (vector: string, index: string, from: DType, sum: DType): string => {
  const loaded = `${vector}[${index}]`
  if (!isFloat(sum)) return asSum(loaded, from, sum, "")
  return from === sum ? loaded : `(${wide(sum)}) ${loaded}`
}

/** The type of a sum itself. */
const own = (sum: DType): string => isSigned(sum) ? memory[sum]! : wide(sum)

/** Eight sums as elements in memory: cut to their bits. */
const stored = (value: string, sum: DType, to: DType): string => {
  const name = memory[to]
  if (name === undefined || name === wide(sum)) return value
  if (to === "bool") return `convert_uchar8(min(${value}, (uint8) 1))`
  const unsigned = isSigned(to) ? `u${name}` : name
  const bits = bitsOf(to)
  const cut = bits === bitsOf(sum) ? value : `convert_${unsigned}8(${value} & ${2 ** bits - 1}u)`
  return isSigned(to) ? `as_${name}8(${cut})` : cut
}

export const eights: Eights = {
  one: (name, vector, index, from, sum) => `const ${wide(sum)} ${name} = ${loadOne(vector, index, from, sum)};`,
  load: (name, vector, index, from, sum) => `const ${wide(sum)}8 ${name} = ${loadEight(vector, index, from, sum)};`,
  zero: (name, sum) => `${wide(sum)}8 ${name} = 0;`,
  addProduct: (sums, one, eight) => `${sums} = ${sums} + ${one} * ${eight};`,
  store: (sums, vector, index, sum, to) =>
    to === "f16"
      ? `vstore_half8(${sums}, 0, ${vector} + ${index});`
      : `vstore8(${stored(sums, sum, to)}, 0, ${vector} + ${index});`,
  each: (sums, sum, { lines, place, value }) => [
    "{",
    `${wide(sum)} ${listed}[${sums.length * 8}];`,
    ...sums.map((eight, at) => `vstore8(${eight}, ${at}, ${listed});`),
    `for (uint ${place} = 0; ${place} < ${sums.length * 8}; ${place}++) {`,
    `const ${own(sum)} ${value} = ${own(sum) === wide(sum) ? "" : `as_${own(sum)}`}(${listed}[${place}]);`,
    ...lines,
    "}",
    "}"
  ]
}
