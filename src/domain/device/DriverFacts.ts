/**
 * What a driver reports of an open device, for people to read.
 *
 * @since 0.1.0
 */
/**
 * One answer of a driver. Names contain the unit, as `localMemoryBytes`; `null` is what the driver does not report.
 *
 * @category models
 * @since 0.1.0
 */
export type DriverFact = string | number | boolean | null | ReadonlyArray<string>

/**
 * Answers, under names that the backend chooses. One name can group several answers under the driver's names, as
 * `limits` does.
 *
 * @category models
 * @since 0.1.0
 */
export type DriverFacts = { readonly [name: string]: DriverFact | { readonly [name: string]: DriverFact } }
