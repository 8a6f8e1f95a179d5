/**
 * Objects that print as one line: as text, in JSON, and on Node's console.
 *
 * @internal
 */
import { NodeInspectSymbol } from "effect/Inspectable"

/** Makes an object print so, or all that have it as prototype. A copy by spreading prints as plain data. */
export const printed = <A extends object>(target: A, line: (self: A) => string): A => {
  const method = {
    value(this: A): string {
      return line(this)
    },
    writable: true,
    configurable: true
  }
  return Object.defineProperties(target, { toString: method, toJSON: method, [NodeInspectSymbol]: method })
}
