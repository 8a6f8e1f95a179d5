/**
 * What a service carries for the library's own modules, and programs cannot look into.
 *
 * @since 0.1.0
 */

/**
 * A value of a class that only the library knows. A service that is spread, with some of its members replaced, keeps it.
 *
 * @category models
 * @since 0.1.0
 */
export class Sealed {
  readonly #value: object

  constructor(value: object) {
    this.#value = value
  }

  /** The value, which must be of that class. @internal */
  open<A extends object>(type: abstract new(...args: never) => A): A {
    if (this.#value instanceof type) return this.#value
    throw new Error(`a service was given a sealed value that is no ${type.name}`)
  }
}
