/**
 * Where a selection comes from when code has none: the environment and files in the user's home directory.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import { constants, open } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { formatted, thrownText } from "../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../domain/GpuError.ts"
import * as DeviceSelector from "../domain/selection/DeviceSelector.ts"

/**
 * A selection, and where it comes from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Choice {
  /** A variable, the path of a file, or `code`; `default` for the option `default`, and where nothing selects. */
  readonly source: string
  /** The selection as it was written; `undefined` without one. */
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
  options: { readonly source: string; readonly backends: ReadonlyArray<string> }
) => Result.Result<DeviceSelector.DeviceSelector, GpuError>

/** A variable of the environment, or a file in the home directory. @internal */
export interface Place {
  readonly variable?: string | undefined
  readonly file?: string | undefined
  readonly parse: Parse
}

const firstForTests: Parse = (text, options) =>
  Result.map(DeviceSelector.parsePyOpenClTest(text, options), DeviceSelector.first)

/**
 * The places that choose a program's device, the first one first.
 *
 * @internal
 */
export const forPrograms: ReadonlyArray<Place> = [
  { variable: "GPU_POOL_DEVICE", parse: DeviceSelector.parse },
  { file: ".gpu-pool-device", parse: DeviceSelector.parse },
  { variable: "PYOPENCL_TEST", parse: firstForTests },
  { variable: "PYOPENCL_CTX", parse: DeviceSelector.parsePyOpenClContext },
  { variable: "CUDA_DEVICE", parse: DeviceSelector.parseCudaDevice },
  { file: ".cuda-device", parse: DeviceSelector.parseCudaDevice },
  { file: ".cuda_device", parse: DeviceSelector.parseCudaDevice }
]

/**
 * The places that choose the devices of tests, the first one first.
 *
 * @internal
 */
export const forTests: ReadonlyArray<Place> = [
  { variable: "GPU_POOL_TEST", parse: DeviceSelector.parse },
  { variable: "PYOPENCL_TEST", parse: DeviceSelector.parsePyOpenClTest }
]

/**
 * The choice of the first place that has one. Fails with InvalidRequest, which names the place of a selection that
 * cannot be read, or `operation` for wrong options.
 *
 * @internal
 */
export const firstOf = Effect.fnUntraced(function*(
  operation: string,
  places: ReadonlyArray<Place>,
  options: SourceOptions,
  backends: ReadonlyArray<string>
): Effect.fn.Return<Choice, GpuError> {
  const home = options.home ?? homeOfUser()
  if (typeof home !== "string") {
    return yield* invalidRequest(operation, `${formatted(home)} was given for the home folder`, "Pass a path.")
  }
  for (const { file, parse, variable } of places) {
    if (file !== undefined && home === "") continue
    const source = variable ?? join(home, file ?? "")
    const text = variable === undefined ? yield* firstLine(source) : yield* valueOf(variable)
    if (text === undefined || text.trim() === "") continue
    return { source, text, selector: yield* Effect.fromResult(parse(text, { source, backends })) }
  }
  return { source: "default", text: undefined, selector: undefined }
})

/**
 * The user's home directory. Empty without one, as in a container with an unknown user id: then no file is read,
 * because files of the working directory may belong to another user.
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
    Effect.mapError((error) => invalidRequest(variable, error.message, "Set it to a string, or unset it."))
  )

/** The first line of a file; `undefined` when there is no such file. A FileSystem in context comes before the disk. */
const firstLine = (path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.flatMap(Effect.serviceOption(FileSystem.FileSystem), (files) =>
    Effect.map(
      Option.isSome(files) ? fromService(files.value, path) : fromDisk(path),
      (text) => text?.replace(/^\uFEFF/, "").split(/\r?\n/, 1)[0]
    ))

/** More bytes than a file with a selection and some comments has. */
const mostBytes = 65_536

/** A read of a pipe would wait, and a read of a device file would never end. */
const notRegular = "it is no regular file"

const tooLarge = `it has more than ${mostBytes} bytes`

/** A FileSystem that cannot tell the type of a file, as one of a test, is only asked for the text. */
const fromService = (files: FileSystem.FileSystem, path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.flatMap(Effect.option(files.stat(path)), (found) => {
    const { size, type } = Option.getOrElse(found, () => ({ type: "File", size: 0 }))
    if (type !== "File") return unreadable(path, notRegular)
    if (size > mostBytes) return unreadable(path, tooLarge)
    return Effect.catch(
      files.readFileString(path),
      (error) => isAbsent(error.reason) ? Effect.undefined : unreadable(path, thrownText(error))
    )
  })

/** A path through something that is no folder, as with the home directory `/dev/null`, counts as absent. */
const isAbsent = ({ _tag, cause }: PlatformError.PlatformError["reason"]): boolean =>
  _tag === "NotFound" || (cause instanceof Error && "code" in cause && cause.code === "ENOTDIR")

const fromDisk = (path: string): Effect.Effect<string | undefined, GpuError> =>
  Effect.tryPromise({
    try: () => readSmall(path).catch(absent),
    catch: (cause) => unreadable(path, cause instanceof Unreadable ? cause.message : thrownText(cause))
  })

class Unreadable extends Error {}

/** Reads a small regular file, and never more than that, whatever size the file reports. Opening never waits for a writer. */
const readSmall = async (path: string): Promise<string> => {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await file.stat()).isFile()) throw new Unreadable(notRegular)
    const parts: Array<Buffer> = []
    for await (const part of file.createReadStream({ autoClose: false, end: mostBytes })) parts.push(part)
    const bytes = Buffer.concat(parts)
    if (bytes.length > mostBytes) throw new Unreadable(tooLarge)
    return bytes.toString()
  } finally {
    await file.close()
  }
}

const absent = (cause: NodeJS.ErrnoException): undefined => {
  if (cause.code !== "ENOENT" && cause.code !== "ENOTDIR") throw cause
}

const unreadable = (path: string, why: string): GpuError =>
  invalidRequest(path, `the file cannot be read: ${why}`, "Make it a small readable file, or remove it.")
