/**
 * Which waiter of a pool's line is served when: with a held block, with bytes of the limit, or by a try of its own
 * where the driver has no memory.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Blocks } from "./Blocks.ts"
import { drawMore, type LeaseRequest, rest } from "./waiting/LeaseRequest.ts"
import type { SetAside } from "./waiting/SetAside.ts"
import { type Answer, passed, Reservation, tryAgain } from "./waiting/Waiter.ts"
import type { Waiter, WaitLine } from "./waiting/WaitLine.ts"

/** Whether any waiter could be served. Cheap, since every release calls it while a request waits. */
export const mayServe = (
  { closed, core }: Blocks,
  { isRefused, leastBytes, length, trying }: WaitLine
): boolean => {
  if (closed || length === 0) return false
  if (core.heldBytes >= leastBytes) return true
  return (!isRefused || trying === 0) && core.deficit(leastBytes) <= core.heldBytes
}

/** What a request got in line. With reserved bytes it asks the driver itself. */
export const given = ({ granted, reserved }: LeaseRequest): Answer | undefined =>
  granted !== undefined ? Exit.succeed(granted) : reserved > 0 ? tryAgain : undefined

/** Serves one waiter, if that can be. */
export const serve = (blocks: Blocks, line: WaitLine, waiter: Waiter): Answer | undefined => {
  const { request } = waiter
  if (request.from === undefined) return tryServe(blocks, line, waiter)
  drawMore(request)
  const answer = tryServe(blocks, line, waiter)
  if (answer === undefined) rest(request)
  return answer
}

const tryServe = (blocks: Blocks, line: WaitLine, waiter: Waiter): Answer | undefined => {
  const { request } = waiter
  if (request.asks !== undefined) return serveReservation(blocks, line, waiter, request.asks)
  const found = blocks.search(request)
  if (found !== undefined) return found
  // Where the driver refuses, free bytes under the limit do not help.
  if (!line.isRefused) return reserveFor(blocks, request)
  // One waiter at a time, or all would ask the driver for the memory of one release.
  if (line.trying > 0 || !blocks.mayFit(request, request.exactSize)) return undefined
  return retry(blocks, waiter)
}

/** One that handlers work for looks for itself, when they have ended, whether anything is left to wait for. */
const retry = (blocks: Blocks, { isHelped, refused, request, seen }: Waiter): Answer | undefined =>
  !refused || seen !== blocks.progress || (!isHelped && !blocks.mayRecover(request, refused)) ? tryAgain : undefined

/** One that has its bytes already, and was refused by the driver for what it takes of them, tries as others do. */
const serveReservation = (
  blocks: Blocks,
  line: WaitLine,
  waiter: Waiter,
  asks: SetAside
): Answer | undefined => {
  if (asks.isOpen) return line.trying > 0 ? undefined : retry(blocks, waiter)
  return blocks.setAside(waiter.request) ? passed : undefined
}

/** Bytes for the request alone, through the asynchronous evictions and the driver's call. */
const reserveFor = (blocks: Blocks, request: LeaseRequest): Answer | undefined => {
  for (const bytes of blockSizes(blocks, request)) {
    const room = blocks.makeRoom(request, bytes)
    if (room === undefined || !blocks.reserve(request, bytes)) continue
    request.charge?.resize(bytes)
    const whenBack = blocks.freesAreLate ? Effect.andThen(room.failures, blocks.reclaim) : room.failures
    return Exit.succeed(new Reservation(bytes, room.evicted, whenBack))
  }
  return undefined
}

/** What the driver may be asked for: the policy's block unless a limit forbids it, else the size without slack. */
const blockSizes = (blocks: Blocks, request: LeaseRequest): ReadonlyArray<number> => {
  const { blockSize, exactSize } = request
  if (blocks.allowance(request) < blockSize) return [exactSize]
  return blockSize === exactSize ? [blockSize] : [blockSize, exactSize]
}
