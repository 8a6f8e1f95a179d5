/**
 * Values of any kind as error messages write them. Programs without types can pass anything, and a message must not
 * throw while it is made.
 *
 * @internal
 */

const longest = 40

/**
 * A value in a few words, without calling anything of the value's own.
 *
 * @internal
 */
export const shown = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > longest ? `${value.slice(0, longest)}...` : value)
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object"
    case "function":
      return "a function"
    case "bigint":
      return `${value}n`
    case "number":
      return Object.is(value, -0) ? "-0" : String(value)
    default:
      return String(value)
  }
}
