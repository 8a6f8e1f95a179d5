/**
 * Memory for requests that should be apart from some allocations.
 *
 * @internal
 */
import type { MemorySpan } from "../../data/MemorySpan.ts"
import type { MemoryAccount } from "../machine/MemoryAccount.ts"
import type { Reusable } from "../machine/PoolState.ts"
import type { Request } from "../machine/Request.ts"

/** How many free chunks of each class of sizes are searched for one that is apart. */
const among = 32

/**
 * Serves a request from a held chunk that is in none of the allocations that it should be apart from. False if the driver is to be asked
 * for another slab, `undefined` if any memory will do.
 */
export const searchApart = <A extends Reusable & { readonly wholeMemory: MemorySpan }>(
  memory: MemoryAccount<A>,
  request: Request,
  blockSize: number,
  most: number
): boolean | undefined => {
  const { apart = [], family, size } = request
  const isApart = ({ wholeMemory }: A): boolean => !apart.includes(wholeMemory.allocation)
  const block = memory.core.acquireAccepted(family, blockSize, size, most, isApart, among)
  if (block !== undefined) memory.handOut(request, block, "held")
  return block !== undefined || (mayAdd(memory, request) ? false : undefined)
}

/** Whether the driver can be asked for a slab now, without an eviction. */
const mayAdd = <A extends Reusable>(memory: MemoryAccount<A>, request: Request): boolean => {
  const bytes = memory.wantedBlock(request)
  const isRefused = request.isRefused || request.wasRefused || memory.queue.isRefused
  return !isRefused && memory.deficit(request, bytes) <= 0 && memory.mayFit(request, bytes)
}
