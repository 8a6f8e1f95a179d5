/**
 * The stack of an error. An engine keeps ten frames, and those of an operation that fails are the library's and Effect's own. Here
 * they are few, and the program's come after them: where it ran the effect, and the functions of `Effect.fn` and spans that it is
 * in. An error costs a second look at the stack, of some more frames: some 40 µs where it took 13. The text is made when
 * the program first reads `stack`.
 *
 * @internal
 */
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"

/** As far as engines go that have these; types of browsers and of Node disagree. */
interface StackCapture {
  stackTraceLimit?: number
  captureStackTrace?: (target: object) => void
}

const engine: ErrorConstructor & StackCapture = Error

/** So many frames may stand between an error and the program. */
const mostLooked = 32
/** So many lines are shown of the library, and of each kind of the program's. */
const mostOwn = 4
const mostOthers = 10

interface Holder {
  readonly stack?: unknown
}

/** Undefined where the program wants no stacks, and where the engine has none. */
const capture = (): Holder | undefined => {
  const length = engine.stackTraceLimit
  if (length === undefined || length <= 0) return undefined
  const holder: Holder = {}
  engine.stackTraceLimit = Math.max(mostLooked, length)
  try {
    engine.captureStackTrace?.(holder)
  } finally {
    engine.stackTraceLimit = length
  }
  return holder
}

/** The innermost frame is always one of this file: it says in which folder the library lies, unless that is a bundle. */
const ownFolder = /^\s*at (?:.*\()?(.*[\\/])domain[\\/]ErrorStack\.[jt]s/

/** A package around the library: beside it in `node_modules`, or in its repository. */
const around = /node_modules.@effect-gpu-pool.|^packages.\w+.(src|dist)./

/** Whether a place is in the library, which is in this folder, or in one of the packages around it. */
export const isLibrary = (place: string, folder: string): boolean =>
  place.includes(folder) || around.test(place.split(folder.replace(/\w+.$/, ""))[1] ?? place)

const ofEffect = /[\\/]node_modules[\\/](?:@effect[\\/]|effect[\\/])/

/** Those of the engine's own functions name no file of a program. */
const ofProgram = /:\d+:\d+\)?$/
const ofEngine = /\(?node:|<anonymous>/

const inFiber = (frame: References.StackFrame | undefined): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let next = frame; next !== undefined && lines.length < mostOthers; next = next.parent) {
    const places = Array.from(next.stack()?.matchAll(/\((.*)\)/g) ?? [], ([, place]) => place)
    const own = places.length > 0 ? places : [next.stack()?.replace(/^\s*at /, "")]
    for (const place of own) lines.push(`    at ${next.name}${place === undefined ? "" : ` (${place})`}`)
  }
  return lines
}

/** Calls that errors came of, as `at BufferPool.allocate (program.ts:4:10)`: made where places are tracked. */
let calls: WeakMap<Error, string> | undefined

/** Says of an error in which call of the program it was made, where that is known. */
export const place = <E extends Error>(error: E, operation: string, callSite: string | undefined): E => {
  if (callSite !== undefined) (calls ??= new WeakMap()).set(error, `    at ${operation} (${callSite})`)
  return error
}

const unknown = "    (no frame of the program: functions made by Effect.fn are named here, and calls in CallSite.track)"

/** The lines of a stack as they are shown; undefined where it is one of a bundle. */
const arranged = (
  stack: string,
  call: string | undefined,
  frame: References.StackFrame | undefined
): ReadonlyArray<string> | undefined => {
  const lines = stack.split("\n").filter((line) => /^\s+at /.test(line))
  const folder = ownFolder.exec(lines[0] ?? "")?.[1]
  if (folder === undefined) return undefined
  const isOwn = (line: string): boolean => isLibrary(line, folder)
  const own = lines.filter(isOwn).filter((line) => !/[\\/]domain[\\/](?:ErrorStack|GpuError)\.[jt]s/.test(line))
  const others = lines.filter((line) =>
    !isOwn(line) && !ofEffect.test(line) && !ofEngine.test(line) && ofProgram.test(line)
  )
  const known = call === undefined ? others : [call, ...others]
  const fiber = inFiber(frame)
  // Where Effect shows an error, it leaves out what follows its own run loop, and adds the frames of the fiber itself.
  const loop = fiber.length === 0 ? [] : lines.filter((line) => /~effect\/Effect/.test(line)).slice(0, 1)
  const program = known.length + fiber.length === 0 ? [unknown] : known.slice(0, mostOthers)
  return [...own.slice(0, mostOwn), ...program, ...loop, ...fiber]
}

/** Gives an error that was just made a stack with the frames of the program. In a bundle it has the engine's own. */
export const describe = (error: Error): void => {
  const holder = capture()
  const engines = Object.getOwnPropertyDescriptor(error, "stack")
  if (holder === undefined || engines === undefined) return
  const frame = Fiber.getCurrent()?.getRef(References.CurrentStackFrame)
  const become = (stack: unknown): unknown => {
    Object.defineProperty(error, "stack", { value: stack, writable: true, configurable: true, enumerable: false })
    return stack
  }
  Object.defineProperty(error, "stack", {
    get: () => {
      const { stack } = holder
      const lines = typeof stack === "string" ? arranged(stack, calls?.get(error), frame) : undefined
      Object.defineProperty(error, "stack", engines)
      return become(lines === undefined ? error.stack : `${error.name}: ${error.message}\n${lines.join("\n")}`)
    },
    set: become,
    configurable: true,
    enumerable: false
  })
}
