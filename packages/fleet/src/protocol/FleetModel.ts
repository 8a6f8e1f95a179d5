/**
 * What hosts, the broker and clients of a fleet say of devices, reservations and themselves. All sizes are bytes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Where a host listens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Address extends Schema.Schema.Type<typeof Address> {}

/**
 * The schema of an {@link Address}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Address = Schema.Struct({ host: Schema.String, port: Schema.Int })

/**
 * A device that a host offers.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfferedDevice extends Schema.Schema.Type<typeof OfferedDevice> {}

/**
 * The schema of an {@link OfferedDevice}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const OfferedDevice = Schema.Struct({
  /** Unique on its host, as `BufferPools` names it. */
  name: Schema.String,
  backend: Schema.String,
  /** The driver's name for it. */
  description: Schema.String,
  /** The bytes that the fleet may reserve on it. */
  capacity: Schema.Number,
  labels: Schema.Record(Schema.String, Schema.String),
  /** Its numeric limits, as `maxBufferSize`. */
  facts: Schema.Record(Schema.String, Schema.Number)
})

/**
 * Which devices a reservation may be on. Without any field: all.
 *
 * @category models
 * @since 0.1.0
 */
export interface Where extends Schema.Schema.Type<typeof Where> {}

/**
 * The schema of a {@link Where}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Where = Schema.Struct({
  host: Schema.optionalKey(Schema.String),
  device: Schema.optionalKey(Schema.String),
  backend: Schema.optionalKey(Schema.String),
  /** The device has all of these. */
  labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Each of these facts of the device is at least so large. */
  atLeast: Schema.optionalKey(Schema.Record(Schema.String, Schema.Number))
})

/**
 * A reservation that a host has granted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Grant extends Schema.Schema.Type<typeof Grant> {}

/**
 * The schema of a {@link Grant}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Grant = Schema.Struct({ id: Schema.String, device: Schema.String, bytes: Schema.Number })

/**
 * Where the broker places a reservation. The host grants it, if it has the bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Placement extends Schema.Schema.Type<typeof Placement> {}

/**
 * The schema of a {@link Placement}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Placement = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  epoch: Schema.Number,
  address: Address,
  device: Schema.String,
  bytes: Schema.Number
})

/**
 * A buffer within a reservation, on its host. It is data: a job's input may have it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FleetBuffer extends Schema.Schema.Type<typeof FleetBuffer> {}

/**
 * The schema of a {@link FleetBuffer}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FleetBuffer = Schema.Struct({
  id: Schema.String,
  bytes: Schema.Number,
  /** The reservation that it is in. */
  lease: Schema.String,
  host: Schema.String,
  address: Address,
  epoch: Schema.Number,
  device: Schema.String
})

/**
 * One host, as the broker knows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostStatus extends Schema.Schema.Type<typeof HostStatus> {}

/**
 * The schema of a {@link HostStatus}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const HostStatus = Schema.Struct({
  name: Schema.String,
  address: Address,
  epoch: Schema.Number,
  state: Schema.Literals(["current", "draining", "lost"]),
  /** How long ago the broker heard of it, in milliseconds. */
  silentMillis: Schema.Number,
  devices: Schema.Array(Schema.Struct({
    ...OfferedDevice.fields,
    /** Bytes of the reservations on it, granted or placed. */
    reservedBytes: Schema.Number,
    /** How many these are. */
    reservations: Schema.Number
  }))
})

/**
 * A reservation that waits.
 *
 * @category models
 * @since 0.1.0
 */
export interface WaitingReservation extends Schema.Schema.Type<typeof WaitingReservation> {}

/**
 * The schema of a {@link WaitingReservation}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const WaitingReservation = Schema.Struct({
  id: Schema.String,
  label: Schema.UndefinedOr(Schema.String),
  bytes: Schema.Number,
  where: Where,
  waitedMillis: Schema.Number
})

/**
 * The fleet, as its broker knows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FleetStatus extends Schema.Schema.Type<typeof FleetStatus> {}

/**
 * The schema of a {@link FleetStatus}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FleetStatus = Schema.Struct({
  hosts: Schema.Array(HostStatus),
  /** How many reservations wait. */
  waiters: Schema.Number,
  /** The first 100 of them, in their order. */
  waiting: Schema.Array(WaitingReservation),
  /** Reservations placed, ended, and lost with their host, since this broker began. */
  placed: Schema.Number,
  ended: Schema.Number,
  lost: Schema.Number
})
