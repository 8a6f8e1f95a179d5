/**
 * Property tests with npm `fast-check`, an optional peer dependency: values to try, and a model of the pool.
 *
 * @since 0.1.0
 */

/**
 * Random sizes, usages, requests, traces and selections.
 *
 * @category testing
 * @since 0.1.0
 */
export * as Arbitraries from "./properties/Arbitraries.ts"

/**
 * Properties that a pool agrees with its model.
 *
 * @category testing
 * @since 0.1.0
 */
export * as PoolAgreement from "./properties/PoolAgreement.ts"

/**
 * Commands that a model and a pool carry out side by side.
 *
 * @category testing
 * @since 0.1.0
 */
export * as PoolCommands from "./properties/PoolCommands.ts"

/**
 * What a pool should do, said as plainly as possible.
 *
 * @category testing
 * @since 0.1.0
 */
export * as PoolModel from "./properties/PoolModel.ts"
