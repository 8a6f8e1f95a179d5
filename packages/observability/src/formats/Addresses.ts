/**
 * Addresses for the blocks of a recording, for files that identify blocks by address: blocks that exist at the same time
 * never overlap.
 *
 * @internal
 */
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as Stream from "effect/Stream"
import { AddressSpace } from "../AddressSpace.ts"
import type { LedgerLease } from "../recording/BlockLedger.ts"

/** The address of the first block; not 0, which readers would take for a null pointer. */
const first = 0x1000

type Block = Pick<LedgerLease, "place" | "capacity">

export class Addresses {
  readonly #operation: string
  readonly #space = new AddressSpace()
  readonly #addresses = new Map<number, number>()

  /** A text whose writing may throw the error of too large addresses, which becomes that of the stream. */
  static checked(text: Stream.Stream<string>): Stream.Stream<string, GpuError> {
    return Stream.catchDefect(text, (defect) => isGpuError(defect) ? Stream.fail(defect) : Stream.die(defect))
  }

  constructor(operation: string) {
    this.#operation = operation
  }

  /** The address of a block, assigned at the first call. */
  of({ capacity, place }: Block): number {
    const known = this.#addresses.get(place)
    if (known !== undefined) return known
    const address = first + this.#space.take(Math.max(1, capacity))
    if (!Number.isSafeInteger(address + capacity)) {
      throw invalidRequest(
        this.#operation,
        `the blocks take more than ${Number.MAX_SAFE_INTEGER} B, the most that the addresses of the file can distinguish`,
        "Take a recording of fewer blocks."
      )
    }
    this.#addresses.set(place, address)
    return address
  }

  /** Frees the address of a block that has ended. */
  end({ capacity, place }: Block): void {
    const address = this.#addresses.get(place)
    if (address === undefined) return
    this.#addresses.delete(place)
    this.#space.give(address - first, Math.max(1, capacity))
  }
}
