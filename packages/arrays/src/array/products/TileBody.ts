/**
 * The body of a product's kernel for one item: a tile of the result, its sums in registers. There is no workgroup memory;
 * what an item loads it uses for a whole row or column of its tile, and neighbours find it in the cache.
 *
 * Each sum is over the depth in order, whatever the tile, so the numbers do not depend on its size.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Language } from "../../kernels/expression/Language.ts"
import type { Loops } from "../../kernels/expression/Loops.ts"

/** Rows and columns of the result that one item computes. */
export interface Tile {
  readonly rows: number
  readonly columns: number
}

/** The element types of the operands and of the result, and that of the sums. */
export interface Types {
  readonly a: DType
  readonly b: DType
  readonly y: DType
  readonly sum: DType
}

/** 0, 1, ... */
const upTo = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

/**
 * Which tile the item has: `row__`, `column__`, and the number of its matrix, `matrix__`. Items of a group have tiles
 * that make a block of the result, so that they share what they load.
 */
export const place = ({ declare }: Language, tile: Tile): ReadonlyArray<string> => [
  declare("group__size", "u32", "groupRows * groupColumns"),
  declare("group__at", "u32", "i / group__size"),
  declare("inside__", "u32", "i - group__at * group__size"),
  declare("matrix__", "u32", "group__at / groups"),
  declare("block__", "u32", "group__at - matrix__ * groups"),
  declare("block__row", "u32", "block__ / groupsAcross"),
  declare("block__column", "u32", "block__ - block__row * groupsAcross"),
  declare("row__", "u32", `(block__row * groupRows + inside__ / groupColumns) * ${tile.rows}u`),
  declare("column__", "u32", `(block__column * groupColumns + inside__ % groupColumns) * ${tile.columns}u`),
  "if (row__ >= rows || column__ >= columns) { return; }"
]

/** Where the item's matrices begin: `a__at` and `b__at`. */
export const begin = ({ declare }: Language, axes: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const a = ["aOffset"]
  const b = ["bOffset"]
  let rest = "matrix__"
  for (let axis = axes - 1; axis >= 0; axis--) {
    const above = `above__${axis}`
    if (axis > 0) lines.push(declare(above, "u32", `${rest} / length${axis}`))
    lines.push(declare(`at__${axis}`, "u32", axis > 0 ? `${rest} - ${above} * length${axis}` : rest))
    a.push(`at__${axis} * aBatch${axis}`)
    b.push(`at__${axis} * bBatch${axis}`)
    rest = above
  }
  return [...lines, declare("a__at", "u32", a.join(" + ")), declare("b__at", "u32", b.join(" + "))]
}

/** Where the rows of the tile begin in the first operand; rows beyond the last are the last again. */
export const rowStarts = ({ declare }: Language, tile: Tile): ReadonlyArray<string> =>
  upTo(tile.rows).map((r) => declare(`a__${r}`, "u32", `a__at + ${clamped("row__", r, "rows")} * aRow`))

const clamped = (first: string, at: number, length: string): string =>
  at === 0 ? first : `min(${first} + ${at}u, ${length} - 1u)`

/** Statements in a language whose variables hold one number each. */
export const scalarBody = (loops: Loops, tile: Tile, types: Types, axes: number): string => {
  const { language } = loops
  const { apply, declare, load, store } = language
  const rows = upTo(tile.rows)
  const columns = upTo(tile.columns)
  const operand = (vector: "a" | "b", index: string): string =>
    apply("astype", [load(vector, index, types[vector])], types[vector], types.sum)
  const added = (r: number, c: number): string =>
    apply(
      "add",
      [sum(r, c), apply("multiply", [`x__${r}`, `z__${c}`], types.sum, types.sum)],
      types.sum,
      types.sum
    )
  const lines = [
    ...place(language, tile),
    ...begin(language, axes),
    ...rowStarts(language, tile),
    ...columns.map((c) => declare(`b__${c}`, "u32", `b__at + ${clamped("column__", c, "columns")} * bColumn`)),
    ...rows.flatMap((r) => columns.map((c) => loops.variable(sum(r, c), types.sum, language.constant(0, types.sum)))),
    loops.variable("b__moved", "u32", "0u"),
    ...loops.walk({ position: "a__moved", begin: "0u", step: "aColumn", times: "depth" }, [
      ...rows.map((r) => declare(`x__${r}`, types.sum, operand("a", `a__${r} + a__moved`))),
      ...columns.map((c) => declare(`z__${c}`, types.sum, operand("b", `b__${c} + b__moved`))),
      ...rows.flatMap((r) => columns.map((c) => loops.assign(sum(r, c), added(r, c)))),
      loops.assign("b__moved", "b__moved + bRow")
    ]),
    ...rows.flatMap((r) =>
      within("row__", r, "rows", [
        declare(`y__${r}`, "u32", `(matrix__ * rows + row__ + ${r}u) * columns + column__`),
        ...columns.flatMap((c) =>
          within("column__", c, "columns", [
            store("y", `y__${r} + ${c}u`, apply("astype", [sum(r, c)], types.sum, types.y), types.y)
          ])
        )
      ])
    )
  ]
  return lines.map((line) => `  ${line}`).join("\n")
}

const sum = (row: number, column: number): string => `sum__${row}_${column}`

/** Only what the result has is stored; the first row and the first column of a tile are always there. */
const within = (first: string, at: number, length: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  at === 0 ? lines : [`if (${first} + ${at}u < ${length}) {`, ...lines, "}"]
