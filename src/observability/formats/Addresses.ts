/**
 * Addresses for the blocks of a recording, for files that tell blocks by their addresses: blocks that exist at the same time
 * never overlap.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { invalidRequest } from "../../domain/GpuError.ts"

/** Where the first block is: no reader takes it for a null pointer. */
const first = 0x1000

interface Range {
  readonly address: number
  readonly capacity: number
}

export class Addresses {
  readonly #operation: string
  readonly #memories = new Map<number, Map<number, Range>>()
  /** The addresses that are free again, by capacity. */
  readonly #free = new Map<number, Array<number>>()
  #next = first

  constructor(operation: string) {
    this.#operation = operation
  }

  /** The address of a block, which gets one when it has none. */
  of(memory: number, block: number, capacity: number): number {
    const blocks = this.#memories.get(memory) ?? new Map<number, Range>()
    this.#memories.set(memory, blocks)
    const known = blocks.get(block)
    if (known !== undefined) return known.address
    const address = this.#take(capacity)
    blocks.set(block, { address, capacity })
    return address
  }

  /** A block is freed. */
  end(memory: number, block: number): void {
    const range = this.#memories.get(memory)?.get(block)
    if (range === undefined) return
    this.#memories.get(memory)!.delete(block)
    const free = this.#free.get(range.capacity)
    if (free === undefined) this.#free.set(range.capacity, [range.address])
    else free.push(range.address)
  }

  #take(capacity: number): number {
    const address = this.#free.get(capacity)?.pop() ?? this.#next
    if (address !== this.#next) return address
    const end = address + Math.max(1, capacity)
    if (!Number.isSafeInteger(end)) {
      valid(invalidRequest(
        this.#operation,
        `the blocks take more than ${Number.MAX_SAFE_INTEGER} B, the most that the addresses of the file can tell apart`,
        "Take a recording of fewer blocks."
      ))
    }
    this.#next = end
    return address
  }
}
