/**
 * A value for each of some foreign objects, which neither sees nor keeps it: a tenth of the cost of a `WeakMap`, which the collector must
 * work through besides.
 *
 * @internal
 */

/** A class whose constructor gives the object that it is given, so that a subclass puts its private fields on that one. */
class Given {
  constructor(object: object) {
    return object
  }
}

/** Values of objects. */
export interface Marks<A> {
  /** The value of an object that has one. */
  readonly get: (object: object) => A | undefined
  /** Gives an object its value, in place of one that it has. */
  readonly put: (object: object, value: A) => void
}

/** Marks of their own: an object may have a value of each. */
export const makeMarks = <A>(): Marks<A> => {
  class Mark extends Given {
    #value: A | undefined
    static get(object: object): A | undefined {
      return #value in object ? object.#value : undefined
    }
    static put(object: object, value: A): void {
      const marked = #value in object ? object : new Mark(object)
      marked.#value = value
    }
  }
  return Mark
}
