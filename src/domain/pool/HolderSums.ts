/**
 * The active leases of a memory, summed by label and call site.
 *
 * A program may have a label for each lease, so the number of sums is bounded: otherwise an error would cost more than the leases that
 * it lists.
 *
 * @since 0.1.0
 */
import { Largest } from "./Largest.ts"

/**
 * The active leases of one label that were made at one place of the program, as out-of-memory errors and plans list them.
 *
 * @category models
 * @since 0.1.0
 */
export interface HolderGroup {
  /** The label given at `allocate`, or `undefined`. */
  readonly label: string | undefined
  /** Where the program requested them, within `CallSite.track`; `undefined` outside of it. */
  readonly callSite: string | undefined
  /** How many leases. */
  readonly leases: number
  /** The bytes that they asked for, together. */
  readonly bytes: number
}

type Text = string | undefined

interface Sum extends HolderGroup {
  leases: number
  bytes: number
  /** The sum of the same label at another call site: a program has few. */
  next: Sum | undefined
}

/** Visits each lease with its label, its call site and its bytes. */
type Leases = (add: (label: Text, callSite: Text, bytes: number) => void) => void

/** How many sums are kept at a time, unless more are wanted in the end. */
const mostSums = 1024

class HolderSums {
  /** Whether any sums were dropped. */
  forgot = false
  #size = 0
  #bytes = 0
  /** The latest sum of each label, which chains the others. */
  #sums = new Map<Text, Sum>()
  /** Leases that follow each other are mostly of one kind. */
  #last: Sum | undefined = undefined
  readonly #most: number
  /** Whether only the sums given at construction are counted. */
  readonly #isClosed: boolean

  constructor(most: number, known: ReadonlyArray<HolderGroup> = []) {
    this.#most = most
    for (const { callSite, label } of known) this.#begin(label, callSite)
    this.#isClosed = known.length > 0
  }

  readonly add = (label: Text, callSite: Text, bytes: number): void => {
    const last = this.#last
    const sum = last !== undefined && last.label === label && last.callSite === callSite
      ? last
      : this.#find(label, callSite) ?? (this.#isClosed ? undefined : this.#begin(label, callSite))
    if (sum === undefined) return
    this.#last = sum
    sum.leases++
    sum.bytes += bytes
    this.#bytes += bytes
  }

  largest(count: number): ReadonlyArray<HolderGroup> {
    const largest = new Largest<Sum>(count, ({ bytes }) => bytes)
    this.#forEach((sum) => largest.add(sum))
    return largest.sorted().map(({ bytes, callSite, label, leases }) => ({ label, callSite, leases, bytes }))
  }

  #forEach(f: (sum: Sum) => void): void {
    for (const last of this.#sums.values()) {
      for (let sum: Sum | undefined = last; sum !== undefined;) {
        const { next }: Sum = sum
        f(sum)
        sum = next
      }
    }
  }

  #find(label: Text, callSite: Text): Sum | undefined {
    let sum = this.#sums.get(label)
    while (sum !== undefined && sum.callSite !== callSite) sum = sum.next
    return sum
  }

  #begin(label: Text, callSite: Text): Sum {
    if (this.#size === this.#most) this.#forget()
    const sum: Sum = { label, callSite, leases: 0, bytes: 0, next: undefined }
    this.#keep(sum)
    return sum
  }

  #keep(sum: Sum): void {
    sum.next = this.#sums.get(sum.label)
    this.#sums.set(sum.label, sum)
    this.#size++
    this.#bytes += sum.bytes
  }

  /** Keeps the sums above the average, which have many leases or large ones. */
  #forget(): void {
    const average = this.#bytes / this.#size
    const kept: Array<Sum> = []
    this.#forEach((sum) => {
      if (sum.bytes > average) kept.push(sum)
    })
    this.forgot = true
    this.#size = 0
    this.#bytes = 0
    this.#sums = new Map()
    for (const sum of kept) this.#keep(sum)
  }
}

/** How many candidates are counted again for each group that is wanted: dropped sums may have put them in a wrong order. */
const candidates = 4

/**
 * The groups with the most bytes, from the most; their sums are exact.
 *
 * @category functions
 * @since 0.1.0
 */
export const holderGroups = (leases: Leases, count: number): ReadonlyArray<HolderGroup> => {
  const most = Math.max(mostSums, candidates * count)
  const sums = new HolderSums(most)
  leases(sums.add)
  if (!sums.forgot) return sums.largest(count)
  const exact = new HolderSums(most, sums.largest(candidates * count))
  leases(exact.add)
  return exact.largest(count)
}
