/**
 * Handles that other code has made: what can be told of them before they are used.
 *
 * @internal
 */
import { format } from "../../domain/DeviceInfo.ts"
import { ForeignBuffer, type GpuError, invalidRequest, make as makeError } from "../../domain/GpuError.ts"
import { shown } from "../../domain/ShownValue.ts"
import * as MemoryQuery from "./MemoryQuery.ts"
import * as OpenClCode from "./OpenClCode.ts"
import { driverError } from "./OpenClError.ts"
import type { OpenDevice } from "./OpenDevice.ts"

/**
 * The CL_MEM_TYPE of a memory object of this device's context, or why the handle is none.
 *
 * @internal
 */
export const typeOf = (
  operation: string,
  { api, context, info }: OpenDevice,
  memory: bigint,
  label: string | undefined,
  what?: "image"
): number | GpuError => {
  if (typeof memory !== "bigint" || memory <= 0n || memory >= 2n ** 64n) {
    return invalidRequest(operation, `${shown(memory)} is no handle`, "Pass the cl_mem's address as a bigint.")
  }
  const type = new Uint32Array(new ArrayBuffer(4))
  const code = api.clGetMemObjectInfo(memory, MemoryQuery.property.type, 4, type, null)
  if (code !== OpenClCode.success) return driverError({ call: "clGetMemObjectInfo", code })
  if (MemoryQuery.word(api, memory, MemoryQuery.property.context) === context) return type[0]!
  const [owner, expected] = ["another OpenCL context", `the one of ${format(info)}`]
  return makeError(new ForeignBuffer({ operation, label, owner, expected, what }))
}
