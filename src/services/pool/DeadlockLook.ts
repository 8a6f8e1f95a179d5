/**
 * One look for deadlocks.
 *
 * The rule of `Deadlock` does not see that another fiber would still release memory. So requests fail only when they have waited for each
 * other since the last look, while nothing came back to their queues and none of them looked for memory by itself.
 *
 * @internal
 */
import type { Queue } from "../../domain/pool/machine/Request.ts"
import type { Seen } from "./DeadlockMarks.ts"
import { endDeadlocks } from "./DeadlockSearch.ts"
import type { Watched } from "./DeadlockView.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

/** How many looks in a row, which would see what the last one saw, are left out at most. */
const mostLeftOut = 7

/** Ends the deadlocks that there are. Returns what the next look needs. */
export const look = (pool: Watched, seen: Seen): Seen => {
  const { inputs, machine: { state } } = pool
  // When the limit of jobs held a request back, its operation may not have known yet on which fiber, and so for which job, it runs.
  for (const queue of state.queues) if (queue.jobs !== undefined) inputs.serve(queue)
  const { marks } = seen
  if (!marks.hasQuiet) return { ...seen, marks: marks.renewed() }
  const fingerprint = fingerprintOf(pool)
  const isSame = fingerprint === seen.fingerprint
  const isLeftOut = isSame && seen.leftOut < seen.toLeaveOut
  // A request that only the limit of jobs holds back, and not memory, is in no deadlock.
  const mayBe = (request: LeaseRequest, queue: Queue): boolean =>
    marks.hasWaited(request, queue) && !(request.isHeldBack && queue.hasRoomFor(request))
  if (!isLeftOut && endDeadlocks(pool, mayBe)) return { ...seen, marks: marks.renewed() }
  // Jobs that have memory may wait for a job that the limit holds back.
  for (const queue of state.queues) if (marks.isQuiet(queue)) inputs.raiseJobs(queue)
  if (isLeftOut) return { ...seen, marks: marks.renewed(), leftOut: seen.leftOut + 1 }
  const toLeaveOut = isSame ? Math.min(2 * seen.toLeaveOut + 1, mostLeftOut) : 0
  return { marks: marks.renewed(), fingerprint, toLeaveOut, leftOut: 0 }
}

/** Changes with what the search depends on, except with who waits for an operation, which pools do not know. */
const fingerprintOf = ({ peers }: Watched): number =>
  peers.reduce(
    (sum, { leases, machine: { core, memory, state } }) =>
      sum + leases.order.granted + state.arrivals + memory.queue.changes() + core.waiters,
    0
  )
