/**
 * The test kit of effect-gpu-pool. It loads no test framework and no driver, so it also works in a page.
 *
 * @since 0.1.0
 */

/**
 * What every backend must do, as plain data, and ways to run it.
 *
 * @category testing
 * @since 0.1.0
 */
export * as Conformance from "./Conformance.ts"

/**
 * Tests that run once on every selected device.
 *
 * @category testing
 * @since 0.1.0
 */
export * as DeviceTests from "./DeviceTests.ts"
