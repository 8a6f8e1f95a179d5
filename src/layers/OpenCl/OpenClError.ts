/**
 * From the codes of OpenCL to this library's errors.
 *
 * @internal
 */
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import * as DriverHint from "../../domain/device/DriverHint.ts"
import { driverError as makeDriverError, type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as SourceExcerpt from "../../domain/kernel/SourceExcerpt.ts"
import * as OpenClCode from "./OpenClCode.ts"

/** What is known of a call that failed. */
export interface FailedCall {
  /** The OpenCL function. */
  readonly call: string
  readonly code: number
  /** What the compiler printed, or what the failure means. */
  readonly log?: string | undefined
  /** What was compiled. */
  readonly source?: string | undefined
  /** Labels of the commands that failed. */
  readonly commands?: ReadonlyArray<string> | undefined
}

const compiling: ReadonlySet<string> = new Set(["clCreateProgramWithSource", "clBuildProgram", "clCreateKernel"])

/** A DriverError with the code's name. */
export const driverError = (failed: FailedCall): GpuError =>
  makeDriverError({
    backend: "opencl",
    call: failed.call,
    codeName: OpenClCode.name(failed.code),
    code: failed.code,
    log: failed.log ?? "the OpenCL driver gave no further reason",
    ...(failed.source === undefined ? {} : { source: SourceExcerpt.of(failed.source, failed.log ?? "") }),
    commands: failed.commands ?? [],
    hint: compiling.has(failed.call) ? DriverHint.compile : DriverHint.forCommands(failed.commands ?? [])
  })

/**
 * The error of a call that failed on an open device. A code that means a lost device marks it as lost; any other is a
 * DriverError.
 */
export const onDevice = (status: DeviceStatus, failed: FailedCall): GpuError => {
  if (!OpenClCode.isDeviceLost(failed.code)) return driverError(failed)
  const commands = failed.commands === undefined ? "" : ` of ${failed.commands.join(", ")}`
  return status.lose(`${failed.call}${commands} ended with ${OpenClCode.format(failed.code)}`)
}

/** As {@link onDevice}, for a call that needs `bytes` bytes of memory and fails with OutOfMemory without them. */
export const onMemory = (status: DeviceStatus, bytes: number, failed: FailedCall): GpuError =>
  OpenClCode.isOutOfMemory(failed.code) ? outOfMemory(bytes) : onDevice(status, failed)
