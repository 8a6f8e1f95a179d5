/**
 * A selection of devices, as data.
 *
 * @since 0.1.0
 */

/**
 * A selection: entries, in the order of preference.
 *
 * @category models
 * @since 0.1.0
 */
export type DeviceSelector = readonly [Entry, ...Array<Entry>]

/**
 * An index from 0, a negative one from the end, a part of a name or vendor in any case, or `undefined` for any.
 *
 * @category models
 * @since 0.1.0
 */
export type Part = number | string | undefined

/**
 * The devices of one backend that one of `devices` matches, on the platforms that `platform` matches.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly backend: string
  readonly platform: Part
  readonly devices: readonly [Part, ...Array<Part>]
}
