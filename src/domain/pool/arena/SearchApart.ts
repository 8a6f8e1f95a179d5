/**
 * Memory for requests that should be apart from some allocations.
 *
 * @internal
 */
import type { MemorySpan } from "../../data/MemorySpan.ts"
import type { MemoryAccount } from "../machine/MemoryAccount.ts"
import type { Reusable } from "../machine/PoolState.ts"
import type { Family, Request } from "../machine/Request.ts"
import type { PoolBlock } from "../PoolCore.ts"

/** How many free chunks of each class of sizes are searched for one that is apart. */
const among = 32

/**
 * Takes a held chunk that is in none of the allocations that a request should be apart from; `undefined` if the driver is to be asked for
 * another slab, and `"any"` if that cannot be now, so that any memory will do.
 */
export const searchApart = <A extends Reusable & { readonly wholeMemory: MemorySpan }>(
  memory: MemoryAccount<A>,
  request: Request,
  blockSize: number,
  most: number
): PoolBlock<A, Family> | "any" | undefined => {
  const { apart = [], family, size } = request
  const isApart = ({ wholeMemory }: A): boolean => !apart.includes(wholeMemory.allocation)
  const block = memory.core.acquireAccepted(family, blockSize, size, most, isApart, among)
  return block ?? (mayAdd(memory, request) ? undefined : "any")
}

/** Whether the driver can be asked for a slab now, without an eviction. */
const mayAdd = <A extends Reusable>(memory: MemoryAccount<A>, request: Request): boolean => {
  const bytes = memory.wantedBlock(request)
  const isRefused = request.isRefused || request.wasRefused || memory.queue.isRefused
  return !isRefused && memory.deficit(request, bytes) <= 0 && memory.mayFit(request, bytes)
}
