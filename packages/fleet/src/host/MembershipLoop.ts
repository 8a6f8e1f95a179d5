/**
 * Keeps a host in its fleet: it joins, reports, ends what it has when its epoch is over, and joins again.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { BrokerLink } from "../broker/BrokerLink.ts"
import type { Address } from "../protocol/FleetModel.ts"
import type { HostLeases } from "./HostLeases.ts"
import type { HostState } from "./HostState.ts"

/** What a host needs to be a member. */
export interface Member {
  readonly state: HostState
  readonly leases: HostLeases
  readonly broker: BrokerLink
  readonly address: Address
  /** Unique for each process. */
  readonly incarnation: string
  /** What ends while the host drains. */
  readonly alsoEnds?: Effect.Effect<void> | undefined
}

/**
 * Joins, and stays a member until the scope closes; then the host drains: it waits for its reservations to end, for `drainTimeout`
 * at most, and leaves. Fails if another process has the name of the host, and keeps it.
 */
export const stay = Effect.fnUntraced(function*(member: Member) {
  const { heartbeat, hostTimeout } = member.state.timing
  const again = Schedule.spaced(heartbeat)
  // A process that had the name may be dead, and not lost yet; or a new broker lets hosts with reservations join first.
  yield* Effect.retry(join(member), Schedule.upTo(Schedule.spaced(heartbeat / 4), { duration: 2 * hostTimeout }))
  const rejoin = Effect.retry(
    Effect.tapError(join(member), (error) => Effect.logWarning("The host cannot join its fleet again", error)),
    again
  )
  const reporting = yield* Effect.forkScoped(Effect.forever(Effect.andThen(reports(member), rejoin)))
  // It still reports while it drains. It does so in a fiber of its own, since the one that closes the scope may be interrupted: by SIGTERM.
  yield* Effect.addFinalizer(() => Effect.flatMap(Effect.forkDetach(drain(member, reporting)), Fiber.join))
})

/** Reports until the epoch is over, or a broker does not know it. */
const reports = Effect.fnUntraced(function*(member: Member) {
  while (yield* report(member)) yield* waitForChanges(member)
})

/** Joins with its grants if the epoch of these still holds, and without any in a new epoch. */
const join = Effect.fnUntraced(function*({ address, broker, incarnation, leases, state }: Member) {
  if (!state.hasEpoch || state.left <= 0) yield* endEpoch(state, leases)
  const changes = state.changes()
  const askedAt = yield* Clock.currentTimeMillis
  const { epoch } = yield* broker.join({
    host: state.name,
    incarnation,
    epoch: state.hasEpoch ? state.epoch : undefined,
    address,
    devices: [...state.devices.values()],
    grants: [...state.grants.values()]
  })
  if (state.hasEpoch && epoch !== state.epoch) yield* endEpoch(state, leases)
  state.joined(epoch, askedAt, changes)
})

/** Ends all reservations, and waits until their memory is free. */
const endEpoch = (state: HostState, leases: HostLeases): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { epoch } = state
    state.membership = "joining"
    return Effect.andThen(leases.endAll(state.lost(epoch, "the host is in a new epoch", false)), leases.awaitEmpty)
  })

/** Reports once. Returns whether the epoch still holds. */
const report = Effect.fnUntraced(function*({ broker, state }: Member) {
  if (state.left <= 0) return false
  const changes = state.changes()
  const askedAt = yield* Clock.currentTimeMillis
  const call = broker.report({
    host: state.name,
    epoch: state.epoch,
    granted: changes.granted,
    ended: changes.ended,
    isDraining: state.membership === "draining"
  })
  const answer = yield* Effect.timeoutOption(call, Math.max(1, Math.min(state.left, state.timing.heartbeat * 2)))
  // Without an answer the changes are reported again.
  if (Option.isNone(answer)) return state.left > 0
  if (answer.value.isCurrent) state.reported(changes, askedAt)
  return answer.value.isCurrent
})

const waitForChanges = ({ state }: Member): Effect.Effect<void> =>
  Effect.raceFirst(state.changed.await, Effect.sleep(state.timing.heartbeat))

const drain = (
  { alsoEnds = Effect.void, broker, leases, state }: Member,
  reporting: Fiber.Fiber<unknown, unknown>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!state.hasEpoch) return alsoEnds
    const { epoch, timing } = state
    state.membership = "draining"
    state.changed.openUnsafe()
    return leases.awaitEmpty.pipe(
      Effect.timeoutOption(timing.drainTimeout),
      (emptied) => Effect.all([emptied, alsoEnds], { concurrency: "unbounded" }),
      Effect.andThen(Effect.suspend(() => {
        state.membership = "left"
        return leases.endAll(state.lost(epoch, "the host has left the fleet", false))
      })),
      Effect.andThen(leases.awaitEmpty),
      // Else it would find out that it has left, and join again.
      Effect.andThen(Fiber.interrupt(reporting)),
      // If no broker answers, the fleet loses the host after its timeout.
      Effect.andThen(Effect.timeoutOption(broker.leave(state.name, epoch), timing.heartbeat * 2)),
      Effect.asVoid
    )
  })
