/**
 * GPU memory of many hosts.
 *
 * @since 0.1.0
 */

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
