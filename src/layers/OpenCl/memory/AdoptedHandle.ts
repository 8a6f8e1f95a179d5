/**
 * Handles that other code has made: the checks before they are used.
 *
 * @internal
 */
import { formatted } from "../../../domain/arguments/Format.ts"
import { format } from "../../../domain/device/DeviceInfo.ts"
import { ForeignDevice, type GpuError, invalidRequest, make as makeError } from "../../../domain/GpuError.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import * as MemoryQuery from "./MemoryQuery.ts"

const CL_MEM_TYPE = 0x1100

/** What is wrong with a value given for a handle of that type, or `undefined`. */
export const handleProblem = (operation: string, handle: unknown, type: string): GpuError | undefined =>
  typeof handle === "bigint" && handle > 0n && handle < 2n ** 64n
    ? undefined
    : invalidRequest(operation, `${formatted(handle)} is no handle`, `Pass the ${type}'s address as a bigint.`)

/** The error of a handle that belongs to another context than this device's. */
export const foreignHandle = (
  operation: string,
  { info }: OpenDevice,
  label: string | undefined,
  what?: "image" | "sampler"
): GpuError => {
  const [owner, expected] = ["another OpenCL context", `the one of ${format(info)}`]
  return makeError(new ForeignDevice({ operation, label, owner, expected, what }))
}

/** The CL_MEM_TYPE of a memory object of this device's context, or the error that says why it is not one. */
export const typeOf = (
  operation: string,
  device: OpenDevice,
  memory: bigint,
  label: string | undefined,
  what?: "image"
): number | GpuError => {
  const { api, context } = device
  const problem = handleProblem(operation, memory, "cl_mem")
  if (problem !== undefined) return problem
  const type = new Uint32Array(new ArrayBuffer(4))
  const code = api.clGetMemObjectInfo(memory, CL_MEM_TYPE, 4, type, null)
  if (code !== OpenClCode.success) return driverError({ call: "clGetMemObjectInfo", code })
  return MemoryQuery.property(api, memory, "context") === context
    ? type[0]!
    : foreignHandle(operation, device, label, what)
}
