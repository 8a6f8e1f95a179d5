/**
 * Command queues that other code has made: the checks before they are used. A number that is no address of a queue
 * crashes the process, since no driver can detect it.
 *
 * @internal
 */
import { formatted } from "../../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import { handleProblem } from "../memory/AdoptedHandle.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError, type FailedCall } from "../OpenClError.ts"

const CL_QUEUE_CONTEXT = 0x1090
const CL_QUEUE_DEVICE = 0x1091
const CL_QUEUE_PROPERTIES = 0x1093
const CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1n
const CL_INVALID_COMMAND_QUEUE = -36

/** The context and device that a queue must belong to. */
export interface Owner {
  readonly context: bigint
  /** When left out, any device of the context will do. */
  readonly device?: bigint | undefined
}

/** Why a queue cannot be used in the order of its commands, or `undefined`. */
export const queueProblem = (
  operation: string,
  api: OpenClApi,
  queue: unknown,
  owner: Owner,
  onFailure: (failed: FailedCall) => GpuError = driverError
): GpuError | undefined => {
  const wrong = handleProblem(operation, queue, "cl_command_queue")
  if (wrong !== undefined) return wrong
  const info = (what: number) => queueInfo(operation, api, queue as bigint, what, onFailure)
  const properties = info(CL_QUEUE_PROPERTIES)
  if (isGpuError(properties)) return properties
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) !== 0n) {
    return invalidRequest(
      operation,
      "the queue executes out of order, so it does not order its commands",
      "Create it without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE."
    )
  }
  const expected = [["context", CL_QUEUE_CONTEXT, owner.context], ["device", CL_QUEUE_DEVICE, owner.device]] as const
  for (const [name, what, wanted] of expected) {
    if (wanted === undefined) continue
    const found = info(what)
    if (isGpuError(found)) return found
    if (found !== wanted) {
      return invalidRequest(
        operation,
        `the queue belongs to another ${name}`,
        "Pass the context and the device that it was created with."
      )
    }
  }
  return undefined
}

const queueInfo = (
  operation: string,
  api: OpenClApi,
  queue: bigint,
  what: number,
  onFailure: (failed: FailedCall) => GpuError
): bigint | GpuError => {
  const value = new BigUint64Array(new ArrayBuffer(8))
  const code = api.clGetCommandQueueInfo(queue, what, 8, value, null)
  if (code === OpenClCode.success) return value[0]!
  return code !== CL_INVALID_COMMAND_QUEUE ? onFailure({ call: "clGetCommandQueueInfo", code }) : invalidRequest(
    operation,
    `the driver knows no command queue ${formatted(queue)}`,
    "Pass the handle that clCreateCommandQueue returned, before it is released."
  )
}
