/**
 * Every order in which the fibers of an Effect program can go on.
 *
 * @since 0.1.0
 */

/**
 * Runs a program once for each order in which its fibers can go on.
 *
 * @category testing
 * @since 0.1.0
 */
export * as Schedules from "./Schedules.ts"
