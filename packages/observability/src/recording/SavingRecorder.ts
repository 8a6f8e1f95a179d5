/**
 * A recorder that writes files: when a program first runs out of memory, and on a signal.
 *
 * @since 0.1.0
 */
import { type GpuError, unsupported } from "effect-gpu-pool/GpuError"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { checked } from "../Checked.ts"
import { record, Recorder, RecorderOptions } from "./Recorder.ts"
import { save } from "./RecordingFile.ts"
import type { Recording } from "./RecordingModel.ts"

/**
 * What a recorder keeps, and when it writes a file.
 *
 * @category models
 * @since 0.1.0
 */
export interface SavingOptions extends Schema.Schema.Type<typeof SavingOptions> {}

/** Of {@link SavingOptions}. */
export const SavingOptions = Schema.Struct({
  ...RecorderOptions.fields,
  /** The folder of the files. It is made if it does not exist. */
  directory: Schema.NonEmptyString,
  /** Whether it writes a file when a request first runs out of memory; one that is larger than a limit does not. Default: true. */
  atOutOfMemory: Schema.optional(Schema.Boolean),
  /** The signal at which it writes a file, such as `"SIGUSR2"`. Default: none. */
  signal: Schema.optional(Schema.Literals(["SIGUSR2", "SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT", "SIGBREAK"]))
})

const operation = "Recording.layerSaving"
/** The part of `process` that runtimes share. */
interface Signals {
  readonly on: (signal: string, f: () => void) => unknown
  readonly off: (signal: string, f: () => void) => unknown
}

const isSignals = (value: unknown): value is Signals =>
  typeof value === "object" && value !== null && "on" in value && typeof value.on === "function" &&
  "off" in value && typeof value.off === "function"

/** Calls `f` at each signal, until the scope closes. */
const onSignal = (signal: string, f: () => void): Effect.Effect<void, GpuError, Scope.Scope> => {
  const signals: unknown = Reflect.get(globalThis, "process")
  if (!isSignals(signals)) {
    const hint = "Leave the option out, and call Recording.snapshot where you want one."
    return unsupported(operation, "a runtime without signals", `the signal ${signal}`, hint)
  }
  return Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => signals.on(signal, f)),
    () => Effect.sync(() => signals.off(signal, f))
  ))
}

let count = 0

interface Named {
  readonly name: string
  readonly recording: Recording
}

/** Names a file: names in one folder sort by the time of their recordings, and are unique. */
const named = (recording: Recording): Named => {
  const pid: unknown = Reflect.get(Object(Reflect.get(globalThis, "process")), "pid")
  const time = new Date(recording.takenAt).toISOString().replaceAll(":", "-")
  return { recording, name: `gpu-memory-${time}-${String(pid ?? "page")}-${++count}-${recording.reason}.jsonl` }
}

/** Writes recordings one after the other. The scope closes after the last one is written. */
const writer = Effect.fnUntraced(function*(directory: string) {
  const files = yield* FileSystem.FileSystem
  const paths = yield* Path.Path
  yield* files.makeDirectory(directory, { recursive: true })
  const queue = yield* Queue.unbounded<() => Named, Cause.Done>()
  const write = ({ name, recording }: Named) => {
    const path = paths.join(directory, name)
    const saved = Effect.andThen(
      save(recording, path),
      Effect.logInfo(`${recording.length} events of GPU memory are in ${path}`)
    )
    // No caller waits for the file, so errors are logged.
    return Effect.catch(
      saved,
      (error) => Effect.logError(`The events of GPU memory could not be written to ${path}`, error)
    )
  }
  const writing = yield* Effect.forkDetach(Stream.runForEach(Stream.fromQueue(queue), (next) => write(next())))
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(queue), Fiber.join(writing)))
  return (next: () => Named): void => {
    Queue.offerUnsafe(queue, next)
  }
})

/** Keeps only the last recording that waits to be written: a flood of signals must not fill the host's memory. */
const lastOf = (write: (next: () => Named) => void): (named: Named) => void => {
  let last: Named | undefined
  const next = (): Named => {
    const taken = last!
    last = undefined
    return taken
  }
  return (named) => {
    if (last === undefined) write(next)
    last = named
  }
}

const make = Effect.fnUntraced(function*(given: SavingOptions) {
  const { atOutOfMemory = true, directory, signal, ...options } = yield* checked(operation, SavingOptions, given)
  const write = yield* writer(directory)
  const recorder = yield* record(options)
  if (atOutOfMemory) {
    const stop = recorder.onRanOut(() => {
      stop()
      const taken = named(recorder.takeUnsafe("outOfMemory"))
      write(() => taken)
    })
  }
  if (signal !== undefined) {
    const writeLast = lastOf(write)
    yield* onSignal(signal, () => writeLast(named(recorder.takeUnsafe("signal"))))
  }
  return recorder
})

/**
 * Records as `Recording.layer` does, and writes a file when a request first runs out of memory, and at each signal. A file has
 * the events up to that moment; it is written before the layer has closed, and its name is logged. Of signals that arrive while another
 * file is written, only the last gets a file. A file that cannot be written is logged as an error.
 *
 * Fails with InvalidRequest for invalid options, with Unsupported for a signal where the runtime has no signals, and with a
 * PlatformError for a folder that cannot be made.
 *
 * **Example** (A service that leaves evidence)
 *
 * ```ts
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { Recording } from "@effect-gpu-pool/observability"
 *
 * const Recorded = Recording.layerSaving({ directory: "recordings", signal: "SIGUSR2" })
 * const Gpu = BufferPool.layer({ maxBytes: "512 MiB" }).pipe(
 *   Layer.provideMerge(Host.layer()),
 *   Layer.provideMerge(Recorded),
 *   Layer.provide(NodeServices.layer)
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSaving = (
  options: SavingOptions
): Layer.Layer<Recorder, GpuError | PlatformError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(Recorder, make(options))
