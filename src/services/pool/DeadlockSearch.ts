/**
 * Looks for deadlocks and ends them: requests of the youngest jobs fail with an OutOfMemory that lists the jobs, and the
 * memory of these jobs comes back when their scopes close. `Deadlock` has the rule, `DeadlockView` makes the view of the state.
 *
 * The rule does not see that another fiber would still release memory. So requests fail only when they have waited for each other since
 * the last look, while no memory came back to their queues, and none of these requests was freeing blocks, calling the driver or asking
 * handlers.
 *
 * @internal
 */
import type { WaitingJob } from "../../domain/GpuError.ts"
import { type Deadlocks, having, type StuckJob } from "../../domain/pool/machine/Deadlock.ts"
import { HoldingJobs } from "../../domain/pool/machine/HoldingJobs.ts"
import type { Queue } from "../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { Lease } from "../lease/Lease.ts"
import type { Seen } from "./DeadlockMarks.ts"
import { deadlocksIn, type HoldingAtLook, type QueueAtLook, type WaitingAtLook, type Watched } from "./DeadlockView.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

type Stuck = StuckJob<HoldingAtLook, WaitingAtLook>
type Found = Deadlocks<QueueAtLook, HoldingAtLook, WaitingAtLook>

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

/** How many jobs an error names at most. */
const mostNamed = 8

/** Ends the deadlocks among the requests for which `mayBe` holds. Returns whether there were any. */
const endDeadlocks = (pool: Watched, mayBe: (request: LeaseRequest, queue: Queue) => boolean): boolean => {
  const found = deadlocksIn(pool.peers, mayBe)
  const stuck = found.find()
  if (stuck.length > 0) end(found, stuck)
  return stuck.length > 0
}

const end = (found: Found, stuck: ReadonlyArray<WaitingAtLook>): void => {
  const { jobs, victims } = found.resolve(
    stuck,
    ({ of: { jobs } }, having) => jobs instanceof HoldingJobs ? jobs.limit.mostLeft(having) : Infinity
  )
  const failed = jobs.filter(({ requests }) => requests.some((request) => victims.includes(request)))
  const errors = victims.map((victim) => [victim, jobsNamedTo(victim, found, stuck, jobs)] as const)
  // The memory of the failed jobs goes to the other jobs of the deadlock, the oldest first. Otherwise requests of jobs without
  // memory would take it, and then be in a deadlock too.
  for (const job of jobs) {
    if (failed.includes(job)) continue
    for (const { queue: { inputs }, request } of job.requests) inputs.promote(request)
  }
  if (victims.length > 0) limitJobs(jobs, failed)
  for (const [{ queue: { inputs }, request }, named] of errors) inputs.failDeadlocked(request, named)
}

/** Works without the class, which is in the part of the library that is loaded at once. */
const isReservation = (kept: Lease | Reservation): kept is Reservation => "isOpen" in kept

/** What the error of a request says of its own job and of the others. */
const jobsNamedTo = (
  victim: WaitingAtLook,
  found: Found,
  stuck: ReadonlyArray<WaitingAtLook>,
  jobs: ReadonlyArray<Stuck>
): ReadonlyArray<WaitingJob> => {
  const { queue, request } = victim
  const holding = jobs.flatMap(({ requests }) => requests)
  const others = (holding.length > 1 ? holding : stuck).filter((one) => one !== victim)
  // A job that waits only for its own memory would end in the same deadlock again.
  const isAlone = !queue.of.hasRoomFor(request) && found.find((one) => one === victim).length > 0
  return (isAlone ? [victim] : [victim, ...others]).slice(0, mostNamed).map((one) => jobOf(found, one))
}

const jobOf = (found: Found, waiting: WaitingAtLook): WaitingJob => {
  const { label, size } = waiting.request
  const holdings = found.holdingsOf(waiting)
  const leases = holdings.flatMap(({ kept }) => kept === undefined || isReservation(kept) ? [] : kept).sort((a, b) =>
    b.capacity - a.capacity
  )
  return {
    label,
    requested: size,
    holdsBytes: holdings.reduce((sum, { ownBytes }) => sum + ownBytes, 0),
    holds: leases.slice(0, 3).map(({ label, size }) => ({ label, size }))
  }
}

/** Limits, from now on, the jobs that may have memory which the queues of these jobs wait for. */
const limitJobs = (jobs: ReadonlyArray<Stuck>, failed: ReadonlyArray<Stuck>): void => {
  for (const [{ inputs, of }, count] of having<QueueAtLook>(jobs)) {
    if (count < 2) continue
    const holding = of.jobs instanceof HoldingJobs ? of.jobs : new HoldingJobs()
    if (of.jobs !== holding) inputs.limitJobs(of, holding)
    for (const job of jobs) {
      const holdings = job.holdings.filter(({ bytes }) => bytes.some(([queue, some]) => queue.of === of && some > 0))
      if (holdings.length === 0) continue
      if (job.holdings.some(({ kept }) => kept !== undefined && isReservation(kept))) holding.countsReservations = true
      holding.deadlocked(
        holdings.flatMap(({ keys }) => keys),
        holdings.flatMap(({ kept }) => kept ?? []),
        failed.includes(job)
      )
    }
    holding.limit.deadlocked(count)
  }
}
