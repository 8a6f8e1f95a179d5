/**
 * Every order in which the fibers of an Effect program can run.
 *
 * @since 0.1.0
 */

/**
 * Runs a program once for each order in which its fibers can run.
 *
 * @category testing
 * @since 0.1.0
 */
export * as Schedules from "./Schedules.ts"
