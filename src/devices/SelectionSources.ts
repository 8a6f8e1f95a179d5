/**
 * Where a selection can come from when code names none: the environment and files in the user's home directory.
 *
 * @internal
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import { readFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { type GpuError, invalidRequest, isGpuError } from "../domain/GpuError.ts"
import * as DeviceSelector from "../domain/selection/DeviceSelector.ts"

/**
 * What was chosen, and by whom.
 *
 * @category models
 * @since 0.1.0
 */
export interface Choice {
  /** A variable, the path of a file, `code`, or `default` when nobody chose. */
  readonly source: string
  /** As it was written; `undefined` when nobody chose. */
  readonly text: string | undefined
  readonly selector: DeviceSelector.DeviceSelector | undefined
}

/**
 * Where to look, instead of the usual places.
 *
 * @category models
 * @since 0.1.0
 */
export interface SourceOptions {
  /** The folder of the per-user files, instead of the user's home directory. */
  readonly home?: string | undefined
}

/** @internal */
export type Parse = (
  text: string,
  options: { readonly source: string }
) => DeviceSelector.DeviceSelector | GpuError

/** A variable of the environment, or a file in the home directory. @internal */
export interface Place {
  readonly variable?: string | undefined
  readonly file?: string | undefined
  readonly parse: Parse
  /** It means devices of NVIDIA, so it says nothing where OpenCL has none. */
  readonly nvidiaOnly?: boolean | undefined
}

const firstForTests: Parse = (text, options) => {
  const selector = DeviceSelector.parsePyOpenClTest(text, options)
  return isGpuError(selector) ? selector : DeviceSelector.first(selector)
}

const cuda = { parse: DeviceSelector.parseCudaDevice, nvidiaOnly: true }

/**
 * Where a program's device is named, in order of precedence.
 *
 * @internal
 */
export const forPrograms: ReadonlyArray<Place> = [
  { variable: "GPU_POOL_DEVICE", parse: DeviceSelector.parse },
  { file: ".gpu-pool-device", parse: DeviceSelector.parse },
  { variable: "PYOPENCL_TEST", parse: firstForTests },
  { variable: "PYOPENCL_CTX", parse: DeviceSelector.parsePyOpenClContext },
  { variable: "CUDA_DEVICE", ...cuda },
  { file: ".cuda-device", ...cuda },
  { file: ".cuda_device", ...cuda }
]

/**
 * Where the devices of tests are named, in order of precedence.
 *
 * @internal
 */
export const forTests: ReadonlyArray<Place> = [
  { variable: "GPU_POOL_TEST", parse: DeviceSelector.parse },
  { variable: "PYOPENCL_TEST", parse: DeviceSelector.parsePyOpenClTest }
]

/**
 * The first place that names something. Fails with InvalidRequest for a selection that cannot be read.
 *
 * @internal
 */
export const firstOf = Effect.fnUntraced(function*(
  places: ReadonlyArray<Place>,
  hasNvidia: Effect.Effect<boolean>,
  options: SourceOptions
): Effect.fn.Return<Choice, GpuError> {
  const home = options.home ?? homeOfUser()
  for (const { file, nvidiaOnly, parse, variable } of places) {
    if (file !== undefined && home === "") continue
    const source = variable ?? join(home, file ?? "")
    const text = variable === undefined ? yield* firstLine(source) : yield* valueOf(variable)
    if (text === undefined || text.trim() === "") continue
    if (nvidiaOnly === true && !(yield* hasNvidia)) continue
    const selector = parse(text, { source })
    if (isGpuError(selector)) return yield* selector
    return { source, text, selector }
  }
  return { source: "default", text: undefined, selector: undefined }
})

/**
 * Empty for a user without one, as in a container under a number that no user has: then there are no files to ask, and
 * those of the working directory are somebody else's.
 */
const homeOfUser = (): string => {
  try {
    return homedir()
  } catch {
    return ""
  }
}

const valueOf = (variable: string): Effect.Effect<string | undefined, GpuError> =>
  Config.option(Config.String(variable)).pipe(
    Effect.map(Option.getOrUndefined),
    Effect.mapError((error) => invalidRequest(variable, error.message, "Set it to a text, or not at all."))
  )

/** The first line of a file; `undefined` when there is no such file. A program's own FileSystem goes first. */
const firstLine = (path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.flatMap(Effect.serviceOption(FileSystem.FileSystem), (files) =>
    Effect.map(
      Option.isSome(files) ? fromService(files.value, path) : fromDisk(path),
      (text) => text?.replace(/^\uFEFF/, "").split(/\r?\n/, 1)[0]
    ))

const fromService = (files: FileSystem.FileSystem, path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.catch(
    files.readFileString(path),
    (error) => isAbsent(error.reason) ? Effect.undefined : unreadable(path, error)
  )

/** Below something that is no folder, as in the home directory `/dev/null`, there are no files. */
const isAbsent = ({ _tag, cause }: PlatformError.PlatformError["reason"]): boolean =>
  _tag === "NotFound" || (cause instanceof Error && "code" in cause && cause.code === "ENOTDIR")

const fromDisk = (path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8").catch(absent),
    catch: (cause) => unreadable(path, cause)
  })

const absent = (cause: NodeJS.ErrnoException): undefined => {
  if (cause.code !== "ENOENT" && cause.code !== "ENOTDIR") throw cause
}

const unreadable = (path: string, cause: unknown): GpuError =>
  invalidRequest(
    path,
    `the file cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    "Make it readable, or remove it."
  )
