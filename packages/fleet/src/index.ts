/**
 * GPU memory of many hosts.
 *
 * @since 0.1.0
 */

/**
 * Jobs that outlive the program that asks for them.
 *
 * @category services
 * @since 0.1.0
 */
export * as DurableJob from "./DurableJob.ts"

/**
 * Reservations and jobs on whichever host has room.
 *
 * @category services
 * @since 0.1.0
 */
export * as Fleet from "./Fleet.ts"

/**
 * Jobs that a fleet runs.
 *
 * @category models
 * @since 0.1.0
 */
export * as FleetJob from "./FleetJob.ts"

/**
 * What the broker knows, as metrics.
 *
 * @category metrics
 * @since 0.1.0
 */
export * as FleetMetrics from "./metrics/FleetMetrics.ts"

/**
 * What hosts, the broker and clients say of devices and reservations.
 *
 * @category models
 * @since 0.1.0
 */
export * as FleetModel from "./protocol/FleetModel.ts"

/**
 * Where the processes of a fleet find each other.
 *
 * @category layers
 * @since 0.1.0
 */
export * as FleetStorage from "./net/FleetStorage.ts"

/**
 * After which times a fleet acts.
 *
 * @category models
 * @since 0.1.0
 */
export * as Timing from "./protocol/Timing.ts"
