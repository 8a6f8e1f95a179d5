/**
 * Methods that are put in the place of foreign objects' own: they tell listeners what they did, or do something else. When all that
 * is over, the objects are again as they were.
 *
 * @internal
 */

import { capture, type Stack } from "./CallStack.ts"

/** A method of a foreign object. */
export type Method = (this: unknown, ...args: ReadonlyArray<unknown>) => unknown

/** A call that has returned. */
export interface Call {
  readonly result: unknown
  readonly self: object
  /** What it was called with first. */
  readonly argument: unknown
  /** Where it was called from, if one of the listeners wants frames. */
  readonly stack: Stack | undefined
}

/** Hears a call after it has returned. */
export interface Listener {
  readonly hear: (call: Call) => void
  /** How many frames it wants. */
  readonly frames: number
}

interface Patched {
  /** What the object had of its own before; `undefined` where it inherited the method. */
  readonly before: PropertyDescriptor | undefined
  readonly method: Method
  /** What the object had, of its own or inherited. */
  readonly inner: Method
  /** What the method does: `inner`, or what replaces it. */
  body: Method
  readonly listeners: Set<Listener>
  /** The most that any of them wants. */
  frames: number
}

/** By the object, and by the name of its method. */
const patches = new WeakMap<object, Map<string, Patched>>()

/**
 * Calls a listener after each call of an object's method, which keeps its `this`, its arguments, its result and what it throws.
 * Returns what ends that. With the last listener the object is again as it was, unless other code has put a method of its own over
 * this one since: then it stays, and does what the object's own did.
 */
export const listen = (object: object, name: string, listener: Listener): () => void => {
  const patched = patchOf(object, name)
  patched.listeners.add(listener)
  countFrames(patched)
  return () => {
    patched.listeners.delete(listener)
    countFrames(patched)
    restore(object, name, patched)
  }
}

/**
 * Lets an object's method do something else, which `replacing` makes of what it did: listeners hear that instead. Returns what ends
 * it, in the same way. One piece of code at a time may replace a method.
 */
export const replace = (object: object, name: string, replacing: (inner: Method) => Method): () => void => {
  const patched = patchOf(object, name)
  patched.body = replacing(patched.inner)
  return () => {
    patched.body = patched.inner
    restore(object, name, patched)
  }
}

const countFrames = (patched: Patched): void => {
  patched.frames = Math.max(0, ...Array.from(patched.listeners, ({ frames }) => frames))
}

/** What a method does without listeners and replacements. */
export const innerOf = (object: object, name: string): Method =>
  patches.get(object)?.get(name)?.inner ?? Reflect.get(object, name) as Method

const patchOf = (object: object, name: string): Patched => patches.get(object)?.get(name) ?? put(object, name)

const put = (object: object, name: string): Patched => {
  const inner = Reflect.get(object, name) as Method
  const listeners = new Set<Listener>()
  const method: Method = function(...args) {
    const result = Reflect.apply(patched.body, this, args)
    if (listeners.size > 0) {
      const stack = patched.frames > 0 ? capture(patched.frames) : undefined
      for (const { hear } of listeners) hear({ result, self: this as object, argument: args[0], stack })
    }
    return result
  }
  Object.defineProperty(method, "name", { value: name, configurable: true })
  Object.defineProperty(method, "length", { value: inner.length, configurable: true })
  const before = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, {
    value: method,
    writable: true,
    enumerable: before?.enumerable ?? false,
    configurable: true
  })
  const patched: Patched = { before, method, inner, body: inner, listeners, frames: 0 }
  const ofObject = patches.get(object) ?? new Map<string, Patched>()
  patches.set(object, ofObject.set(name, patched))
  return patched
}

/** Gives an object its own method back, when nothing listens to it or replaces it any more. */
const restore = (object: object, name: string, { before, body, inner, listeners, method }: Patched): void => {
  if (listeners.size > 0 || body !== inner || Reflect.get(object, name) !== method) return
  patches.get(object)?.delete(name)
  if (before === undefined) Reflect.deleteProperty(object, name)
  else Object.defineProperty(object, name, before)
}
