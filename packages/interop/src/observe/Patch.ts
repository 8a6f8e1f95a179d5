/**
 * Methods of foreign objects that tell what they did, put in their place and taken out again.
 *
 * @internal
 */
import { capture, type Stack } from "./CallStack.ts"

type Method = (this: unknown, ...args: ReadonlyArray<unknown>) => unknown

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
  readonly listeners: Set<Listener>
  /** The most that any of them wants. */
  frames: number
}

/** By the object, and by the name of its method. */
const patches = new WeakMap<object, Map<string, Patched>>()

/**
 * Calls a listener after each call of an object's method, which keeps its `this`, its arguments, its result and what it throws.
 * Returns what ends that. With the last listener the object is again as it was, unless other code has put a method of its own over
 * this one since: then it stays, and does nothing.
 */
export const listen = (object: object, name: string, listener: Listener): () => void => {
  const patched = patches.get(object)?.get(name) ?? put(object, name)
  patched.listeners.add(listener)
  countFrames(patched)
  return () => {
    patched.listeners.delete(listener)
    countFrames(patched)
    if (patched.listeners.size === 0) restore(object, name, patched)
  }
}

const countFrames = (patched: Patched): void => {
  patched.frames = Math.max(0, ...Array.from(patched.listeners, ({ frames }) => frames))
}

const put = (object: object, name: string): Patched => {
  const inner = Reflect.get(object, name) as Method
  const listeners = new Set<Listener>()
  const method: Method = function(...args) {
    const result = Reflect.apply(inner, this, args)
    const stack = patched.frames > 0 ? capture(patched.frames) : undefined
    for (const { hear } of listeners) hear({ result, self: this as object, argument: args[0], stack })
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
  const patched: Patched = { before, method, listeners, frames: 0 }
  const ofObject = patches.get(object) ?? new Map<string, Patched>()
  patches.set(object, ofObject.set(name, patched))
  return patched
}

const restore = (object: object, name: string, { before, method }: Patched): void => {
  if (Reflect.get(object, name) !== method) return
  patches.get(object)?.delete(name)
  if (before === undefined) Reflect.deleteProperty(object, name)
  else Object.defineProperty(object, name, before)
}
