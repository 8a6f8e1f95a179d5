/**
 * What a driver tells of an open device, for people who look at it.
 *
 * @since 0.1.0
 */
/**
 * One answer of a driver. Names say the unit, as `localMemoryBytes`; `null` is what the driver does not tell.
 *
 * @category models
 * @since 0.1.0
 */
export type DriverFact = string | number | boolean | null | ReadonlyArray<string>

/**
 * Answers by names of the backend's own; one name can have several answers of a kind, as `limits`, under the driver's names.
 *
 * @category models
 * @since 0.1.0
 */
export type DriverFacts = { readonly [name: string]: DriverFact | { readonly [name: string]: DriverFact } }
