/**
 * Workgroups on the host: one after the other, and in each call of `items` one item after the other.
 *
 * @internal
 */
import * as Predicate from "effect/Predicate"
import * as DType from "../../domain/data/DType.ts"
import type { LocalArg } from "../../domain/kernel/KernelArgument.ts"
import * as Workgroup from "../../domain/kernel/Workgroup.ts"

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

type MutablePlace = Mutable<Workgroup.Place>

const placeOf = ([x, y, z]: Workgroup.Extents): MutablePlace => ({ x, y, z })

/** Local memory of a kernel, which its workgroups have one after the other. */
export const localMemory = ({ dtype, length }: LocalArg): ArrayBufferView =>
  DType.viewUnsafe(dtype, new ArrayBuffer(length * DType.byteSize(dtype)), 0, length)

/**
 * Bytes that make floats NaN and integers -1 or the largest: a body that reads local memory before it has written there
 * shows it, as on devices it may get anything.
 */
const undefinedByte = 0xff

/** Makes the contents of local memory undefined, before the next workgroup. */
export const forget = ({ buffer }: ArrayBufferView): void => {
  new Uint8Array(buffer).fill(undefinedByte)
}

/** A mistake of a body. No place in this library would help its author, so the error has no stack. */
const mistake = (message: string): Error => Object.assign(new Error(message), { stack: "" })

/**
 * Throws where a body, or its function of an item, is asynchronous: what it writes after its call would come too late,
 * perhaps to memory of another lease. TypeScript takes such a function for one that returns nothing.
 */
export const ended = (returned: unknown): void => {
  if (!Predicate.isPromise(returned)) return
  // Its failure would end the process.
  returned.catch(() => {})
  throw mistake("the host body has an async function, which returned a promise. Compute everything before it returns")
}

/** The workgroups of a dispatch: the same object for each, with other numbers. */
export class HostGroups implements Workgroup.HostGroup {
  readonly groupId: MutablePlace = { x: 0, y: 0, z: 0 }
  readonly groupCount: Workgroup.Place
  readonly groupSize: Workgroup.Place
  readonly range: Workgroup.Place
  readonly count: number
  #running = false

  constructor(range: Workgroup.Extents, size: Workgroup.Extents) {
    const counts = Workgroup.countOf(range, size)
    this.range = placeOf(range)
    this.groupSize = placeOf(size)
    this.groupCount = placeOf(counts)
    this.count = Workgroup.itemsOf(counts)
  }

  /** Becomes one of the workgroups: x counts fastest. */
  moveTo(index: number): void {
    const { x, y } = this.groupCount
    this.groupId.x = index % x
    this.groupId.y = Math.floor(index / x) % y
    this.groupId.z = Math.floor(index / (x * y))
  }

  /** The end of each call is a barrier. An item that calls it would wait at one that the others do not reach. */
  readonly items = (run: (item: Workgroup.HostItem) => void): void => {
    if (this.#running) {
      throw mistake("items was called inside of items, where a barrier has only one item. Call one after the other")
    }
    this.#running = true
    try {
      this.#run(run)
    } finally {
      this.#running = false
    }
  }

  #run(run: (item: Workgroup.HostItem) => void): void {
    const { groupId, groupSize } = this
    const localId: MutablePlace = { x: 0, y: 0, z: 0 }
    const globalId: MutablePlace = { x: 0, y: 0, z: 0 }
    const item: Mutable<Workgroup.HostItem> = { globalId, localId, localIndex: 0 }
    for (let z = 0; z < groupSize.z; z++) {
      localId.z = z
      globalId.z = groupId.z * groupSize.z + z
      for (let y = 0; y < groupSize.y; y++) {
        localId.y = y
        globalId.y = groupId.y * groupSize.y + y
        for (let x = 0; x < groupSize.x; x++) {
          localId.x = x
          globalId.x = groupId.x * groupSize.x + x
          ended(run(item))
          item.localIndex++
        }
      }
    }
  }
}
