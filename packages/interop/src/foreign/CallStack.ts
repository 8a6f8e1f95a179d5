/**
 * Where an object was made: the frames of a call, and the one that the program's author looks for.
 *
 * @internal
 */

/** A stack that the engine writes as a text when it is read. */
export interface Stack {
  readonly stack?: unknown
}

/** The frames of this function and of the patched method that calls it. */
const innerFrames = 2

/** How many frames are kept: the line of the program is up to 30 deep in libraries. */
export const enoughFrames = 32

/** Takes a stack with at least so many frames outside of the patched method, which calls it. */
export const capture = (frames: number): Stack => {
  const before = Reflect.get(Error, "stackTraceLimit")
  // V8 has the limit. It takes no assignment where a program has frozen it.
  if (before !== undefined) Reflect.set(Error, "stackTraceLimit", frames + innerFrames)
  const stack = new Error()
  if (before !== undefined) Reflect.set(Error, "stackTraceLimit", before)
  return stack
}

/** V8 writes `    at f (place)`, other engines `f@place`. */
const linesOf = (stack: string): ReadonlyArray<string> =>
  stack.split("\n").filter((line) => /^\s*at /.test(line) || line.includes("@"))

/**
 * The frames of a stack, the innermost first, as `classify (file:///app/leak.mjs:11:80)`. None where the program has a
 * `prepareStackTrace` that makes no text of them.
 */
export const framesOf = ({ stack }: Stack, most: number): ReadonlyArray<string> =>
  typeof stack === "string"
    ? linesOf(stack).slice(innerFrames, innerFrames + most).map((line) => line.trim().replace(/^at /, ""))
    : []

/** Code that no program's author has written. */
const foreign =
  /node_modules|node:internal|<anonymous>\)?$|^native |\[native code\]|\bwasm:\/\/|^(?:async )?Promise\.\w+ \(index \d+\)$/

/** Whether a frame is of a package, of WebAssembly, of the runtime or of the engine. */
export const isForeign = (frame: string): boolean => foreign.test(frame)

/** The frame to look at: the innermost one of the program's own code, or else the innermost one. */
export const siteOf = (
  frames: ReadonlyArray<string>,
  ignore: (frame: string) => boolean
): string | undefined => frames.find((frame) => !ignore(frame)) ?? frames[0]
