import type { Breach } from "./Verdict.ts"

const { transfer } = ArrayBuffer.prototype as unknown as { readonly transfer: () => ArrayBuffer }

interface Taken {
  readonly all: Uint8Array
  readonly stored: number
  /** What handed the array out. */
  readonly from: string
}

/**
 * A program that transfers away whatever array it gets, and goes on using it. What it took is its own: it holds what was stored
 * there, for as long as the process lives.
 */
export class Thief {
  readonly #taken: Array<Taken> = []

  /** Takes the memory of a typed array, or of what has one, if it can. */
  take(value: unknown, from: string): void {
    try {
      const array = ArrayBuffer.isView(value) ? value : Reflect.get(value as object, "data") as unknown
      if (!ArrayBuffer.isView(array) || array.byteLength === 0 || !(array.buffer instanceof ArrayBuffer)) return
      const all = new Uint8Array(transfer.call(array.buffer))
      const stored = this.#taken.length % 250 + 1
      all.fill(stored)
      this.#taken.push({ all, stored, from })
    } catch {
      // Values of the pool throw when they are looked at, and some memory cannot be transferred.
    }
  }

  /** Where something else has been written; a process that ends here has freed the memory. */
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
