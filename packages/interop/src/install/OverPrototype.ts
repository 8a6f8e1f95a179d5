/**
 * Methods over those of a foreign object's class. An implementation of WebGPU takes only its own objects, so they stay these objects:
 * they get a prototype whose prototype is that of their class.
 *
 * @internal
 */
import type { Method } from "../foreign/Patch.ts"

/** What a method does for the object that it is called on. */
export type Body = (self: unknown, args: ReadonlyArray<unknown>) => unknown

/** The methods of a class by name; one that an implementation lacks is never called. */
export type Inner = (name: string) => Method

/** What to put over the methods of a class. */
export type Over = (inner: Inner) => { readonly [name: string]: Body }

/** Puts the same members over each object of a class. */
export class OverPrototype {
  readonly #over: Over
  readonly #accessors: (native: object) => PropertyDescriptorMap
  readonly #made = new WeakMap<object, object>()

  constructor(over: Over, accessors: (native: object) => PropertyDescriptorMap = () => ({})) {
    this.#over = over
    this.#accessors = accessors
  }

  put<A extends object>(object: A): A {
    const native = Object.getPrototypeOf(object) as object
    let over = this.#made.get(native)
    if (over === undefined) {
      over = this.#make(native)
      this.#made.set(native, over)
    }
    return Object.setPrototypeOf(object, over) as A
  }

  #make(native: object): object {
    const over = Object.create(native, this.#accessors(native)) as object
    for (const [name, body] of Object.entries(this.#over((name) => Reflect.get(native, name) as Method))) {
      // An implementation of an older version may lack a method.
      if (!(name in native)) continue
      const value: Method = function(...args) {
        return body(this, args)
      }
      Object.defineProperty(value, "name", { value: name, configurable: true })
      Object.defineProperty(over, name, { value, writable: true, enumerable: true, configurable: true })
    }
    return over
  }
}
