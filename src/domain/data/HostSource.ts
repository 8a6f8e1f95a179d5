/**
 * Host bodies as text, for backends that run them in other threads or processes. A function cannot be sent there, but
 * its text can, with the values that it uses.
 *
 * @internal
 */
import { formatted } from "../arguments/Format.ts"

/** Texts of bodies that differ from the text of their function. */
const texts = new WeakMap<object, string | (() => string)>()

/** Gives a body a text, or a function that makes it on demand, instead of the function's own text. */
export const withText = <F extends object>(body: F, text: string | (() => string)): F => {
  texts.set(body, text)
  return body
}

/** The text of an expression whose value is the body. */
export const textOf = (body: object): string => {
  const text = texts.get(body) ?? functionText(body)
  return typeof text === "string" ? text : text()
}

/** Methods are written without `function` or an arrow, as `host(from, to, args) { }`, and are no expression by themselves. */
const method = /^(?!function\b)([A-Za-z_$][\w$]*)\s*\(/

const functionText = (body: object): string => {
  const text = Function.prototype.toString.call(body)
  const name = method.exec(text)?.[1]
  return name === undefined ? `(${text})` : `({ ${text} }).${name}`
}

/**
 * A value as an expression: numbers, texts, truth values, functions, and arrays and records of them. Throws a TypeError for
 * any other, which has no text.
 */
export const literal = (value: unknown): string => {
  switch (typeof value) {
    case "function":
      return textOf(value)
    case "bigint":
      return `${value}n`
    case "number":
      return Object.is(value, -0) ? "-0" : String(value)
    case "string":
      return JSON.stringify(value)
    case "boolean":
    case "undefined":
      return String(value)
    case "object":
      return value === null ? "null" : objectLiteral(value)
    default:
      return noLiteral(value)
  }
}

/** The names are written as computed ones, since a plain `__proto__` would set the prototype. */
const objectLiteral = (value: object): string => {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`
  const prototype = Reflect.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return noLiteral(value)
  return `{ ${Object.entries(value).map(([name, of]) => `[${JSON.stringify(name)}]: ${literal(of)}`).join(", ")} }`
}

const noLiteral = (value: unknown): never => {
  throw new TypeError(
    `Kernel.hostFunction: ${
      formatted(value)
    } was given for a value. Pass numbers, strings, booleans, functions, and arrays or ` +
      "records of them, which can be written as text."
  )
}
