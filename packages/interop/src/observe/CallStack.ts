/**
 * Where an object was made: the frames of a call, and the one that the program's author looks for.
 *
 * @internal
 */

/** What V8 has of `Error`; other engines have parts of it. */
interface Engine {
  stackTraceLimit?: number
  readonly captureStackTrace?: (target: object, without: object) => void
}

const engine = Error as unknown as Engine

/** A stack that the engine writes as a text when it is read. */
export interface Stack {
  readonly stack?: string
}

/** The frames from this file to the patched method, where an engine cannot leave them out. */
const innerFrames = 3

/** Takes a stack of at most so many frames, from the caller of the function `entry` on. */
export const capture = (frames: number, entry: object): Stack => {
  if (engine.captureStackTrace === undefined) {
    const { stack = "" } = new Error()
    return { stack: linesOf(stack).slice(innerFrames).join("\n") }
  }
  const target: Stack = {}
  const before = engine.stackTraceLimit
  if (before !== undefined) engine.stackTraceLimit = frames
  engine.captureStackTrace(target, entry)
  if (before !== undefined) engine.stackTraceLimit = before
  return target
}

/** V8 writes `    at f (place)`, other engines `f@place`. */
const linesOf = (stack: string): ReadonlyArray<string> =>
  stack.split("\n").filter((line) => /^\s*at /.test(line) || line.includes("@"))

/** The frames of a stack, the innermost first, as `classify (file:///app/leak.mjs:11:80)`. */
export const framesOf = ({ stack = "" }: Stack, most: number): ReadonlyArray<string> =>
  linesOf(stack).slice(0, most).map((line) => line.trim().replace(/^at /, ""))

/** Code that no program's author has written. */
const foreign = /node_modules|node:internal|<anonymous>$|^native |\[native code\]/

/** Whether a frame is of a package, of the runtime or of the engine. */
export const isForeign = (frame: string): boolean => foreign.test(frame)

/** The frame to look at: the innermost one of the program's own code, or else the innermost one. */
export const siteOf = (
  frames: ReadonlyArray<string>,
  ignore: (frame: string) => boolean
): string | undefined => frames.find((frame) => !ignore(frame)) ?? frames[0]
