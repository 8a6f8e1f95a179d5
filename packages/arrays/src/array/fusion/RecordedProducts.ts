/**
 * Which recorded products get memory of their own, and which become part of the kernel that computes what was made of
 * them.
 *
 * @internal
 */
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import type { DeviceArray } from "../ArrayValue.ts"
import * as Shape from "../layout/Shape.ts"
import * as Plan from "./Plan.ts"

/**
 * The products that need memory before some recorded arrays of one shape are computed. One product may be left, which
 * their kernel computes.
 */
export const before = (arrays: ReadonlyArray<DeviceArray>, info: DeviceInfo): ReadonlyArray<DeviceArray> => {
  if (!arrays.some(({ pending }) => pending?.hasProduct === true)) return []
  const walk = new Walk(arrays)
  const last = walk.products.at(-1)
  if (last === undefined || (arrays.length === 1 && arrays[0] === last)) return []
  return canBePart(last, arrays, walk, info) ? walk.products.slice(0, -1) : walk.products
}

/** The operations under some arrays, and how often each is an operand among them. */
class Walk {
  readonly products: Array<DeviceArray> = []
  readonly uses = new Map<DeviceArray, number>()

  constructor(arrays: ReadonlyArray<DeviceArray>) {
    for (const array of arrays) this.#visit(array, 0)
  }

  #visit(array: DeviceArray, uses: number): void {
    const { pending } = array
    if (pending?.hasProduct !== true) return
    const known = this.uses.get(array)
    this.uses.set(array, (known ?? 0) + uses)
    if (known !== undefined) return
    if (pending.product !== undefined) {
      this.products.push(array)
      return
    }
    for (const operand of pending.operands) {
      if (typeof operand === "object") this.#visit(operand, 1)
    }
  }
}

/**
 * Whether the kernel of a product can compute arrays that are made of it, and nothing else will need its elements. The
 * host computes products by functions of blocks.
 */
const canBePart = (
  product: DeviceArray,
  arrays: ReadonlyArray<DeviceArray>,
  { uses }: Walk,
  { limits, traits }: DeviceInfo
): boolean => {
  const { shape } = arrays[0]!
  if (traits.language.bodies === "ranges" || !Shape.equals(product.shape, shape)) return false
  for (const [array, count] of uses) {
    if (array.pending!.uses !== count && !arrays.includes(array)) return false
  }
  return Plan.fitsProduct(Plan.make(arrays, shape), arrays.length, limits.maxVectorArguments)
}
