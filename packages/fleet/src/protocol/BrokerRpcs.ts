/**
 * What hosts and clients ask the broker.
 *
 * @since 0.1.0
 */
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { Address, FleetStatus, Grant, OfferedDevice, Placement, Where } from "./FleetModel.ts"

/**
 * A host offers its devices.
 *
 * @category models
 * @since 0.1.0
 */
export interface Join extends Schema.Schema.Type<typeof Join> {}

/**
 * The schema of a {@link Join}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Join = Schema.Struct({
  host: Schema.String,
  /** Unique for each process, so that two of one name are told apart. */
  incarnation: Schema.String,
  /** The epoch in which the host has its grants, if it still believes to be in one; else it has none. */
  epoch: Schema.UndefinedOr(Schema.Number),
  address: Address,
  devices: Schema.Array(OfferedDevice),
  grants: Schema.Array(Grant)
})

/**
 * A host says that it is there, and which reservations it has granted and ended since its last report.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report extends Schema.Schema.Type<typeof Report> {}

/**
 * The schema of a {@link Report}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Report = Schema.Struct({
  host: Schema.String,
  epoch: Schema.Number,
  granted: Schema.Array(Grant),
  /** The identifiers of the reservations that have ended. */
  ended: Schema.Array(Schema.String),
  /** It takes no more reservations. */
  isDraining: Schema.Boolean
})

/**
 * A client asks for a reservation. The answer comes when there is room.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place extends Schema.Schema.Type<typeof Place> {}

/**
 * The schema of a {@link Place}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Place = Schema.Struct({
  /** Unique. A repeated call with the same one gets the same answer, from this broker or the next. */
  id: Schema.String,
  bytes: Schema.Number,
  where: Where,
  label: Schema.UndefinedOr(Schema.String),
  /** When the client asked first, in milliseconds since 1970: its place in the queue of the next broker. */
  since: Schema.Number,
  onExhausted: Schema.Literals(["fail", "wait"]),
  /** How long it waits at most, in milliseconds; `Infinity` for no end. */
  waitAtMost: Schema.Number,
  /** The host that has just refused this reservation, in which epoch, and the bytes that it has free on the device. */
  refused: Schema.UndefinedOr(
    Schema.Struct({ host: Schema.String, epoch: Schema.Number, device: Schema.String, freeBytes: Schema.Number })
  )
})

/**
 * The calls.
 *
 * @category models
 * @since 0.1.0
 */
export class BrokerRpcs extends RpcGroup.make(
  Rpc.make("Join", { payload: Join, success: Schema.Struct({ epoch: Schema.Number }), error: GpuError }),
  /** Whether the epoch is still the host's. If not, all that it has is lost, and it joins again. */
  Rpc.make("Report", { payload: Report, success: Schema.Struct({ isCurrent: Schema.Boolean }) }),
  /** A host ends: what it still has is lost. */
  Rpc.make("Leave", { payload: { host: Schema.String, epoch: Schema.Number } }),
  Rpc.make("Place", { payload: Place, success: Placement, error: GpuError }),
  /** A client that has been placed, or waits, no longer wants its reservation, and has not asked the host for it. */
  Rpc.make("Cancel", { payload: { id: Schema.String } }),
  Rpc.make("Status", { success: FleetStatus })
) {}
