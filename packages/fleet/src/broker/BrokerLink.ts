/**
 * The way to the broker, wherever it is: in this process, or on the host of a cluster that has it now.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import type {
  AlreadyProcessingMessage,
  EntityNotAssignedToRunner,
  MailboxFull,
  PersistenceError
} from "effect/cluster/ClusterError"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as RpcClient from "effect/rpc/RpcClient"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { BrokerRpcs, type Join, type Place, type Report } from "../protocol/BrokerRpcs.ts"
import type { FleetStatus, Placement } from "../protocol/FleetModel.ts"
import type { Timing } from "../protocol/Timing.ts"
import * as Broker from "./Broker.ts"

/** The calls of the broker. One that finds no broker is made again until there is one: callers bound the time. */
export interface BrokerLink {
  readonly join: (join: Join) => Effect.Effect<{ readonly epoch: number }, GpuError>
  readonly report: (report: Report) => Effect.Effect<{ readonly isCurrent: boolean }>
  readonly leave: (host: string, epoch: number) => Effect.Effect<void>
  readonly place: (place: Place) => Effect.Effect<Placement, GpuError>
  readonly cancel: (id: string) => Effect.Effect<void>
  readonly status: Effect.Effect<FleetStatus>
}

/** The call was interrupted where it was served, because the broker or its runner ends: its caller is not. */
class CallEnded extends Data.TaggedError("CallEnded") {}

/** What says that the broker is between two runners, or that its runner is gone. */
type Gap = MailboxFull | AlreadyProcessingMessage | PersistenceError | EntityNotAssignedToRunner | CallEnded

const gaps = ["MailboxFull", "AlreadyProcessingMessage", "PersistenceError", "EntityNotAssignedToRunner", "CallEnded"]

const isGap = (error: unknown): error is Gap =>
  Predicate.hasProperty(error, "_tag") && gaps.includes(String(error._tag))

type Calls = RpcClient.FromGroup<typeof BrokerRpcs, Gap>

/**
 * The broker as an entity of the cluster: the runner that has its shard runs it. When it moves, calls that wait for room end at once,
 * and are made again: else the next broker could not begin before they are served, or `entityTerminationTimeout` is over.
 */
const BrokerEntity = Entity.fromRpcGroup(
  "FleetBroker",
  BrokerRpcs.annotateRpcs(ClusterSchema.InterruptOnTermination, true)
)

const linkOf = (calls: Calls, timing: Timing): BrokerLink => {
  const again = Schedule.spaced(timing.heartbeat / 4)
  const patient = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, Exclude<E, Gap>> =>
    // The schedule never ends, so no gap is left.
    // @effect-diagnostics-next-line unsafeEffectTypeAssertion:off
    Effect.retry(Effect.catchCauseIf(call, Cause.hasInterruptsOnly, () => Effect.fail(new CallEnded())), {
      schedule: again,
      while: isGap
    }) as Effect.Effect<A, Exclude<E, Gap>>
  return {
    join: (join) => patient(calls.Join(join)),
    report: (report) => patient(calls.Report(report)),
    leave: (host, epoch) => patient(calls.Leave({ host, epoch })),
    place: (place) => patient(calls.Place(place)),
    cancel: (id) => patient(calls.Cancel({ id })),
    status: Effect.suspend(() => patient(calls.Status()))
  }
}

/** The broker of the cluster. */
export const ofCluster = (timing: Timing) =>
  Effect.map(BrokerEntity.client, (client) => linkOf(client("broker"), timing))

/** Lets this runner have the broker. */
export const layerEntity = (timing: Timing) =>
  BrokerEntity.toLayer(
    // After a failover, hosts join again within a heartbeat of their first failed report.
    Effect.map(Broker.make(timing, 3 * timing.heartbeat), (broker) =>
      BrokerEntity.of({
        Join: ({ payload }) => broker.Join(payload),
        Report: ({ payload }) => broker.Report(payload),
        Leave: ({ payload }) => broker.Leave(payload),
        Place: ({ payload }) => broker.Place(payload),
        Cancel: ({ payload }) => broker.Cancel(payload),
        Status: () => broker.Status()
      })),
    { concurrency: "unbounded", mailboxCapacity: "unbounded", maxIdleTime: "365 days", disableFatalDefects: true }
  )

/** A broker in this process, which ends with the scope. See `Broker.make`. */
export const local = (timing: Timing, recovery: number): Effect.Effect<BrokerLink, never, Scope.Scope> =>
  Effect.map(Broker.make(timing, recovery), (broker) => ({
    join: broker.Join,
    report: broker.Report,
    leave: (host, epoch) => broker.Leave({ host, epoch }),
    place: broker.Place,
    cancel: (id) => broker.Cancel({ id }),
    status: broker.Status()
  }))
