/** Whether a program's calls are tracked, and the place of one. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { dual } from "effect/Function"
import * as References from "effect/References"
import * as CallStack from "../../domain/CallStack.ts"
import { inFiber, isLibrary } from "../../domain/ErrorStack.ts"

/** How many frames the calls in this context record: 0 for none. */
const Tracking = Context.Reference<number>("effect-gpu-pool/CallSite/Tracking", { defaultValue: () => 0 })

/**
 * Reads the stack; set at the first `track` of the process. Until then a call checks one variable instead of searching
 * the fiber's context, which would cost a twentieth of a lease. Bundles that never track leave the code out.
 */
let look: ((entry: Entry, frames: number) => string | undefined) | undefined

/**
 * Runs an effect whose calls record where in the program they were made. Pools and allocators keep the places: errors
 * and `BufferPool.holders` name those of the largest holders, `TrackingAllocator.outstanding` those of what was not
 * freed. It costs microseconds per call, in this effect and the fibers that it starts, and nothing elsewhere.
 *
 * The place is where `BufferPool.allocate`, `Allocator.allocate` or a method of their services was called. It stays
 * unknown for calls that no fiber made, as for an effect that was made beforehand: put those into `Effect.gen` or
 * `Effect.suspend`.
 *
 * **Example** (Who holds the memory, by file and line)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CallSite } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   yield* BufferPool.allocate(4096)
 *   const [holder] = yield* BufferPool.holders(1)
 *   return holder?.callSite !== undefined
 * }).pipe(Effect.scoped, CallSite.track, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer()))
 * await Effect.runPromise(program) // => true
 * ```
 *
 * @category tracking
 * @since 0.1.0
 */
export const track = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => tracking(effect, 1)

const tracking = <A, E, R>(effect: Effect.Effect<A, E, R>, frames: number): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    look = captured
    return Effect.provideService(effect, Tracking, frames)
  })

/** The most frames of a call that are kept. */
const mostFrames = 16

/**
 * Runs an effect as {@link track} does, and keeps several frames of each call: the place of the call, then its callers.
 *
 * The text has them from the innermost on, `/app/Tiles.ts:4:9 ← decode (/app/Decoder.ts:20:3)`, wherever a call site is: in errors, in
 * `BufferPool.holders`, which sums up each call stack by itself, and in recordings, whose viewer shows them frame by frame. A
 * recording that was made so is read and replayed as any other.
 *
 * Callers are the functions that called until Effect ran the fiber, and then the functions of `Effect.fn` and the spans that the fiber is
 * in, which have names. A call costs up to a fifth more than in {@link track}, and a recording stores each distinct text once: some
 * hundred bytes for a frame. Elsewhere it costs nothing.
 *
 * `frames` is the most that are kept, from 1 to 16; other numbers count as the nearest of these.
 *
 * **Example** (Who called what holds the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CallSite } from "effect-gpu-pool"
 *
 * const decode = Effect.fn("decode")(function*() {
 *   yield* BufferPool.allocate(4096)
 * })
 * Effect.gen(function*() {
 *   yield* decode()
 *   const [holder] = yield* BufferPool.holders(1)
 *   return holder?.callSite?.includes(" ← decode (")
 * }).pipe(CallSite.trackFrames(4)) // => true
 * ```
 *
 * @category tracking
 * @since 0.1.0
 */
export const trackFrames: {
  /** Runs an effect as {@link track} does, and keeps several frames of each call: the place of the call, then its callers. */
  (frames: number): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, frames: number): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(effect: Effect.Effect<A, E, R>, frames: number): Effect.Effect<A, E, R> =>
    tracking(effect, Math.min(mostFrames, Math.max(1, Math.floor(frames) || 1)))
)

/** How many frames calls of the running fiber record. */
const tracked = (): number => look === undefined ? 0 : Fiber.getCurrent()?.getRef(Tracking) ?? 0

/** @internal */
export type Entry = (...args: never) => unknown

/** Options that can say where the call was made. @internal */
export interface Located {
  readonly callSite?: string | undefined
}

/**
 * Adds the place of the call to its options. It returns the options unchanged while calls are not tracked, when they
 * have a `callSite`, and when the stack shows no frame of the program.
 *
 * `entry` is the public function that the program called. It matters only in a bundle, where files do not tell the
 * library's frames from the program's. There, for an effect of the library that was made before tracking began, the
 * place is one of the library's.
 *
 * @internal
 */
export const locate = <Options extends Located>(
  options: Options | undefined,
  entry: Entry
): Options | Located | undefined => {
  const frames = tracked()
  if (frames === 0 || options?.callSite !== undefined) return options
  const callSite = look?.(entry, frames)
  return callSite === undefined ? options : { ...options, callSite }
}

/** Adds the place of the call to the stacks of its errors while calls are tracked, as `Effect.fn` does. @internal */
export const framed = <A, E, R>(effect: Effect.Effect<A, E, R>, name: string, entry: Entry): Effect.Effect<A, E, R> => {
  const callSite = tracked() > 0 ? look?.(entry, 1) : undefined
  if (callSite === undefined) return effect
  return Effect.updateService(
    effect,
    References.CurrentStackFrame,
    (parent) => ({ name, stack: () => callSite, parent })
  )
}

/** Made with the first place to note, since a lookup in an empty map costs a thirtieth of a lease. */
let places: WeakMap<object, string> | undefined

/**
 * Remembers where a lease or buffer was asked for, for as long as it exists.
 *
 * @category functions
 * @since 0.1.0
 */
