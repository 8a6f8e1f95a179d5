/**
 * Handles that other code has made: the checks before they are used.
 *
 * @internal
 */
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
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

/** The CL_MEM_TYPE of a memory object of this device's context; throws why it is not one. */
export const typeOf = (
  operation: string,
  device: OpenDevice,
  memory: bigint,
  label: string | undefined,
  what?: "image"
): number => {
  const { api, context } = device
  valid(handleProblem(operation, memory, "cl_mem"))
  const type = new Uint32Array(new ArrayBuffer(4))
  const code = api.clGetMemObjectInfo(memory, CL_MEM_TYPE, 4, type, null)
  if (code !== OpenClCode.success) throw driverError({ call: "clGetMemObjectInfo", code })
  if (MemoryQuery.property(api, memory, "context") === context) return type[0]!
  throw foreignHandle(operation, device, label, what)
}
