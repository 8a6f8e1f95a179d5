import type { Breach } from "./Verdict.ts"

const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

interface Taken {
  readonly all: Uint8Array
  readonly stored: number
  /** The call that returned the array. */
  readonly from: string
}

/**
 * A program that transfers every array that it gets away, and keeps using it. A taken array is the program's own: it
 * must keep its content for as long as the process lives.
 */
export class Thief {
  readonly #taken: Array<Taken> = []

  /** Takes the memory of a typed array, or of an object that has one, if it can. */
  take(value: unknown, from: string): void {
    try {
      const array = ArrayBuffer.isView(value) ? value : Reflect.get(value as object, "data") as unknown
      if (!ArrayBuffer.isView(array) || array.byteLength === 0 || !(array.buffer instanceof ArrayBuffer)) return
      const all = new Uint8Array(transfer.call(array.buffer))
      const stored = this.#taken.length % 250 + 1
      all.fill(stored)
      this.#taken.push({ all, stored, from })
    } catch {
      // Odd values throw when they are read, and some memory cannot be transferred.
    }
  }

  /** Reports a taken array whose content has changed. A crash here means that the memory was freed. */
  look(): Breach | undefined {
    for (const { all, from, stored } of this.#taken) {
      const at = all.findIndex((each) => each !== stored)
      if (at >= 0) {
        const detail = `byte ${at} of ${all.length} that were taken from ${from} is ${all[at]} and was ${stored}`
        return { kind: "taken memory", detail, place: "" }
      }
    }
    return undefined
  }
}
