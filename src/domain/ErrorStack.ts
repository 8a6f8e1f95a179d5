/**
 * The stack of an error. An engine keeps ten frames, which for a failed operation are all the library's and Effect's.
 * Here these are cut to a few, and the program's frames follow: where it ran the effect, and the functions of
 * `Effect.fn` and the spans around it. An error captures the stack a second time, with more frames: some 40 µs instead
 * of 13. The text is made when the program first reads `stack`.
 *
 * @internal
 */
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"

/** The parts of V8's stack API that are used; the types of browsers and of Node disagree. */
interface StackCapture {
  stackTraceLimit?: number
  captureStackTrace?: (target: object) => void
}

const engine: ErrorConstructor & StackCapture = Error

/** The most frames between an error and the program that are captured. */
const mostLooked = 32
/** The most lines shown of the library, and of each kind of the program's frames. */
const mostOwn = 4
const mostOthers = 10

interface Holder {
  readonly stack?: unknown
}

/** `undefined` where the program has turned stacks off, or the engine has none. */
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

/** Frames of the engine's own functions name no file, and do not match. */
const ofProgram = /:\d+:\d+\)?$/
const ofEngine = /\(?node:|<anonymous>/

/** The functions of `Effect.fn` and the spans that a fiber is in, as lines of a stack, the innermost first: `most`, or one more. */
export const inFiber = (frame: References.StackFrame | undefined, most = mostOthers): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let next = frame; next !== undefined && lines.length < most; next = next.parent) {
    const places = Array.from(next.stack()?.matchAll(/\((.*)\)/g) ?? [], ([, place]) => place)
    const own = places.length > 0 ? places : [next.stack()?.replace(/^\s*at /, "")]
    for (const place of own) lines.push(`    at ${next.name}${place === undefined ? "" : ` (${place})`}`)
  }
  return lines
}

/** The calls that caused errors, as `at BufferPool.allocate (program.ts:4:10)`; made while calls are tracked. */
let calls: WeakMap<Error, string> | undefined

/** Notes the program's call that caused an error, where it is known. */
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
  // When Effect prints an error, it drops the frames after its run loop, and adds the fiber's own frames.
  const loop = fiber.length === 0 ? [] : lines.filter((line) => /~effect\/Effect/.test(line)).slice(0, 1)
  const program = known.length + fiber.length === 0 ? [unknown] : known.slice(0, mostOthers)
  return [...own.slice(0, mostOwn), ...program, ...loop, ...fiber]
}

/** Gives a new error a stack with the frames of the program. In a bundle it keeps the engine's stack. */
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
