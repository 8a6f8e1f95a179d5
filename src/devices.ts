/**
 * The devices of a machine and the choice among them, for Node.
 *
 * @since 0.1.0
 */

/**
 * Lists devices on every backend and opens the one that the user wants.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Devices from "./devices/Devices.ts"
