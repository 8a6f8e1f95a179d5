/**
 * The body of a product's kernel in OpenCL C where the rows of the second operand and of the result lie in memory in one
 * piece: sixteen columns at a time, as two vectors of eight, which compilers turn into the device's own. Integers are
 * multiplied unsigned, as only they wrap.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { openClC } from "../../kernels/expression/OpenClC.ts"
import { isFloat } from "../../kernels/expression/Operation.ts"
import { begin, place, rowStarts, type Tile, type Types } from "./TileBody.ts"

/** Columns of a tile; the result must have as many. */
export const columns = 16

const wide: { readonly [D in DType]: "uint" | "float" | "double" } = {
  f32: "float",
  i32: "uint",
  u32: "uint",
  f16: "float",
  f64: "double"
}

/** Eight elements in the type of the sums. */
const loadEight = (vector: "a" | "b", index: string, from: DType, to: DType): string => {
  const loaded = from === "f16" ? `vload_half8(0, ${vector} + ${index})` : `vload8(0, ${vector} + ${index})`
  if (!isFloat(to)) return from === "i32" ? `as_uint8(${loaded})` : loaded
  return from === to || (from === "f16" && to === "f32") ? loaded : `convert_${wide[to]}8(${loaded})`
}

const loadOne = (vector: "a" | "b", index: string, from: DType, to: DType): string => {
  const loaded = openClC.load(vector, index, from)
  if (!isFloat(to)) return from === "i32" ? `as_uint(${loaded})` : loaded
  return openClC.apply("astype", [loaded], from, to)
}

const storeEight = (value: string, at: string, to: DType): string => {
  if (to === "f16") return `vstore_half8(${value}, 0, y + ${at});`
  return `vstore8(${to === "i32" ? `as_int8(${value})` : value}, 0, y + ${at});`
}

/**
 * Statements for a tile of so many rows. The last tile of a row begins earlier, so that it is whole, and stores only
 * the columns that no other tile has stored.
 */
export const vectorBody = (rows: number, types: Types, axes: number): string => {
  const tile: Tile = { rows, columns }
  const { declare } = openClC
  const one = wide[types.sum]
  const each = Array.from({ length: rows }, (_, r) => r)
  const lines = [
    ...place(openClC, tile),
    ...begin(openClC, axes),
    ...rowStarts(openClC, tile),
    declare("first__", "u32", `min(column__, columns - ${columns}u)`),
    "uint b__row = b__at + first__;",
    ...each.map((r) => `${one}8 low__${r} = 0, high__${r} = 0;`),
    "for (uint round__ = 0, a__moved = 0; round__ < depth; round__++, a__moved += aColumn, b__row += bRow) {",
    `const ${one}8 low__ = ${loadEight("b", "b__row", types.b, types.sum)};`,
    `const ${one}8 high__ = ${loadEight("b", "b__row + 8", types.b, types.sum)};`,
    ...each.flatMap((r) => [
      `const ${one} x__${r} = ${loadOne("a", `a__${r} + a__moved`, types.a, types.sum)};`,
      `low__${r} = low__${r} + x__${r} * low__;`,
      `high__${r} = high__${r} + x__${r} * high__;`
    ]),
    "}",
    declare("y__at", "u32", "(matrix__ * rows + row__) * columns + first__"),
    "if (first__ == column__) {",
    ...each.flatMap((r) => [
      `if (row__ + ${r}u < rows) {`,
      storeEight(`low__${r}`, `y__at + ${r}u * columns`, types.y),
      storeEight(`high__${r}`, `y__at + ${r}u * columns + 8u`, types.y),
      "}"
    ]),
    "} else {",
    `${one} part__[${columns}];`,
    ...each.flatMap((r) => [
      `if (row__ + ${r}u < rows) {`,
      `vstore8(low__${r}, 0, part__);`,
      `vstore8(high__${r}, 1, part__);`,
      `for (uint c__ = column__ - first__; c__ < ${columns}u; c__++) {`,
      openClC.store("y", `y__at + ${r}u * columns + c__`, storedOne("part__[c__]", types), types.y),
      "}",
      "}"
    ]),
    "}"
  ]
  return lines.map((line) => `  ${line}`).join("\n")
}

const storedOne = (value: string, { sum, y }: Types): string =>
  y === "i32" ? `as_int(${value})` : openClC.apply("astype", [value], sum, y)