export const note = (object: object, callSite: string | undefined): void => {
  if (callSite !== undefined) (places ??= new WeakMap()).set(object, callSite)
}

/**
 * The place noted for a lease or buffer.
 *
 * @category functions
 * @since 0.1.0
 */
export const of = (object: object): string | undefined => places?.get(object)

/** The parts of V8's stack API that are used; the types of browsers and of Node disagree. */
interface StackCapture {
  stackTraceLimit?: number
  captureStackTrace?: (target: object, below?: Entry) => void
}

const engine: ErrorConstructor & StackCapture = Error

/** Our own functions, Effect's and an array's in between can be more than the 10 frames that engines keep. */
const frameLimit = 50

const captured = (entry: Entry, most: number): string | undefined => {
  const [callSite, ...others] = withManyFrames(() => placesOf(callers(entry), most))
  if (callSite === undefined || most === 1) return callSite?.place
  const named = others.map(({ name, place }) => name === "" ? place : `${name} (${place})`)
  return CallStack.textOf([callSite.place, ...[...named, ...fiberCallers(most)].slice(0, most - 1)])
}

/** `Effect.fn` adds a frame for the call of its function, and one for the place where that is defined, which called nothing. */
const fiberCallers = (most: number): ReadonlyArray<string> =>
  inFiber(Fiber.getCurrent()?.getRef(References.CurrentStackFrame), 2 * most)
    .filter((line) => !line.includes(" (definition) ("))
    .map((line) => line.replace(/^ +at /, "").replace(/file:\/\/[^)]*/, pathOf))

const withManyFrames = <A>(read: () => A): A => {
  const limit = engine.stackTraceLimit
  if (limit === undefined) return read()
  engine.stackTraceLimit = frameLimit
  try {
    return read()
  } finally {
    engine.stackTraceLimit = limit
  }
}

/** The frames that are not this library's, the nearest first. */
const callers = (entry: Entry): ReadonlyArray<Frame> => {
  const [own, ...frames] = framesOf(new Error())
  const folder = own === undefined ? undefined : folderOf(own.file)
  return folder === undefined ? framesBelow(entry) : frames.filter(({ file }) => !isLibrary(file, folder))
}

/** In a bundle all code is in one file: the frames are those that called the entry. */
const framesBelow = (entry: Entry): ReadonlyArray<Frame> => {
  const holder: { readonly stack?: unknown } = {}
  engine.captureStackTrace?.(holder, entry)
  return framesOf(holder)
}

interface Frame {
  readonly name: string
  readonly file: string
  readonly position: string
}

/** A frame of the program. */
interface Place {
  readonly name: string
  /** As "file:line:column". */
  readonly place: string
}

/** The last part is a development server's. */
const ownFile = /^(.*[\\/])services[\\/]calls[\\/]CallPlaces\.[jt]s(?:\?.*)?$/

/** The first frame is always this file's: it says in which folder the library lies, here, in dist or in node_modules. */
const folderOf = (file: string): string | undefined => ownFile.exec(file)?.[1]

/** The program's frames, the innermost first, as many as are wanted. */
const placesOf = (
  frames: ReadonlyArray<Frame>,
  most: number
): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  for (const { file, name, position } of frames) {
    const isEffect = effectFile.test(file)
    // The frames beyond Effect's run loop are those of the code that resumed the fiber, not of the caller.
    if (places.length === most || primitiveName.test(name) || (isEffect && runLoopName.test(name))) break
    if (!isEffect && !file.startsWith("node:")) places.push({ name, place: `${file}:${position}` })
  }
  return places
}

const effectFile = /[\\/]node_modules[\\/]effect[\\/]/
const runLoopName = /\b(?:runLoop|evaluate)\b/
/** The key of the methods that the run loop calls; as a string it outlives a minifier. */
const primitiveName = /~effect\/Effect\//

const framesOf = ({ stack }: { readonly stack?: unknown }): ReadonlyArray<Frame> =>
  typeof stack === "string" ? stack.split("\n").flatMap(frameOf) : []

const positionAtEnd = /:(\d+:\d+)\)?$/

/** Lines that name no file, as those of the engine's own functions, are left out. */
const frameOf = (line: string): ReadonlyArray<Frame> => {
  const found = positionAtEnd.exec(line)
  const position = found?.[1]
  if (found === null || position === undefined) return []
  const [name, file] = nameAndFile(line.slice(0, found.index), line.endsWith(")"))
  return file.endsWith("<anonymous>") ? [] : [{ name, file: pathOf(file), position }]
}

/** V8 writes `at name (file` or `at file`, the others `name@file`. */
const nameAndFile = (frame: string, inBrackets: boolean): readonly [name: string, file: string] => {
  const call = frame.trimStart()
  if (call === frame || !call.startsWith("at ")) return cut(call, 0, "@")
  const start = call.startsWith("at async ") ? "at async ".length : "at ".length
  return inBrackets ? cut(call, start, " (") : ["", call.slice(start)]
}

const cut = (text: string, start: number, between: string): readonly [before: string, after: string] => {
  const at = text.indexOf(between, start)
  return at === -1 ? ["", text.slice(start)] : [text.slice(start, at), text.slice(at + between.length)]
}

/** The path in a file's URL, with slashes; any other address as it is. @internal */
export const pathOf = (file: string): string => {
  if (!file.startsWith("file://")) return file
  const path = file.slice("file://".length).replace(/^\/(?=[A-Za-z]:)/, "")
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
