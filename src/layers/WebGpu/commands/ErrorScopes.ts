/**
 * Driver calls inside error scopes. A device has one stack of scopes for all callers, so they are pushed and popped in
 * one synchronous step: fibers then never see each other's errors.
 *
 * @internal
 */
import * as DriverHint from "../../../domain/device/DriverHint.ts"
import {
  driverError as makeDriverError,
  type GpuError,
  outOfMemory as makeOutOfMemory
} from "../../../domain/GpuError.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

export interface ScopedFailure {
  readonly codeName: string
  readonly message: string
}

const outOfMemory = "GPUOutOfMemoryError"

/** In the order of popping, which is the reverse of pushing. */
const scopes: ReadonlyArray<readonly [WebGpuApi.ErrorFilter, string]> = [
  ["out-of-memory", outOfMemory],
  ["internal", "GPUInternalError"],
  ["validation", "GPUValidationError"]
]

/**
 * Runs `calls` and returns what failed, thrown exceptions included. The promise never rejects. It makes few promises, since each submit
 * calls it.
 */
export const inScopes = (device: WebGpuHandle.Device, calls: () => void): Promise<ReadonlyArray<ScopedFailure>> => {
  for (let index = scopes.length - 1; index >= 0; index--) device.pushErrorScope(scopes[index]![0])
  let failure: ScopedFailure | undefined
  try {
    calls()
  } catch (cause) {
    failure = thrown(cause)
  }
  const popped = scopes.map(([, codeName]) => pop(device, codeName))
  return Promise.all(popped).then((others) => [failure, ...others].filter((failed) => failed !== undefined))
}

const pop = (
  device: WebGpuHandle.Device,
  codeName: string
): Promise<ScopedFailure | undefined> | ScopedFailure => {
  try {
    return device.popErrorScope().then(
      (error) => error === null ? undefined : { codeName, message: error.message },
      thrown
    )
  } catch (cause) {
    return thrown(cause)
  }
}

/** An exception as a failure. Dawn's OperationError and AbortError come without a message. */
export const thrown = (cause: unknown): ScopedFailure =>
  cause instanceof Error
    ? { codeName: cause.name, message: cause.message === "" ? `${cause.name} without a message` : cause.message }
    : { codeName: "unknown", message: String(cause) }

export const isOutOfMemory = (failures: ReadonlyArray<ScopedFailure>): boolean =>
  failures.some(({ codeName }) => codeName === outOfMemory)

/** What errors name for a call that the library did not make. */
export const uncaptured = "GPUDevice"

const compiling: ReadonlySet<string> = new Set(["GPUDevice.createShaderModule", "GPUDevice.createComputePipelineAsync"])

/** What the driver says of failures. */
export const logOf = (failures: ReadonlyArray<ScopedFailure>): string =>
  failures.map(({ message }) => message.trim()).join("\n")

/** Failures of one call as an error; there is at least one failure. `source` are the lines that did not compile. */
export const driverError = (
  call: string,
  failures: ReadonlyArray<ScopedFailure>,
  commands: ReadonlyArray<string>,
  source?: string
): GpuError =>
  makeDriverError({
    backend: "webgpu",
    call,
    codeName: failures[0]?.codeName,
    log: logOf(failures),
    ...(source === undefined ? {} : { source }),
    commands,
    hint: call === uncaptured
      ? DriverHint.uncaptured
      : compiling.has(call)
      ? DriverHint.compile
      : DriverHint.forCommands(commands)
  })

interface Failed {
  readonly call: string
  readonly failures: ReadonlyArray<ScopedFailure>
  readonly commands: ReadonlyArray<string>
  /** Those that the driver had no memory for. */
  readonly lackingBytes?: number | undefined
}

export class RecordedFailures {
  #failed: Array<Failed> = []
  /** Resolves when everything followed so far has been decided: one promise for however many fibers wait. */
  settled = Promise.resolve()

  add(failed: Failed): void {
    this.#failed.push(failed)
  }

  /**
   * Follows the scopes of a call; `onFailure` runs only when something failed, and names the commands. `bytes` are those of what the call
   * creates.
   */
  follow(
    call: string,
    scopes: Promise<ReadonlyArray<ScopedFailure>>,
    onFailure: () => ReadonlyArray<string>,
    bytes?: number
  ): void {
    const earlier = this.settled
    this.settled = scopes.then((failures) => {
      if (failures.length > 0) {
        this.add({ call, failures, commands: onFailure(), lackingBytes: isOutOfMemory(failures) ? bytes : undefined })
      }
      return earlier
    })
  }

  /** Everything that failed since the last call, as one error: lack of memory, if that came first. */
  take(): GpuError | undefined {
    const failed = this.#failed
    if (failed.length === 0) return undefined
    this.#failed = []
    const { lackingBytes } = failed[0]!
    if (lackingBytes !== undefined) return makeOutOfMemory(lackingBytes)
    return driverError(
      failed[0]!.call,
      failed.flatMap(({ failures }) => failures),
      failed.flatMap(({ commands }) => commands)
    )
  }
}
