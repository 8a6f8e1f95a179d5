/**
 * Vectors of eight numbers in OpenCL C, which compilers turn into the device's own. Integers are added and multiplied unsigned, as
 * only they wrap.
 *
 * @internal
 */
import type { DType } from "../../../domain/data/DType.ts"
import type { Eights } from "../../../domain/language/LanguageWriter.ts"
import { isFloat } from "../../../domain/language/Operation.ts"

const wide: { readonly [D in DType]: "uint" | "float" | "double" } = {
  f32: "float",
  i32: "uint",
  u32: "uint",
  f16: "float",
  f64: "double"
}

/** Eight elements in the type of the sums. */
const loadEight = (vector: string, index: string, from: DType, sum: DType): string => {
  const loaded = from === "f16" ? `vload_half8(0, ${vector} + ${index})` : `vload8(0, ${vector} + ${index})`
  if (!isFloat(sum)) return from === "i32" ? `as_uint8(${loaded})` : loaded
  return from === sum || (from === "f16" && sum === "f32") ? loaded : `convert_${wide[sum]}8(${loaded})`
}

const loadOne = (vector: string, index: string, from: DType, sum: DType): string => {
  const loaded = `${vector}[${index}]`
  if (!isFloat(sum)) return from === "i32" ? `as_uint(${loaded})` : loaded
  return from === sum ? loaded : `(${wide[sum]}) ${loaded}`
}

const stored = (value: string, to: DType): string =>
  to === "i32" ? `as_int(${value})` : to === "f16" ? `(half) ${value}` : value

/** The array in which sums lie of which not all are stored. */
const part = "part__"

export const eights: Eights = {
  one: (name, vector, index, from, sum) => `const ${wide[sum]} ${name} = ${loadOne(vector, index, from, sum)};`,
  load: (name, vector, index, from, sum) => `const ${wide[sum]}8 ${name} = ${loadEight(vector, index, from, sum)};`,
  zero: (name, sum) => `${wide[sum]}8 ${name} = 0;`,
  addProduct: (sums, one, eight) => `${sums} = ${sums} + ${one} * ${eight};`,
  store: (sums, vector, index, _sum, to) =>
    to === "f16"
      ? `vstore_half8(${sums}, 0, ${vector} + ${index});`
      : `vstore8(${to === "i32" ? `as_int8(${sums})` : sums}, 0, ${vector} + ${index});`,
  storeRest: (sums, skipped, vector, index, sum, to) => [
    "{",
    `${wide[sum]} ${part}[${sums.length * 8}];`,
    ...sums.map((eight, at) => `vstore8(${eight}, ${at}, ${part});`),
    `for (uint c__ = ${skipped}; c__ < ${sums.length * 8}u; c__++) {`,
    `${vector}[${index} + c__] = ${stored(`${part}[c__]`, to)};`,
    "}",
    "}"
  ]
}
