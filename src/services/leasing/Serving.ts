/**
 * Who of a pool's waiting line is served when: by a held block, by bytes of the limit, or by a try of its own where the
 * driver is short.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { drawMore, type LeaseRequest, rest } from "./LeaseRequest.ts"
import type { MemoryPool } from "./MemoryPool.ts"
import type { SetAside } from "./SetAside.ts"
import { type Answer, passed, Reservation, tryAgain, type Waiter, type WaitLine } from "./WaitLine.ts"

/**
 * Whether anybody could be served. Cheap, since it is asked at every release while somebody waits.
 *
 * @internal
 */
export const mayServe = (pool: MemoryPool, { isRefused, leastBytes, length, trying }: WaitLine): boolean => {
  const { core, leases } = pool
  if (leases.closed || length === 0) return false
  if (core.heldBytes >= leastBytes) return true
  return (!isRefused || trying === 0) && core.deficit(leastBytes) <= core.heldBytes
}

/**
 * What a request was given in line. With bytes that are reserved for it, it goes on by itself.
 *
 * @internal
 */
export const given = ({ granted, reserved }: LeaseRequest): Answer | undefined =>
  granted !== undefined ? Exit.succeed(granted) : reserved > 0 ? tryAgain : undefined

/**
 * Serves one waiter, if that can be.
 *
 * @internal
 */
export const serve = (pool: MemoryPool, waiter: Waiter): Answer | undefined => {
  const { request } = waiter
  if (request.from === undefined) return tryServe(pool, waiter)
  drawMore(request)
  const answer = tryServe(pool, waiter)
  if (answer === undefined) rest(request)
  return answer
}

const tryServe = (pool: MemoryPool, waiter: Waiter): Answer | undefined => {
  const { line, request } = waiter
  if (request.asks !== undefined) return serveReservation(pool, waiter, request.asks)
  const found = pool.search(request)
  if (found !== undefined) return found
  // Where the driver refuses, bytes under the limit are no promise.
  if (!line.isRefused) return reserveFor(pool, request)
  // One at a time, or all would ask the driver for the memory that one release gave back.
  if (line.trying > 0 || !pool.mayFit(request, request.exactSize)) return undefined
  return retry(pool, waiter)
}

const retry = (pool: MemoryPool, { refused, request, seen }: Waiter): Answer | undefined =>
  !refused || seen !== pool.progress || !pool.mayRecover(request) ? tryAgain : undefined

/** One that has its bytes already, and was refused by the driver for what it takes of them, tries as others do. */
const serveReservation = (pool: MemoryPool, waiter: Waiter, asks: SetAside): Answer | undefined => {
  if (asks.isOpen) return waiter.line.trying > 0 ? undefined : retry(pool, waiter)
  return pool.tryAdmit(waiter.request) ? passed : undefined
}

/** Bytes for the request alone, through the asynchronous evictions and the driver's call. */
const reserveFor = (pool: MemoryPool, request: LeaseRequest): Answer | undefined => {
  for (const bytes of blockSizes(request)) {
    const room = pool.makeRoom(request, bytes)
    if (room === undefined || !pool.reserve(request, bytes)) continue
    request.charge?.resize(bytes)
    const whenBack = pool.freesAreLate ? Effect.andThen(room.failures, pool.reclaim) : room.failures
    return Exit.succeed(new Reservation(bytes, room.evicted, whenBack))
  }
  return undefined
}

/** What the driver may be asked for: the policy's block unless a budget forbids it, else the size without slack. */
const blockSizes = ({ blockSize, charge, exactSize }: LeaseRequest): ReadonlyArray<number> => {
  if (charge !== undefined && charge.allowance < blockSize) return [exactSize]
  return blockSize === exactSize ? [blockSize] : [blockSize, exactSize]
}
