/**
 * Objects that are made once for all plans of one structure: the same operations on operands of the same types and
 * layouts.
 *
 * Lengths, offsets, strides and numbers are no part of a structure. It is found without building a key, by a walk
 * down a tree with a branch for each choice, because every operation of a program looks one up.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Access } from "./Indexing.ts"
import type { Leaf, Plan, Step } from "./Plan.ts"

/** One choice of a structure: a number, or an object that is the same for all structures that it is part of. */
type Key = number | object

/** The place of the object of one structure. */
export interface Slot<A> {
  value: A | undefined
}

class Node<A> implements Slot<A> {
  value: A | undefined = undefined
  /** A cache of the last branch, which a loop takes again. */
  #key: Key | undefined = undefined
  #child: Node<A> | undefined = undefined
  #children: Map<Key, Node<A>> | undefined = undefined

  child(key: Key): Node<A> {
    if (this.#key === key) return this.#child!
    const child = this.#children?.get(key) ?? new Node<A>()
    if (this.#child !== undefined) {
      this.#children ??= new Map([[this.#key!, this.#child]])
      this.#children.set(key, child)
    }
    this.#key = key
    this.#child = child
    return child
  }
}

export class Structures<A> {
  readonly #capacity: number
  #root = new Node<A>()
  #size = 0

  /** Beyond `capacity` structures all are dropped; the device's cache still has the kernels' sources. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The slot of a plan's structure, for one purpose: different objects may be made for one structure. */
  slot(purpose: object, plan: Plan): Slot<A> {
    const slot = walk(this.#root.child(purpose), plan)
    if (slot.value === undefined && this.#size++ === this.#capacity) {
      this.#root = new Node()
      this.#size = 1
      return walk(this.#root.child(purpose), plan)
    }
    return slot
  }
}

const types: { readonly [D in DType]: number } = {
  f32: 0,
  i32: 1,
  u32: 2,
  f16: 3,
  f64: 4,
  i8: 5,
  u8: 6,
  i16: 7,
  u16: 8,
  i64: 9,
  u64: 10,
  bool: 11,
  c64: 12
}

/** More than there are types, or ways to read. */
const radix = 16

const accesses: { readonly [A in Access]: number } = { Own: 0, Shifted: 1, Single: 2, Strided: 3 }

/** Marks the end of the steps. No step begins with it. */
const end = -1

const walk = <A>(root: Node<A>, { leaves, lengths, results, steps, vectors }: Plan): Node<A> => {
  let node = root
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index]!
    if (step._tag === "Apply") node = applied(node, step)
    else if (step._tag === "Number") node = node.child(-2 - types[step.dtype])
    else if (step._tag === "Product") node = node.child(-2 - radix - types[step.dtype])
    else {
      const leaf = leaves[step.leaf]!
      node = node.child((leaf.vector * radix + types[vectors[leaf.vector]!.dtype]) * radix + accesses[leaf.access])
      if (leaf.access === "Strided") node = strided(node, leaf, lengths.length)
    }
  }
  node = node.child(end)
  for (let result = 0; result < results.length; result++) node = node.child(results[result]!)
  return node
}

const applied = <A>(above: Node<A>, { dtype, operands, pending }: Extract<Step, { _tag: "Apply" }>): Node<A> => {
  let node = above.child(pending.operation).child(types[dtype])
  for (let at = 0; at < operands.length; at++) {
    node = node.child(operands[at]! * radix + types[pending.operandTypes[at]!])
  }
  return node
}

/** How many axes there are, and which of them the leaf moves along. */
const strided = <A>(above: Node<A>, { strides }: Leaf, axes: number): Node<A> => {
  let moves = 0
  for (let axis = 0; axis < strides.length; axis++) {
    if (strides[axis] !== 0) moves += 2 ** axis
  }
  return above.child(axes).child(moves)
}
